package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/harness/results"
	"assay/internal/store"
)

const twoOfThree = `<testsuite name="t"><testcase classname="m" name="a"/><testcase classname="m" name="b"/><testcase classname="m" name="c"><failure message="no"/></testcase></testsuite>`

func junit(path string) []assay.ResultFile {
	return []assay.ResultFile{{Format: assay.ResultJUnit, Path: path}}
}

func cases(t *testing.T, w *world, id assay.RunID) []assay.Case {
	t.Helper()
	list, _, err := w.store.Harnesses().Cases(t.Context(), id, store.CaseQuery{}, store.Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Exit code 0 with failed cases is shown as what it is, and is a failure where the success rule says so.
func TestResultsBecomeCases(t *testing.T) {
	two, one := int64(2), int64(0)
	for name, c := range map[string]struct {
		rule   assay.SuccessRule
		state  assay.RunState
		reason assay.Reason
	}{
		"no rule over cases": {assay.SuccessRule{}, assay.RunCompleted, assay.ReasonDone},
		"few enough failed":  {assay.SuccessRule{MaxFailed: &two}, assay.RunCompleted, assay.ReasonDone},
		"too many failed":    {assay.SuccessRule{MaxFailed: &one}, assay.RunFailed, assay.ReasonCasesFailed},
	} {
		t.Run(name, func(t *testing.T) {
			def := script(`mkdir -p out; cp source out/one.xml`)
			def.Results, def.Success = junit("out/*.xml"), c.rule
			w := newWorld(t, def)
			w.write("source", twoOfThree)
			run := w.start()
			w.drive()
			got, facts := w.ended(run.ID, c.state, c.reason)
			if got.Planned != 3 || !strings.Contains(got.Sentence, "exit code 0; 3 cases: 2 passed, 1 failed") {
				t.Errorf("%+v", got)
			}
			if len(facts.Results) != 1 || facts.Results[0] != (assay.ResultSum{Path: "out/one.xml", Format: assay.ResultJUnit, Cases: 3}) {
				t.Errorf("%+v", facts.Results)
			}
			list := cases(t, w, run.ID)
			if len(list) != 3 || list[2].Pass == nil || *list[2].Pass || list[2].State != assay.ItemGraded {
				t.Errorf("%+v", list)
			}
			counts, err := w.store.Items().Counts(t.Context(), run.ID, now())
			if err != nil || counts.Graded != 3 {
				t.Errorf("%+v %v", counts, err)
			}
		})
	}
}

func TestAPromptfooResult(t *testing.T) {
	def := script(`cp source results.json; exit 100`)
	def.Results = []assay.ResultFile{{Format: assay.ResultPromptfoo, Path: "results.json"}}
	def.Success = assay.SuccessRule{ExitCodes: []int{0, 100}}
	w := newWorld(t, def)
	w.write("source", `{"evalId":"e","results":{"version":3,"timestamp":"2026-01-01T00:00:00Z","results":[
		{"success":true,"score":1,"vars":{"q":"a"},"response":{"output":"x"},"testIdx":0,"promptIdx":0,"gradingResult":{"pass":true,"score":1,"reason":"ok","componentResults":[]}},
		{"success":false,"score":0,"vars":{"q":"b"},"response":{"output":"y"},"testIdx":1,"promptIdx":0,"gradingResult":{"pass":false,"score":0,"reason":"bad","componentResults":[]}}],
		"stats":{"successes":1,"failures":1,"errors":0}}}`)
	run := w.start()
	w.drive()
	got, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
	if !strings.Contains(got.Sentence, "2 cases: 1 passed, 1 failed") || facts.Exit.Code != 100 {
		t.Errorf("%s %+v", got.Sentence, facts)
	}
}

// A file that cannot be read changes nothing of the exit code; one that the run did not write is not its own.
func TestResultsThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		need   bool
		state  assay.RunState
		reason assay.Reason
		says   string
	}{
		"broken":                {"printf '<testsuite><testcase name=\"a\"/><testca' > out.xml", false, assay.RunCompleted, assay.ReasonDone, "out.xml"},
		"broken, and it exits":  {"printf '<testsuite><testca' > out.xml; exit 4", true, assay.RunFailed, assay.ReasonExitCode, "out.xml"},
		"broken and needed":     {"printf '<testsuite><testca' > out.xml", true, assay.RunFailed, assay.ReasonResultsMissing, "out.xml"},
		"older than the run":    {"true", false, assay.RunCompleted, assay.ReasonDone, "newer than its start"},
		"older, and needed":     {"true", true, assay.RunFailed, assay.ReasonResultsMissing, "newer than its start"},
		"not there":             {"rm out.xml", false, assay.RunCompleted, assay.ReasonDone, "newer than its start"},
		"a FIFO":                {"rm out.xml; mkfifo out.xml", false, assay.RunCompleted, assay.ReasonDone, "not a regular file"},
		"a folder":              {"rm out.xml; mkdir out.xml", false, assay.RunCompleted, assay.ReasonDone, "out.xml is a folder"},
		"written, and read too": {"cp source out.xml", true, assay.RunCompleted, assay.ReasonDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			def := script(c.script)
			def.Results, def.Success.NeedResults = junit("out.xml"), c.need
			w := newWorld(t, def)
			w.write("source", twoOfThree)
			w.write("out.xml", strings.Replace(twoOfThree, "<failure", "<skipped", 1))
			run := w.start()
			w.drive()
			_, facts := w.ended(run.ID, c.state, c.reason)
			if len(facts.Results) != 1 || !strings.Contains(facts.Results[0].Error, c.says) || c.says == "" && facts.Results[0].Error != "" {
				t.Errorf("%+v", facts.Results)
			}
		})
	}
}

