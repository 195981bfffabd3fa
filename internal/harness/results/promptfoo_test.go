package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"assay/internal/assay"
)

// rawPromptfoo is as much of the format as the tests count, read by other means than the package's.
type rawPromptfoo struct {
	Results struct {
		Results []struct {
			Success       bool
			FailureReason int
			TestIdx       int
			GradingResult *struct {
				ComponentResults []struct {
					Pass             bool
					Reason           string
					Assertion        map[string]any
					ComponentResults []struct{ Pass bool }
				}
			}
			Response struct {
				Output any
				Cost   float64
			}
		}
		Stats struct{ Successes, Failures, Errors int64 }
	}
}

func TestPromptfooRecordedResultKeepsBothVerdicts(t *testing.T) {
	content := shared(t, "promptfoo/sample-export.json")
	cases := clear(t, assay.ResultPromptfoo, "sample-export.json", string(content))
	var raw rawPromptfoo
	if err := json.Unmarshal(content, &raw); err != nil {
		t.Fatal(err)
	}
	equal(t, "cases", len(cases), len(raw.Results.Results))
	differ := 0
	for i, r := range raw.Results.Results {
		c := cases[i]
		equal(t, "pass", *c.Pass, r.Success)
		equal(t, "findings", len(c.Findings), len(r.GradingResult.ComponentResults))
		equal(t, "output", c.Output, r.Response.Output.(string))
		equal(t, "cost", fmt.Sprint(*c.Cost), fmt.Sprint(assay.USD(r.Response.Cost*1e9+0.5)))
		for k, component := range r.GradingResult.ComponentResults {
			f := c.Findings[k]
			equal(t, "value", string(f.Value), fmt.Sprint(component.Pass))
			equal(t, "reason", f.Reason, component.Reason)
			if strings.HasPrefix(f.Criterion, "llm-rubric") && component.Pass != r.Success {
				differ++
			}
		}
	}
	if differ != 4 {
		t.Errorf("%d rubric verdicts differ from the whole, the file has 4", differ)
	}
	if k := cases[0].Key; !strings.Contains(k, "I speak without") || !strings.Contains(k, "openai:gpt-5-mini") {
		t.Errorf("key %q says neither test nor provider", k)
	}
}

// TestPromptfooOfARealRun reads what promptfoo 0.120.27 wrote: repeats, errors, sets, two prompts.
func TestPromptfooOfARealRun(t *testing.T) {
	content, err := os.ReadFile("testdata/promptfoo-0.120.json")
	if err != nil {
		t.Fatal(err)
	}
	cases := clear(t, assay.ResultPromptfoo, "out.json", string(content))
	var raw rawPromptfoo
	if err := json.Unmarshal(content, &raw); err != nil {
		t.Fatal(err)
	}
	s := raw.Results.Stats
	equal(t, "tally", tally(cases), assay.CaseTally{Total: s.Successes + s.Failures + s.Errors, Passed: s.Successes, Failed: s.Failures, Errored: s.Errors})
	repeats := 0
	for i, r := range raw.Results.Results {
		repeats += cases[i].Repeat
		if r.GradingResult == nil {
			continue
		}
		want := 0
		for _, component := range r.GradingResult.ComponentResults {
			if component.Assertion != nil || component.ComponentResults != nil {
				want += 1 + len(component.ComponentResults)
			}
		}
		equal(t, "findings of "+cases[i].Key, len(cases[i].Findings), max(1, want))
	}
	equal(t, "second repeats", repeats, len(cases)/2)
	set := byKey(t, cases, "with a description ~462f4542 · Say {{word}} · echo")
	equal(t, "set", values(set), map[string]string{"assert-set": "true", "assert-set / contains: bye": "true", "assert-set / contains: nope": "false"})
	equal(t, "set passes though a part fails", *set.Pass, true)
	broken := byKey(t, cases, "none ~9b6fe0c1 · second: p2.txt · bad")
	equal(t, "error", [2]string{string(broken.State), broken.Error}, [2]string{"errored", "no answer"})
}

// promptfooFile makes a file of results with these tests; order is the order of their being done.
func promptfooFile(prompt string, tests []string, order []int) string {
	var results []string
	for _, i := range order {
		results = append(results, fmt.Sprintf(`{"testIdx":%d,"promptIdx":0,"success":true,"score":1,"failureReason":0,
			"provider":{"id":"echo"},"prompt":{"raw":"x","label":%q},"response":{"output":"test %d"},%s}`, i, prompt, i, tests[i]))
	}
	return fmt.Sprintf(`{"evalId":"e","results":{"version":3,"prompts":[{"raw":%q,"label":%q,"provider":"echo"}],"results":[%s]}}`,
		prompt, prompt, strings.Join(results, ","))
}

