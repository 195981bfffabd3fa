package piece

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func cutAll(t testing.TB, c Cutter) (pieces []Piece) {
	t.Helper()
	for {
		p, err := c.Next()
		if errors.Is(err, io.EOF) {
			return pieces
		}
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, p)
	}
}

func show(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, "%d%s %s", p.Line, p.Where, p.Raw)
		if p.Fault != nil {
			fmt.Fprintf(&b, " !%s", p.Fault)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Small buffers and one-byte readers show what happens at the seams.
func readers(text string) map[string]*bufio.Reader {
	return map[string]*bufio.Reader{
		"large":    bufio.NewReader(strings.NewReader(text)),
		"small":    bufio.NewReaderSize(strings.NewReader(text), 16),
		"one byte": bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text)), 16),
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 500)
	for text, want := range map[string]string{
		"":                          "",
		"\n\n":                      "",
		"a\n\n \t\r\nb\r\n c":       "1 a\n4 b\n5 c\n",
		"a\n" + long + "\nb":        "1 a\n2 " + long[:201] + " !longer than the bound of 0 MB for one session\n3 b\n",
		strings.Repeat("y", 100):    "1 " + strings.Repeat("y", 100) + "\n",
		long:                        "1 " + long[:201] + " !longer than the bound of 0 MB for one session\n",
		"\x00\n\xff\xfe\n{\"a\":1}": "1 \x00\n2 \xff\xfe\n3 {\"a\":1}\n",
	} {
		for name, in := range readers(text) {
			if got := show(cutAll(t, NewLines(in, 300))); got != want {
				t.Errorf("%s reader, %.40q: got\n%.300s\nwant\n%.300s", name, text, got, want)
			}
		}
	}
}

func TestElements(t *testing.T) {
	long := `"` + strings.Repeat("x", 500) + `"`
	for text, want := range map[string]string{
		"[]": "",
		"[ {\"a\": \"]}\\\"\"} , [1,[2]],3 ,\n\"s\"]": "1/0 {\"a\": \"]}\\\"\"}\n1/1 [1,[2]]\n1/2 3\n2/3 \"s\"\n",
		"[{\"a\":NaN} {\"b\":\n1}]\n[4]":              "1/0 {\"a\":NaN}\n1/1 {\"b\":\n1}\n3/0 4\n",
		"[1,{\"a\":[2":                                "1/0 1\n1/1 {\"a\":[2 !the file ends inside this element\n",
		"[1,":                                         "1/0 1\n1/1  !the file ends inside the array\n",
		"[1]\njunk here\n[2]":                         "1/0 1\n2 junk here !not part of a JSON array\n3/0 2\n",
		"[1," + long + ",2]":                          "1/0 1\n1/1 " + long[:201] + " !longer than the bound of 0 MB for one session\n1/2 2\n",
		`["a\\",{"b\\":"\\\""},"` + "\xff" + `"]`:     "1/0 \"a\\\\\"\n1/1 {\"b\\\\\":\"\\\\\\\"\"}\n1/2 \"\xff\"\n",
	} {
		for name, in := range readers(text) {
			if got := show(cutAll(t, NewElements(in, "", 300))); got != want {
				t.Errorf("%s reader, %.40q: got\n%.400s\nwant\n%.400s", name, text, got, want)
			}
		}
	}
}

func TestElementsOfAMember(t *testing.T) {
	for text, want := range map[string]string{
		`{"other":[9],"spans":[1,{"spans":[8]}],"more":{"spans":[7]}} {"spans":[2]}`: "1/spans/0 1\n1/spans/1 {\"spans\":[8]}\n1/spans/0 2\n",
		"{\n\"spans\" :\n [1]\n}\nnoise\n{\"spans\":[2":                              "3/spans/0 1\n5 noise !not part of a JSON object\n6/spans/0 2\n6/spans/1  !the file ends inside the array\n",
		`{"spans":7}{"spans":[]}{}`:                                                  "",
		`{"a`:                                                                        "1  !the file ends inside the object\n",
	} {
		for name, in := range readers(text) {
			if got := show(cutAll(t, NewElements(in, "spans", 300))); got != want {
				t.Errorf("%s reader, %q: got\n%s\nwant\n%s", name, text, got, want)
			}
		}
	}
}

