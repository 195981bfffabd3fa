package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"assay/internal/assay"
)

func TestOwnFormat(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // state pass findings
	}{
		{`{"case":"a","pass":true}`, `graded true map[]`},
		{`{"case":"a","pass":false,"criteria":{"tone":true,"score":0.5,"label":"x"}}`, `graded false map[label:"x" score:0.5 tone:true]`},
		{`{"case":"a","criteria":{"tone":{"value":true,"reason":"why"}}}`, `graded nil map[tone:true]`},
		{`{"case":"a","pass":null,"criteria":{"tone":{"abstained":true},"s":1}}`, `graded nil map[s:1 tone:]`},
		{`{"case":"a","pass":true,"criteria":{"tone":{"applies":false,"value":true}}}`, `graded true map[tone:]`},
		{`{"case":"a","criteria":{"tone":null}}`, `ungradable nil map[]`},
		{`{"case":"a","error":"boom","pass":true,"criteria":{"x":1}}`, `errored nil map[]`},
		{`{"case":"a","error":{"code":5}}`, `errored nil map[]`},
		{`{"case":"a","error":"","pass":true}`, `graded true map[]`},
		{`{"case":"a","skipped":true}`, `ungradable nil map[]`},
		{`{"case":"a","skipped":"no gpu"}`, `ungradable nil map[]`},
		{`{"case":7,"pass":true,"input":{"a":1}}`, `graded true map[]`},
	} {
		for _, content := range []string{c.line, "[" + c.line + "]", "\xEF\xBB\xBF\n" + c.line + "\r\n\n"} {
			one := clear(t, assay.ResultAssay, "r", content)[0]
			pass := "nil"
			if one.Pass != nil {
				pass = fmt.Sprint(*one.Pass)
			}
			equal(t, c.line, fmt.Sprintf("%s %s %v", one.State, pass, values(one)), c.want)
		}
	}
	all := clear(t, assay.ResultAssay, "r", `{"case":"a","repeat":2,"pass":true,"input":"i","output":"o","expected":"e","place":"f.py:3","duration_s":1.5,"cost_usd":0.001,"usage":{"input":5,"output":2,"cached":1,"reasoning":1},"model":"m","extra":{"k":[1]}}`)[0]
	yes := true
	equal(t, "every member", all, assay.Case{Key: "a", Repeat: 2, State: assay.ItemGraded, Pass: &yes, Input: "i", Output: "o", Expected: "e", Place: "f.py:3",
		Seconds: all.Seconds, Cost: all.Cost, Usage: assay.Usage{Known: true, Input: 5, Output: 2, Cached: 1, Reasoning: 1}, Model: "m", Extra: json.RawMessage(`{"k":[1]}`)})
	equal(t, "time and cost", []any{*all.Seconds, *all.Cost}, []any{1.5, assay.Dollar / 1000})
}

func TestOwnRepeats(t *testing.T) {
	cases := clear(t, assay.ResultAssay, "r", strings.Repeat(`{"case":"a","pass":true}`+"\n", 3)+`{"case":"a","repeat":1,"pass":true}`)
	var repeats []int
	for _, c := range cases {
		repeats = append(repeats, c.Repeat)
	}
	equal(t, "repeats", repeats, []int{0, 1, 2, 3})
}

func TestOwnFaults(t *testing.T) {
	good := `{"case":"a","pass":true}`
	for _, c := range []struct{ line, word string }{
		{`{"case":"b","passed":true}`, `"passed" is not known`},
		{`{"pass":true}`, "case is missing"},
		{`{"case":" ","pass":true}`, "case is missing"},
		{`{"case":"b"}`, "says nothing"},
		{`{"case":"b","pass":"yes"}`, "pass"},
		{`{"case":"b","pass":true,"repeat":1.5}`, "repeat"},
		{`{"case":"b","pass":true,"repeat":-1}`, "repeat"},
		{`{"case":"b","criteria":["x"]}`, "criteria"},
		{`{"case":"b","criteria":{"x":[1]}}`, "neither text"},
		{`{"case":"b","skipped":1}`, "skipped"},
		{`{"case":"b","pass":true,"extra":3}`, "extra"},
		{`{"case":"b","pass":true`, "ends too early"},
		{`{"case":"b","pass":tru}`, "not JSON"},
		{`{"case":"b","pass":true} x`, "not JSON"},
		{`5`, "JSON object"},
		{`{"case":"` + strings.Repeat("x", maxLine) + `"}`, "longer"},
	} {
		cases, err := read(t, assay.ResultAssay, "r", []byte(good+"\n"+c.line+"\n"+good))
		faulty(t, err, "line 2", c.word)
		if len(cases) != 2 || Whole(err) {
			t.Errorf("%.80s: %d cases, whole %v", c.line, len(cases), Whole(err))
		}
	}
	cases, err := read(t, assay.ResultAssay, "r", []byte(`[`+good+`,{"case":"b"},`+good))
	faulty(t, err, "case 2", "says nothing", "ends too early")
	equal(t, "cases of a broken array", len(cases), 2)
	_, err = read(t, assay.ResultAssay, "r", []byte(" \n"))
	faulty(t, err, "empty")
	_, err = read(t, assay.ResultAssay, "r", []byte(strings.Repeat("{}\n", 9)))
	faulty(t, err, "line 5", "and 4 more")
}

// TestOwnDocumentedExample reads the example of the page that documents the format.
func TestOwnDocumentedExample(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```jsonl\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no example")
	}
	cases := clear(t, assay.ResultAssay, "results.md", example)
	equal(t, "tally", tally(cases), assay.CaseTally{Total: 6, Passed: 2, Failed: 1, Errored: 1, Skipped: 1})
	for _, m := range ownMembers {
		if !strings.Contains(string(page), "`"+m+"`") {
			t.Errorf("the page does not document %s", m)
		}
	}
}

func TestTakersErrorEndsTheReading(t *testing.T) {
	full := errors.New("disk is full")
	for format, content := range seeds() {
		calls := 0
		err := Read(format, "r", strings.NewReader(content), int64(len(content)), Options{}, func(assay.Case) error { calls++; return full })
		if err != full || calls != 1 {
			t.Errorf("%s: %v after %d calls", format, err, calls)
		}
	}
}

func TestMostCases(t *testing.T) {
	content := strings.Repeat(`{"case":"a","pass":true}`+"\n", 10)
	n := 0
	err := Read(assay.ResultAssay, "r", strings.NewReader(content), int64(len(content)), Options{Most: 4}, func(assay.Case) error { n++; return nil })
	faulty(t, err, "more than 4 cases")
	if n != 4 || Whole(err) {
		t.Errorf("%d cases, whole %v", n, Whole(err))
	}
	if err := Read("yaml", "r", strings.NewReader(""), 0, Options{}, nil); assay.CodeOf(err) != assay.CodeInvalid || Whole(err) {
		t.Errorf("unknown format: %v", err)
	}
}