func promptfooTest(description, vars, asserts string) string {
	return fmt.Sprintf(`"vars":%s,"testCase":{"description":%q,"vars":%s,"assert":%s}`, vars, description, vars, asserts)
}

func TestPromptfooKeysAreNoPlaces(t *testing.T) {
	a := promptfooTest("", `{"q":"one"}`, `[{"type":"equals","value":1}]`)
	b := promptfooTest("second", `{"q":"two","z":[1,{"b":1,"a":2}]}`, `[]`)
	bAgain := promptfooTest("second", `{"z":[1.0,{"a":2,"b":1}],"q":"two","_conversation":[],"sessionId":"77"}`, `[]`)
	c := promptfooTest("", `{"q":"three"}`, `[]`)
	named := func(content string) map[string]string { // output to key
		m := map[string]string{}
		for _, c := range clear(t, assay.ResultPromptfoo, "f.json", content) {
			m[c.Output] = fmt.Sprintf("%s#%d", c.Key, c.Repeat)
		}
		return m
	}
	before := named(promptfooFile("Say {{q}}", []string{a, b}, []int{0, 1}))
	after := named(promptfooFile("Say {{q}}, please", []string{c, a, bAgain}, []int{2, 0, 1}))
	equal(t, "a test that moved", after["test 1"], before["test 0"])
	equal(t, "a test whose variables are written otherwise", after["test 2"], before["test 1"])
	changed := named(promptfooFile("Say {{q}}", []string{promptfooTest("", `{"q":"one"}`, `[{"type":"equals","value":2}]`)}, []int{0}))
	equal(t, "a test whose assertion changed", changed["test 0"], before["test 0"])
}

func TestPromptfooRepeatsAndTwins(t *testing.T) {
	same := promptfooTest("", `{"q":"one"}`, `[{"type":"equals","value":1}]`)
	twin := promptfooTest("", `{"q":"one"}`, `[{"type":"equals","value":2}]`)
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}} {
		cases := clear(t, assay.ResultPromptfoo, "f.json", promptfooFile("p", []string{same, twin, same}, order))
		slices.SortFunc(cases, func(a, b assay.Case) int { return strings.Compare(a.Output, b.Output) })
		if cases[0].Key != cases[2].Key || cases[0].Repeat != 0 || cases[2].Repeat != 1 {
			t.Errorf("order %v: repeats are %s#%d and %s#%d", order, cases[0].Key, cases[0].Repeat, cases[2].Key, cases[2].Repeat)
		}
		if cases[1].Key == cases[0].Key {
			t.Errorf("order %v: tests with other assertions share the key %s", order, cases[1].Key)
		}
	}
}

// one makes a file of one result.
func one(members string) string {
	return `{"results":{"version":3,"results":[{"testIdx":0,"provider":"p","vars":{"q":"x"},` + members + `}]}}`
}

func TestPromptfooResults(t *testing.T) {
	for _, c := range []struct {
		name, members string
		state         assay.ItemState
		pass          any
		check         func(assay.Case) bool
	}{
		{"broke", `"success":false,"failureReason":2,"error":"boom","gradingResult":null`, assay.ItemErrored, nil,
			func(c assay.Case) bool { return c.Error == "boom" }},
		{"broke though a grading is there", `"success":false,"failureReason":2,"error":"boom","gradingResult":{"pass":false,"componentResults":[{"pass":true}]}`,
			assay.ItemErrored, nil, func(c assay.Case) bool { return len(c.Findings) == 0 }},
		{"broke before reasons were written", `"success":false,"error":"boom"`, assay.ItemErrored, nil, nil},
		{"broke without a word", `"success":false,"failureReason":2`, assay.ItemErrored, nil, func(c assay.Case) bool { return c.Error != "" }},
		{"failed, with the reason as error", `"success":false,"error":"too slow","gradingResult":{"pass":false}`, assay.ItemGraded, false,
			func(c assay.Case) bool { return c.Findings[0].Reason == "too slow" }},
		{"says nothing", `"score":1`, assay.ItemUngradable, nil, nil},
		{"no price is known", `"success":true,"cost":0`, assay.ItemGraded, true, func(c assay.Case) bool { return c.Cost == nil }},
		{"free", `"success":true,"cost":0,"response":{"cost":0}`, assay.ItemGraded, true, func(c assay.Case) bool { return *c.Cost == 0 }},
		{"more decimals than nine", `"success":true,"cost":0.0010712500000000002`, assay.ItemGraded, true, func(c assay.Case) bool { return *c.Cost == 1071250 }},
		{"from the cache", `"success":true,"response":{"output":"a","cached":true,"tokenUsage":{"total":9,"cached":9}}`, assay.ItemGraded, true,
			func(c assay.Case) bool { return !c.Usage.Known }},
		{"output of JSON", `"success":true,"response":{"output":{"a":[1]}}`, assay.ItemGraded, true, func(c assay.Case) bool { return c.Output == `{"a":[1]}` }},
		{"assertion twice", `"success":true,"gradingResult":{"componentResults":[{"pass":true,"assertion":{"type":"is-json"}},{"pass":false,"assertion":{"type":"is-json"}}]}`,
			assay.ItemGraded, true, func(c assay.Case) bool { return len(values(c)) == 2 && values(c)["is-json #2"] == "false" }},
		{"assertion without a verdict", `"success":true,"gradingResult":{"componentResults":[{"score":0.5,"assertion":{"metric":"tone"}}]}`,
			assay.ItemGraded, true, func(c assay.Case) bool {
				return c.Findings[0].Abstained && strings.Contains(string(c.Extra), `"scores":{"tone":0.5}`)
			}},
		{"types that nobody expects", `"success":true,"provider":7,"prompt":[],"response":"x","gradingResult":[],"testCase":3,"latencyMs":"fast"`, assay.ItemGraded, true, nil},
		{"lone surrogate, NUL and control characters", `"success":true,"response":{"output":"a\ud800b\u0000c` + "\x01" + `d"}`, assay.ItemGraded, true,
			func(c assay.Case) bool { return c.Output == "a\uFFFDb\uFFFDc\x01d" }},
	} {
		cases := clear(t, assay.ResultPromptfoo, c.name, one(c.members))
		if len(cases) != 1 || cases[0].State != c.state || (c.pass == nil) != (cases[0].Pass == nil) || c.pass != nil && *cases[0].Pass != c.pass {
			t.Errorf("%s: %+v", c.name, cases)
		} else if c.check != nil && !c.check(cases[0]) {
			t.Errorf("%s: %+v", c.name, cases[0])
		}
	}
}

