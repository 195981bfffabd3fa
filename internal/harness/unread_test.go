package harness

import (
	"testing"

	"assay/internal/assay"
)

// A run says in its own sentence, which lists show, when results that were declared were not read, or not
// whole: exit code 0 alone looks as if all were well.
func TestARunSaysWhichResultsWereNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		script, says string
		more         []assay.ResultFile
	}{
		"none written": {"true", "the harness ended with exit code 0; no results were read: out.xml", nil},
		"cut":          {`printf '<testsuite><testcase name="a"/><testca' > out.xml`, "the harness ended with exit code 0; 1 case: 1 passed, 0 failed; not read whole: out.xml", nil},
		"one of two":   {"cp source out.xml", "the harness ended with exit code 0; 3 cases: 2 passed, 1 failed; not read whole: other.xml", junit("other.xml")},
		"both missing": {"true", "the harness ended with exit code 0; no results were read: out.xml and 1 more", junit("other.xml")},
		"all read":     {"cp source out.xml", "the harness ended with exit code 0; 3 cases: 2 passed, 1 failed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			def := script(c.script)
			def.Results = append(junit("out.xml"), c.more...)
			w := newWorld(t, def)
			w.write("source", twoOfThree)
			run := w.start()
			w.drive()
			if got, _ := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone); got.Sentence != c.says {
				t.Errorf("%q, want %q", got.Sentence, c.says)
			}
		})
	}
}
