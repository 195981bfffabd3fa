package results

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

func TestLongFieldsAreCutAndSaid(t *testing.T) {
	long := strings.Repeat("ä", maxText) // twice as long in bytes
	line := fmt.Sprintf(`{"case":%q,"pass":true,"input":%q,"output":%q,"criteria":{"c":{"value":1,"reason":%q}},"extra":{"big":%q,"small":1}}`,
		long, long, "short", long, long)
	c := clear(t, assay.ResultAssay, "r", line)[0]
	equal(t, "cut", c.Cut, []string{"extra.big", "findings.c.reason", "input"})
	equal(t, "what is left", []any{len(c.Input), c.Output, len(c.Findings[0].Reason), string(c.Extra)}, []any{maxText, "short", maxReason, `{"small":1}`})

	xml := clear(t, assay.ResultJUnit, "r", `<testcase name="x"><failure message="`+long+`">`+long+`</failure><system-out>`+strings.Repeat("&amp;", 2*maxText)+`</system-out></testcase>`)[0]
	equal(t, "cut of XML", xml.Cut, []string{"findings.pass.reason", "output"})
	equal(t, "output of references", xml.Output, strings.Repeat("&", maxText))
}

// TestLongStringsKeepTheirDifference holds a cut of the reader to leaving a hash: two variables that differ
// far behind are two cases.
func TestLongStringsKeepTheirDifference(t *testing.T) {
	far := strings.Repeat("x", 2*maxString)
	file := `{"results":{"version":3,"results":[{"success":true,"vars":{"q":"` + far + `a"}},{"success":true,"vars":{"q":"` + far + `b"}}]}}`
	cases := clear(t, assay.ResultPromptfoo, "r.json", file)
	if cases[0].Key == cases[1].Key {
		t.Errorf("two tests share the key %s", cases[0].Key)
	}
	for _, end := range []string{`\u00e4`, `\\`, "ä", "\x01"} {
		for shift := range 8 { // the cut falls on every byte of what ends the string
			s := `"` + strings.Repeat("x", maxString-shift) + end + end + end + `"`
			got, err := io.ReadAll(newPlain(strings.NewReader(s), nil))
			if err != nil || !bytes.HasSuffix(got, []byte(`"`)) || len(got) > maxString+100 {
				t.Errorf("%q, %d: %d bytes, %v", end, shift, len(got), err)
			}
			d := open(strings.NewReader(s), "", aside(&out{most: 1}))
			if raw, _, err := d.keep(nil); err != nil || strings.Contains(string(raw), "\uFFFD") {
				t.Errorf("%q, %d: %v: the cut fell within a character: %.80s", end, shift, err, raw[max(0, len(raw)-80):])
			}
		}
	}
}

func TestNames(t *testing.T) {
	var n Names
	place := func(key, model string, repeat int) string {
		c := assay.Case{Key: key, Model: model, Repeat: repeat}
		n.Place(&c)
		return fmt.Sprintf("%s#%d", c.Key, c.Repeat)
	}
	for _, c := range [][2]string{
		{place("a", "m", 0), "a#0"}, {place("a", "m", 0), "a#1"}, {place("a", "m", 3), "a#3"}, {place("a", "m", 0), "a#2"}, {place("a", "m", 0), "a#4"},
		{place("a", "other", 0), "a · other#0"}, {place("a", "other", 0), "a · other#1"}, {place("a", "", 0), "a#5"}, {place("b", "m", 0), "b#0"},
	} {
		equal(t, "name", c[0], c[1])
	}
	long := strings.Repeat("k", 1000)
	if a, b := key(long+"a"), key(long+"b"); a == b || len(a) > maxKey || !strings.HasPrefix(a, "kkk") {
		t.Errorf("%s and %s", a, b)
	}
	equal(t, "one line", key(" a\n\tb\x1b ", "", "c"), "a b · c")
}

// huge is a file that is made while it is read: head, filler again and again, tail.
type huge struct {
	head, filler, tail string
	times              int64
	peak               *uint64
}

func (h huge) size() int64 {
	return int64(len(h.head)) + h.times*int64(len(h.filler)) + int64(len(h.tail))
}

func (h huge) ReadAt(p []byte, off int64) (n int, err error) {
	if off/(8<<20) != (off+int64(len(p)))/(8<<20) { // every 8 MiB
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		*h.peak = max(*h.peak, m.HeapAlloc)
	}
	for n < len(p) {
		at := off + int64(n)
		middle := at - int64(len(h.head))
		behind := middle - h.times*int64(len(h.filler))
		var part string
		switch {
		case middle < 0:
			part = h.head[at:]
		case behind < 0:
			part = h.filler[middle%int64(len(h.filler)):]
		case behind >= int64(len(h.tail)):
			return n, io.EOF
		default:
			part = h.tail[behind:]
		}
		n += copy(p[n:], part)
	}
	return n, nil
}