func TestPromptfooFaults(t *testing.T) {
	good := `{"success":true,"vars":{"q":"x"}}`
	for _, c := range []struct {
		name, content string
		cases         int
		words         []string
	}{
		{"old", `{"results":{"version":2,"results":[` + good + `],"table":{}}}`, 0, []string{"version 2", "from 3 on", "newer promptfoo"}},
		{"cut off", `{"results":{"version":3,"results":[` + good + `,{"success":tr`, 1, []string{"line 1", "/results/results/1/success", "ends too early"}},
		{"broken", "{\"results\":{\"version\":3,\"results\":[" + good + ",\n{\"success\":,}]}}", 1, []string{"line 2", "not JSON"}},
		{"not an object", `{"results":{"results":[` + good + `,7,` + good + `]}}`, 2, []string{"/results/results/1", "not an object"}},
		{"nothing of ours", `{"a":1}`, 0, []string{"holds no results"}},
		{"no object", `[1]`, 0, []string{"no JSON object"}},
		{"empty", ``, 0, []string{"ends too early"}},
		{"more after it", `{"results":{"results":[` + good + `]}} {}`, 1, []string{"more follows"}},
		{"rubbish after it", `{"results":{"results":[` + good + `]}} x`, 1, []string{"not JSON"}},
		{"fewer than it says", `{"results":{"results":[` + good + `],"stats":{"successes":2,"failures":1,"errors":0}}}`, 1, []string{"count 3", "holds 1"}},
	} {
		cases, err := read(t, assay.ResultPromptfoo, "r.json", []byte(c.content))
		faulty(t, err, append(c.words, "r.json")...)
		if len(cases) != c.cases || Whole(err) {
			t.Errorf("%s: %d cases, whole %v: %v", c.name, len(cases), Whole(err), err)
		}
	}
	for name, content := range map[string]string{"r.json": `[]`, "empty.jsonl": ``, "cut.jsonl": good + "\n" + `{"success"`, "bad.jsonl": good + "\nx"} {
		_, err := read(t, assay.ResultPromptfoo, name, []byte(content))
		var e *Error
		if !errors.As(err, &e) || e.Count != 1 || !e.Partly {
			t.Errorf("%s: %v, want one fault", name, err)
		}
	}
	cases, err := read(t, assay.ResultPromptfoo, "r.json", []byte(one(`"success":true,"score":NaN`)))
	faulty(t, err, "line 1", "NaN")
	if len(cases) != 1 || !Whole(err) {
		t.Errorf("NaN cost a case: %v", err)
	}
}

func TestPromptfooLines(t *testing.T) {
	cases := clear(t, assay.ResultPromptfoo, "r.jsonl", `{"success":true,"vars":{"q":"x"}}`+"\n"+`{"success":false,"failureReason":1,"vars":{"q":"y"}}`+"\n")
	equal(t, "tally", tally(cases), assay.CaseTally{Total: 2, Passed: 1, Failed: 1})
}
