package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/harness/shim"
	"assay/internal/store"
)

// picky is a store that refuses cases, and cannot read facts.
type picky struct {
	store.Store
	refuses func(assay.Case) bool
	broken  *atomic.Bool
}

func (p picky) Harnesses() store.Harnesses { return pickyHarnesses{p.Store.Harnesses(), p} }

type pickyHarnesses struct {
	store.Harnesses
	p picky
}

func (h pickyHarnesses) PutCases(ctx context.Context, f store.Fence, cases []assay.Case, now time.Time) error {
	if h.p.refuses != nil && slices.ContainsFunc(cases, h.p.refuses) {
		return assay.Errorf(assay.CodeInvalid, "too strange a case")
	}
	return h.Harnesses.PutCases(ctx, f, cases, now)
}

func (h pickyHarnesses) Facts(ctx context.Context, run assay.RunID) (assay.Harness, error) {
	if h.p.broken != nil && h.p.broken.Load() {
		return assay.Harness{}, assay.Errorf(assay.CodeInternal, "the facts cannot be decoded")
	}
	return h.Harnesses.Facts(ctx, run)
}

// A case that the store refuses is its file's fault: the others are stored, and the run ends.
func TestARefusedCaseIsItsFilesFault(t *testing.T) {
	def := script("true")
	def.Command[2] = `printf '{"case":"a","pass":true}\n{"case":"bad","pass":true}\n{"case":"b","pass":false}\n' > one.jsonl
		printf '{"case":"c","pass":true}\n' > two.jsonl
		for i in $(seq 30); do echo '{"case":"bad","pass":true}'; done > worse.jsonl`
	def.Results = []assay.ResultFile{{Format: assay.ResultAssay, Path: "one.jsonl"}, {Format: assay.ResultAssay, Path: "two.jsonl"}, {Format: assay.ResultAssay, Path: "worse.jsonl"}}
	w := newWorld(t, def)
	run := w.start()
	w.drive(func(o *Options) {
		o.Store = picky{Store: o.Store, refuses: func(c assay.Case) bool { return strings.HasPrefix(c.Key, "bad") }}
	})
	got, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
	if !strings.Contains(got.Sentence, "3 cases: 2 passed, 1 failed") || got.Planned != 3 {
		t.Errorf("%d cases: %s", got.Planned, got.Sentence)
	}
	sums := map[string]assay.ResultSum{}
	for _, s := range facts.Results {
		sums[s.Path] = s
	}
	if s := sums["one.jsonl"]; s.Cases != 2 || s.Error != "1 of its cases cannot be stored: too strange a case" {
		t.Errorf("%+v", s)
	}
	if s := sums["two.jsonl"]; s.Cases != 1 || s.Error != "" {
		t.Errorf("%+v", s)
	}
	if s := sums["worse.jsonl"]; s.Cases != 0 || !strings.Contains(s.Error, "30 of its cases cannot be stored: too strange a case") {
		t.Errorf("%+v", s)
	}
	list, _, err := w.store.Harnesses().Cases(t.Context(), run.ID, store.CaseQuery{}, store.Page{Limit: 100})
	if err != nil || len(list) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	for i, c := range list {
		if c.Key != []string{"a", "b", "c"}[i] || c.Seq != int64(i+1) {
			t.Errorf("case %d is %d %q", i, c.Seq, c.Key)
		}
	}
}

// A driver that can never store how a harness ended does not hold its key for ever: once the harness is surely
// gone, its failures count.
func TestADriverThatFailsForEverEndsARunWhoseHarnessIsGone(t *testing.T) {
	for _, dead := range []bool{false, true} {
		t.Run(fmt.Sprintf("shim killed %t", dead), func(t *testing.T) {
			w := newWorld(t, script("read x < gate"))
			open := w.gate("gate")
			run := w.start()
			var broken atomic.Bool
			drive := func() (stop func()) {
				return w.drive(func(o *Options) { o.Store = picky{Store: o.Store, broken: &broken} })
			}
			stop := drive()
			w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.PID != 0 })
			stop()
			broken.Store(true)
			stop = drive()
			before, _ := w.get(run.ID)
			w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.Epoch > before.Epoch+12 })
			if got, facts := w.get(run.ID); got.State != assay.RunRunning || !alive(facts.PID) {
				t.Errorf("a run whose harness lives is %s: %s", got.State, got.Sentence)
			}
			if dead {
				killShim(t, filepath.Join(RunDir(w.dir, run.ID), "a1"))
			} else {
				open()
			}
			_, facts := w.get(run.ID)
			got, _ := w.ended(run.ID, assay.RunFailed, assay.ReasonDriverFailed)
			if got.Sentence != "the facts cannot be decoded" || alive(facts.PID) {
				t.Errorf("%s; alive: %t", got.Sentence, alive(facts.PID))
			}
			stop()
			if _, _, err := w.engine.StartSuite(t.Context(), w.project, "s", engine.SuiteRequest{}, nil); err != nil {
				t.Errorf("its key is not free: %v", err)
			}
		})
	}
}

// killShim kills a launch's shim with -9.
func killShim(t *testing.T, dir string) {
	t.Helper()
	if left, err := shim.Kill(dir, 10*time.Second); err != nil || len(left) > 0 {
		t.Fatalf("%v %v", left, err)
	}
}