// TestMemoryIsBounded reads files of 24 MiB, each of one case, that are long in every way that a file can be.
func TestMemoryIsBounded(t *testing.T) {
	const size = 24 << 20
	text := strings.Repeat("long text, ", 1000)
	for _, c := range []struct {
		name   string
		format assay.ResultFormat
		huge
	}{
		{"a string of promptfoo", assay.ResultPromptfoo, huge{head: `{"results":{"version":3,"results":[{"success":true,"response":{"output":"`, filler: text, tail: `"}}]}}`}},
		{"a member that is not wanted", assay.ResultPromptfoo, huge{head: `{"results":{"version":3,"results":[{"success":true,"response":{"raw":[1`, filler: `,{"a":["` + text + `"]}`, tail: `]}}]}}`}},
		{"a member that is wanted", assay.ResultPromptfoo, huge{head: `{"results":{"version":3,"results":[{"success":true,"metadata":[1`, filler: `,{"a":["` + text + `"]}`, tail: `]}]}}`}},
		{"components of a result", assay.ResultPromptfoo, huge{head: `{"results":{"version":3,"results":[{"success":true,"gradingResult":{"componentResults":[{"pass":true}`, filler: `,{"pass":true,"reason":"` + text + `"}`, tail: `]}}]}}`}},
		{"events of a sample", assay.ResultInspect, huge{head: `{"eval":{"task":"t"},"samples":[{"id":1,"scores":{"s":{"value":"C"}},"events":[1`, filler: `,{"event":"model","output":"` + text + `"}`, tail: `]}]}`}},
		{"input of a sample", assay.ResultInspect, huge{head: `{"eval":{"task":"t"},"samples":[{"id":1,"scores":{"s":{"value":"C"}},"input":[{"role":"user","content":"x"}`, filler: `,{"role":"user","content":"` + text + `"}`, tail: `]}]}`}},
		{"output of a test", assay.ResultJUnit, huge{head: `<testsuite><testcase name="x"><system-out>`, filler: text, tail: `</system-out></testcase></testsuite>`}},
		{"an attribute", assay.ResultJUnit, huge{head: `<testsuite><testcase name="x"><skipped message="`, filler: text, tail: `"/></testcase></testsuite>`}},
		{"failures", assay.ResultJUnit, huge{head: `<testsuite><testcase name="x">`, filler: `<failure>` + text + `</failure>`, tail: `</testcase></testsuite>`}},
		{"sections", assay.ResultJUnit, huge{head: `<testsuite><testcase name="x"><system-out>`, filler: `<![CDATA[` + text + `]]>`, tail: `</system-out></testcase></testsuite>`}},
		{"a comment", assay.ResultJUnit, huge{head: `<testsuite><!--`, filler: text, tail: `--><testcase name="x"/></testsuite>`}},
		{"text around comments", assay.ResultJUnit, huge{head: `<testsuite><testcase name="x"><system-out>`, filler: text + `<!-- -->`, tail: `</system-out></testcase></testsuite>`}},
		{"bytes that belong to no character", assay.ResultAssay, huge{head: `[{"case":"x","pass":true,"output":"`, filler: strings.Repeat("\x80", 1<<13), tail: `"}]`}},
		{"white space", assay.ResultAssay, huge{head: `[{"case":"x","pass":true`, filler: strings.Repeat(" \n", 1<<12), tail: `}]`}},
		{"a case of ours", assay.ResultAssay, huge{head: `[{"case":"x","pass":true,"output":"`, filler: text, tail: `"}]`}},
	} {
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var peak uint64
		c.times, c.peak = size/int64(len(c.filler)), &peak
		n := 0
		err := Read(c.format, c.name, c.huge, c.size(), Options{}, func(assay.Case) error { n++; return nil })
		if used := int64(peak) - int64(before.HeapAlloc); n != 1 || err != nil || used > 12<<20 || peak == 0 {
			t.Errorf("%s: %d cases, %d MiB, %v", c.name, n, used>>20, err)
		}
	}
}

// What a file holds may be made to take long or much: it costs its own part and nothing else.
func TestHostileFiles(t *testing.T) {
	var members strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&members, `"k%d":1,`, i)
	}
	for _, c := range []struct {
		name, content string
		cases         int
		cut, says     string
	}{
		{"one criterion again and again", `{"case":"a","criteria":{` + strings.Repeat(`"c":1,`, 60_000) + `"d":1}}`, 1, "findings", ""},
		{"many criteria", `{"case":"a","criteria":{` + members.String() + `"d":1}}`, 1, "findings", ""},
		{"many members", `{"case":"a","pass":true,"extra":{` + members.String() + `"d":1}}`, 1, "and 5", ""},
		{"a long name", `{"case":"a","pass":true,"extra":{"` + strings.Repeat("n", maxExtra) + `":1}}`, 1, "extra.nnn", ""},
		{"a long number", `{"case":"a","pass":true,"duration_s":` + strings.Repeat("1", 2000) + `}` + "\n" + `{"case":"b","pass":true}`, 1, "", "line 1, at /duration_s: a number is longer than 1000 characters"},
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			cases, err := read(t, assay.ResultAssay, "r", []byte(c.content))
			if len(cases) != c.cases || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %d cases, %v", c.name, len(cases), err)
				return
			}
			cut := strings.Join(cases[0].Cut, ", ")
			if !strings.Contains(cut, c.cut) || c.cut == "" && cut != "" || len(cut) > 20_000 {
				t.Errorf("%s: cut %.500s", c.name, cut)
			}
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: is not read within 30 s", c.name)
		}
	}
}