func TestCutterGivesTheReadersError(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]Cutter{
		"lines":    NewLines(bufio.NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken))), 100),
		"elements": NewElements(bufio.NewReader(io.MultiReader(strings.NewReader("[1,{"), iotest.ErrReader(broken))), "", 100),
	} {
		if _, err := c.Next(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Next(); !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestMend(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":NaN,"b":[Infinity,-Infinity,-NaN],"NaN":"NaN Infinity"}`: `{"a":null,"b":[null,null,null],"NaN":"NaN Infinity"}`,
		"\"a\tb\nc\x01\"":                     `"a\u0009b\u000ac\u0001"`,
		"\"\xff\xc3(\xe2\x82\"":               "\"\uFFFD\uFFFD(\uFFFD\uFFFD\"!",
		`"\ud83d\ude00 \ud83d \ude00 \u00e9"`: `"\ud83d\ude00 ` + "\uFFFD \uFFFD" + ` \u00e9"!`,
		`"\ud83d\u0041"`:                      "\"\uFFFD\\u0041\"!",
		"\"\x00 \\u0000\"":                    "\"\uFFFD \uFFFD\"!",
		`"\\u0000 \\ud800"`:                   `"\\u0000 \\ud800"`,
		`"\uZZZZ \`:                           `"\uZZZZ \`,
		"{\x00\"a\":1}":                       `{ "a":1}`,
	} {
		got, lossy := Mend([]byte(raw))
		if lossy {
			got = append(got, '!')
		}
		if string(got) != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}

func TestTime(t *testing.T) {
	for raw, want := range map[string]string{
		`"2025-03-01T12:00:00.1234567+01:00"`: "2025-03-01T11:00:00.123456Z",
		`"2025-03-01T12:00:00"`:               "2025-03-01T12:00:00Z",
		`"2025-03-01 12:00:00.5"`:             "2025-03-01T12:00:00.5Z",
		`"2025-03-01 12:00:00+00:00"`:         "2025-03-01T12:00:00Z",
		`"2025-03-01"`:                        "2025-03-01T00:00:00Z",
		`1740830400`:                          "2025-03-01T12:00:00Z",
		`1740830400.25`:                       "2025-03-01T12:00:00.25Z",
		`1740830400123`:                       "2025-03-01T12:00:00.123Z",
		`1740830400123456`:                    "2025-03-01T12:00:00.123456Z",
		`1740830400123456789`:                 "2025-03-01T12:00:00.123456Z",
		`"1740830400123"`:                     "2025-03-01T12:00:00.123Z",
		`0`:                                   "",
		`null`:                                "",
		`"[trimmed for fixture]"`:             "",
		`1e300`:                               "",
		`"NaN"`:                               "",
		`true`:                                "",
		`{}`:                                  "",
	} {
		got := ""
		if at := Time(jsontext.Value(raw)); at != nil {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	if got := Excerpt([]byte("a\x00\xffb")); got != "a\uFFFD\uFFFDb" {
		t.Errorf("%q", got)
	}
	if got := Excerpt([]byte(strings.Repeat("é", 1000))); got != strings.Repeat("é", 100)+"…" {
		t.Errorf("%q", got)
	}
	if got := Excerpt([]byte("x" + strings.Repeat("é", 1000))); got != "x"+strings.Repeat("é", 99)+"…" {
		t.Errorf("%q", got)
	}
}

// Cut from an array, every element is the bytes that encoding/json finds there.
func FuzzElements(f *testing.F) {
	for _, s := range []string{`[]`, `[1, "a\"]", {"b":[{}]}, null]`, `[[[]],{"\\":"\\"}]`, "[1,\n{\"a\":", `{"spans":[1]}`, "[\xff,NaN]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		pieces := cutAll(t, NewElements(bufio.NewReaderSize(bytes.NewReader(raw), 16), "", 1<<20))
		cutAll(t, NewElements(bufio.NewReader(bytes.NewReader(raw)), "spans", 64))
		cutAll(t, NewLines(bufio.NewReaderSize(bytes.NewReader(raw), 16), 64))
		var want []json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return
		}
		if len(pieces) != len(want) {
			t.Fatalf("%d pieces, want %d", len(pieces), len(want))
		}
		for i := range want {
			if pieces[i].Fault != nil || !bytes.Equal(pieces[i].Raw, want[i]) {
				t.Errorf("piece %d: %+v, want %s", i, pieces[i], want[i])
			}
		}
	})
}

// What is valid stays as it is, and what comes out is valid text, without NUL where it went in as such.
func FuzzMend(f *testing.F) {
	for _, s := range []string{`{"a":[1,"b\u0000"]}`, "\"\xff\"", `"\ud800"`, `{"a":NaN}`, "\"\x00\x1f\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		mended, lossy := Mend(raw)
		v := jsontext.Value(raw)
		if v.IsValid(jsontext.AllowDuplicateNames(true)) && !bytes.Contains(raw, []byte(`\u0000`)) && !bytes.Equal(bytes.Map(spaces, raw), bytes.Map(spaces, mended)) {
			t.Errorf("valid %q became %q", raw, mended)
		}
		if json.Valid(raw) && !jsontext.Value(mended).IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Errorf("%q is JSON but for its text, %q is not", raw, mended)
		}
		again, more := Mend(mended)
		if more || (json.Valid(raw) && !bytes.Equal(again, mended)) {
			t.Errorf("mending %q again gives %q (lossy first: %v)", mended, again, lossy)
		}
	})
}

func spaces(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("a\x00\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got := Excerpt(raw); !utf8.ValidString(got) || strings.Contains(got, "\x00") || len(got) > 700 {
			t.Errorf("%q", got)
		}
	})
}