// Two files may hold the same names, and a driver that died over them reads them again.
func TestResultsAreReadFromTheStart(t *testing.T) {
	def := script(`cp source a.xml; cp source b.xml`)
	def.Results = append(junit("?.xml"), junit("a.xml")...)
	w := newWorld(t, def)
	w.write("source", twoOfThree)
	run := w.start()
	kill := w.owned()
	w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.Planned > 0 || r.State.Terminal() })
	kill()
	w.drive()
	got, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
	list := cases(t, w, run.ID)
	names := map[string]bool{}
	for _, c := range list {
		names[c.Key+"#"+string(rune('0'+c.Repeat))] = true
	}
	if got.Planned != 6 || len(list) != 6 || len(names) != 6 || len(facts.Results) < 2 {
		t.Errorf("%d %v %+v", got.Planned, names, facts.Results)
	}
}

// What a harness got as a secret is in no case, whoever reads the files; and where it cannot be masked any
// more they are not read.
func TestSecretsInResults(t *testing.T) {
	secret := assay.SuiteEnv{Secrets: []assay.SecretEnv{{Name: "KEY", Command: []string{"/bin/cat", "key"}}}}
	const text = `echo here; read x < gate; echo "<testsuite><testcase name='a'><failure>it is $KEY</failure></testcase><testcase name='$KEY'/><$KEY/>" > out.xml`
	for name, restart := range map[string]bool{"launched here": false, "carried on": true} {
		t.Run(name, func(t *testing.T) {
			def := script(text)
			def.Results, def.Env = junit("out.xml"), secret
			w := newWorld(t, def)
			w.write("key", "hunter2-hunter2\n")
			open := w.gate("gate")
			run := w.start()
			if restart {
				kill := w.owned()
				w.said(run.ID, "here")
				kill()
			}
			open()
			w.drive()
			_, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
			list := cases(t, w, run.ID)
			said := fmt.Sprintf("%+v %+v", list, facts)
			if len(list) != 2 || strings.Contains(said, "hunter2") || !strings.Contains(said, "it is ****") || !strings.Contains(said, "::****") && !strings.Contains(said, "Key:****") {
				t.Errorf("%s", said)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		def := script(text)
		def.Results, def.Env = junit("out.xml"), secret
		w := newWorld(t, def)
		w.write("key", "hunter2-hunter2\n")
		open := w.gate("gate")
		run := w.start()
		kill := w.owned()
		w.said(run.ID, "here")
		kill()
		if err := os.Remove(filepath.Join(w.work, "key")); err != nil {
			t.Fatal(err)
		}
		open()
		w.drive()
		_, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
		if list := cases(t, w, run.ID); len(list) != 0 || len(facts.Results) != 1 || !strings.Contains(facts.Results[0].Error, "secret KEY") || !strings.Contains(facts.Results[0].Error, "masked") {
			t.Errorf("%+v %+v", list, facts.Results)
		}
	})
	t.Run("a variable that is a secret by its name", func(t *testing.T) {
		def := script(text)
		def.Results, def.Env.Pass = junit("out.xml"), []assay.PassEnv{{Name: "KEY", From: "X_API_KEY"}}
		w := newWorld(t, def)
		open := w.gate("gate")
		run := w.start()
		environment := func(value string, set bool) func(*Options) {
			return func(o *Options) {
				o.LookupEnv = func(name string) (string, bool) {
					if name == "X_API_KEY" {
						return value, set
					}
					return os.LookupEnv(name)
				}
			}
		}
		stop := w.drive(environment("hunter2-hunter2", true))
		w.said(run.ID, "here")
		stop()
		open()
		w.drive(environment("", false))
		_, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
		if list := cases(t, w, run.ID); len(list) != 0 || len(facts.Results) != 1 || !strings.Contains(facts.Results[0].Error, "KEY") {
			t.Errorf("%+v %+v", list, facts.Results)
		}
	})
}

func TestFewFilesAreTold(t *testing.T) {
	list := func(whole, faulty int) (sums []assay.ResultSum) {
		for i := range whole + faulty {
			s := assay.ResultSum{Path: fmt.Sprint(i), Format: assay.ResultJUnit, Cases: 2}
			if i >= whole {
				s.Error = "bad"
			}
			sums = append(sums, s)
		}
		return sums
	}
	for _, c := range []struct {
		whole, faulty, left int
		last                assay.ResultSum
	}{
		{100, 0, 100, assay.ResultSum{Path: "99", Format: assay.ResultJUnit, Cases: 2}},
		{10_000, 0, 100, assay.ResultSum{Path: "and 9901 more files", Format: assay.ResultJUnit, Cases: 19802}},
		{10_000, 50, 100, assay.ResultSum{Path: "and 9951 more files", Format: assay.ResultJUnit, Cases: 19902}},
		{10, 10_000, 100, assay.ResultSum{Path: "and 9911 more files", Format: assay.ResultJUnit, Cases: 19822, Error: "something is wrong with 9901 of them"}},
	} {
		got := bounded(list(c.whole, c.faulty))
		if len(got) != c.left || got[len(got)-1] != c.last {
			t.Errorf("%d, %d: %d, %+v", c.whole, c.faulty, len(got), got[len(got)-1])
		}
	}
}

// A file that two entries mean is read once, and none of them misses it.
func TestAFileThatTwoEntriesMean(t *testing.T) {
	def := script(`cp source out.xml`)
	def.Results = append(junit("*.xml"), junit("out.xml")...)
	w := newWorld(t, def)
	w.write("source", twoOfThree)
	run := w.start()
	w.drive()
	_, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
	if len(facts.Results) != 1 || facts.Results[0].Error != "" || facts.Results[0].Cases != 3 {
		t.Errorf("%+v", facts.Results)
	}
}

// A reader that sees no case all the same hears that its driver is to stop.
func TestAReadingEndsWithItsDriver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	p := &putter{ctx: ctx, j: &job{d: &Driver{o: Options{Now: now}}, stored: now()}}
	file := steady{strings.NewReader("[" + strings.Repeat(" ", 1<<20) + "]"), p}
	var b [4]byte
	if n, err := file.ReadAt(b[:], 0); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	cancel(nil)
	if err := results.Read(assay.ResultAssay, "r", file, 1<<20, results.Options{}, p.put); err == nil || p.err != context.Canceled {
		t.Errorf("%v, %v", err, p.err)
	}
}
