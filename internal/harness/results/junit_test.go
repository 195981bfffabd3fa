package results

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"testing"

	"assay/internal/assay"
)

func TestJUnitOfPytest(t *testing.T) {
	content, err := os.ReadFile("testdata/pytest.xml")
	if err != nil {
		t.Fatal(err)
	}
	cases := clear(t, assay.ResultJUnit, "pytest.xml", string(content))
	var raw struct {
		Suite struct {
			Tests    int64 `xml:"tests,attr"`
			Failures int64 `xml:"failures,attr"`
			Errors   int64 `xml:"errors,attr"`
			Skipped  int64 `xml:"skipped,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(content, &raw); err != nil {
		t.Fatal(err)
	}
	s := raw.Suite
	equal(t, "tally", tally(cases), assay.CaseTally{Total: s.Tests, Passed: s.Tests - s.Failures - s.Errors - s.Skipped, Failed: s.Failures, Errored: s.Errors, Skipped: s.Skipped})

	ok := cases[0]
	equal(t, "ok", []any{ok.Key, ok.Place, ok.Output, *ok.Seconds}, []any{"tests.test_answers::test_ok", "tests/test_answers.py:2", "hello from the test\n", 0.002})
	if !strings.Contains(string(ok.Extra), `"properties":{"tokens":"42"}`) || !strings.Contains(string(ok.Extra), `"stderr":"to stderr\n"`) {
		t.Errorf("extra: %s", ok.Extra)
	}
	failed := byKey(t, cases, "test_param[größe & <b>]")
	for _, part := range []string{"wrong #x1B[31manswer", "E       AssertionError: wrong answer", "tests/test_answers.py:9"} {
		if !strings.Contains(failed.Findings[0].Reason, part) {
			t.Errorf("the reason lost %q: %s", part, failed.Findings[0].Reason)
		}
	}
	skipped := byKey(t, cases, "test_skipped")
	equal(t, "skipped", []any{skipped.Class, skipped.Error}, []any{assay.ClassCaseSkipped, "tests/test_answers.py:11: needs a gpu"})
	errored := byKey(t, cases, "test_setup_error")
	equal(t, "errored", []any{errored.Class, strings.HasPrefix(errored.Error, `failed on setup with "RuntimeError: no database"`)}, []any{assay.ClassCaseError, true})
	equal(t, "a name that is there twice", []any{cases[6].Key == cases[7].Key, cases[6].Repeat, cases[7].Repeat}, []any{true, 0, 1})
	equal(t, "time with a comma", *cases[8].Seconds, 1234.5)
}

func TestJUnitForms(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          []string // key state pass error-or-reason
	}{
		{"suites in suites", `<testsuites><testsuite name="a"><testsuite name="b"><testcase name="x"/></testsuite><testcase name="y"/></testsuite></testsuites>`,
			[]string{"a / b::x graded true ", "a::y graded true "}},
		{"suite alone", `<testsuite name="s"><testcase classname="c" name="x"/></testsuite>`, []string{"c::x graded true "}},
		{"case alone", `<testcase name="x"/>`, []string{"x graded true "}},
		{"several failures", `<testcase name="x"><failure message="one"/><failure type="T"/><failure>three</failure></testcase>`, []string{"x graded false one\n\nT\n\nthree"}},
		{"failed, and its clean-up broke", `<testcase name="x"><failure message="one"/><error message="two"/></testcase>`, []string{"x graded false one"}},
		{"errored without a word", `<testcase name="x"><error/></testcase>`, []string{"x errored - it broke and does not say why"}},
		{"google test", `<testsuite name="s"><testcase name="x" status="notrun"/><testcase name="y" status="run" result="completed"/></testsuite>`,
			[]string{"s::x ungradable - ", "s::y graded true "}},
		{"error of a suite", `<testsuite name="s"><error message="no import"/><testcase name="x"/></testsuite>`, []string{"s::(suite) errored - no import", "s::x graded true "}},
		{"passed at last", `<testcase name="x"><flakyFailure message="no"><system-out>old</system-out></flakyFailure></testcase>`, []string{"x graded true "}},
		{"case in a case", `<testcase name="x"><testcase name="y"><failure message="f"/></testcase></testcase>`, []string{"y graded false f", "x graded true "}},
		{"names", `<ns:testsuite xmlns:ns="u"><ns:testcase ns:name="x"/></ns:testsuite>`, []string{"x graded true "}},
		{"CDATA", `<testcase name="x"><failure><![CDATA[a < b && c ]] > d]]>!</failure></testcase>`, []string{"x graded false a < b && c ]] > d!"}},
		{"forbidden characters", "<testcase name=\"x\"><failure>a\x1b[31m&#x1B;&#0;\xff&amp;&#228;</failure></testcase>", []string{"x graded false a\uFFFD[31m\uFFFD\uFFFD\uFFFD&ä"}},
		{"latin", "<?xml version=\"1.0\" encoding='ISO-8859-1'?><testcase name=\"gr\xf6\xdfe\"/>", []string{"größe graded true "}},
		{"Windows", "<?xml version=\"1.0\" encoding='windows-1252'?><testcase name=\"5\x80 \x93x\x94 \x81\"/>", []string{"5€ “x” graded true "}},
		{"a later version", "<?xml version=\"1.1\" encoding='UTF-8'?><testcase name=\"x\"/>", []string{"x graded true "}},
		{"UTF-16 that is none", "<?xml version=\"1.0\" encoding=\"utf-16\"?><testcase name=\"ä\"/>", []string{"ä graded true "}},
		{"no characters", "<testcase name=\"x\"><failure>a\uFFFF\uFFFEb</failure></testcase>", []string{"x graded false a\uFFFD\uFFFDb"}},
		{"byte order mark", "\xEF\xBB\xBF<testcase name=\"x\"/>", []string{"x graded true "}},
		{"comments and a document type", `<!DOCTYPE t [<!ENTITY e "<b>">]><!-- <testcase name="no"/> --><testcase name="x"/>`, []string{"x graded true "}},
		{"no names", `<testsuite><testcase/></testsuite>`, []string{"unnamed graded true "}},
	} {
		var got []string
		for _, one := range clear(t, assay.ResultJUnit, c.name, c.content) {
			pass, text := "-", one.Error
			if one.Pass != nil {
				pass, text = fmt.Sprint(*one.Pass), one.Findings[0].Reason
			}
			got = append(got, fmt.Sprintf("%s %s %s %s", one.Key, one.State, pass, text))
		}
		equal(t, c.name, got, c.want)
	}
}

func TestJUnitFaults(t *testing.T) {
	for _, c := range []struct {
		name, content string
		cases         int
		words         []string
	}{
		{"cut off", "<testsuite>\n<testcase name=\"x\"/>\n<testcase name=\"y\"><failure>why", 1, []string{"line 3", "in test case y", "ends too early"}},
		{"not closed", "<testsuite>\n<testcase name=\"x\"></testsuite>", 0, []string{"line 2", "not XML"}},
		{"an entity", "<testsuite><testcase name=\"x\"/><testcase name=\"&lol;\"/></testsuite>", 1, []string{"not XML", "entity"}},
		{"billion laughs", `<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="x"><failure>&b;</failure></testcase></testsuite>`, 0, []string{"entity"}},
		{"an outside entity", `<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="x"><failure>&a;</failure></testcase></testsuite>`, 0, []string{"entity"}},
		{"other XML", `<html/>`, 0, []string{"<html>", "not JUnit"}},
		{"no XML", `hello`, 0, []string{"empty"}},
		{"empty", ``, 0, []string{"empty"}},
		{"UTF-16", "\xFF\xFE<\x00", 0, []string{"UTF-16", "UTF-8"}},
		{"UTF-16, no mark", "<\x00?\x00x\x00", 0, []string{"UTF-16", "UTF-8"}},
		{"unknown encoding", `<?xml version="1.0" encoding="EBCDIC"?><testcase/>`, 0, []string{"ebcdic"}},
		{"too deep", strings.Repeat("<testsuite>", 300), 0, []string{"deeper"}},
		{"a tag without end", `<testsuite ` + strings.Repeat("a='b' ", 1<<16), 0, []string{"tag is longer"}},
	} {
		cases, err := read(t, assay.ResultJUnit, "j.xml", []byte(c.content))
		faulty(t, err, append(c.words, "j.xml")...)
		if len(cases) != c.cases || Whole(err) {
			t.Errorf("%s: %d cases, whole %v: %v", c.name, len(cases), Whole(err), err)
		}
	}
}

// TestJUnitLineOfAFault counts lines that were left out.
func TestJUnitLineOfAFault(t *testing.T) {
	_, err := read(t, assay.ResultJUnit, "j.xml", []byte("<testsuite><!--\n\n--><testcase name=\"x\"><system-out>"+strings.Repeat("line\n", maxText)+"</system-out>\n</testcas></testsuite>"))
	faulty(t, err, fmt.Sprintf("line %d", 1+2+maxText+1))
}
