package grading

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
	"assay/internal/store/storetest"
)

func (w *world) preview(q engine.GradeRequest) engine.JudgePreview {
	w.t.Helper()
	q.Judges = []string{"j"}
	p, err := w.engine.Preview(w.t.Context(), w.project, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return p.Judges[0]
}

// What a preview says lies around what the run then does: also where a price holds only for prompts that
// are shorter than all of them together.
func TestAPreviewAgreesWithTheRun(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 30)
		p := modelNamed("m")
		dear := 2 * assay.Dollar
		p.set(&assay.Price{Input: assay.Dollar, CacheWrite: &dear, Output: 10 * assay.Dollar, UpTo: 1500})
		p.answer = slowly(0, assay.Usage{Known: true, Input: 1000, CacheWrite: 1000, Output: 100})
		w.serve(p)
		v := w.preview(engine.GradeRequest{})
		if v.Calls != 30 || v.Cost == nil || v.Cost.Least == nil || v.Cost.Most == nil || v.Cost.Input != 30_000 || v.Cost.Output != 3000 {
			t.Fatalf("%+v: %+v", v, v.Cost)
		}
		w.drive()
		w.until(w.grade(engine.GradeRequest{Budget: v.Cost.Most}).ID, assay.RunCompleted)
		if spent, calls := p.bill(); int64(calls) != v.Calls || spent < *v.Cost.Least || spent > *v.Cost.Most {
			t.Errorf("%d calls for USD %s, the preview said %d for %s to %s", calls, spent, v.Calls, v.Cost.Least, v.Cost.Most)
		}
		if v = w.preview(engine.GradeRequest{}); v.Calls != 0 || v.Reused != 30 {
			t.Errorf("%+v", v)
		}
		p.input = 2000 // beyond what the price is known for
		if v = w.preview(engine.GradeRequest{Force: true}); v.Cost.Least != nil || v.Cost.Most != nil {
			t.Errorf("the price is not known, the preview says %s to %s", v.Cost.Least, v.Cost.Most)
		}
	})
}

// A provider may find every prompt in its cache.
func TestAPreviewKnowsTheCache(t *testing.T) {
	w, _ := onFaulty(t, 10)
	p := modelNamed("m")
	cheap := assay.Dollar / 10
	p.set(&assay.Price{Input: assay.Dollar, Cached: &cheap, Output: assay.Dollar})
	p.answer = slowly(0, assay.Usage{Known: true, Input: 1000, Cached: 1000})
	w.serve(p)
	v := w.preview(engine.GradeRequest{})
	w.drive()
	w.until(w.grade(engine.GradeRequest{}).ID, assay.RunCompleted)
	if spent, _ := p.bill(); v.Cost.Least == nil || *v.Cost.Least > spent || *v.Cost.Least < spent/2 {
		t.Errorf("spent USD %s, the preview said %s at least", spent, v.Cost.Least)
	}
}

// Rules answer every item and call nobody.
func TestAPreviewOfRulesHasNoCalls(t *testing.T) {
	w, _ := onFaulty(t, 10)
	v := assay.JudgeVersion{ID: "rules", Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: []byte(`{}`), CreatedAt: utcNow()}
	if _, err := w.store.Judges().Apply(t.Context(), w.project.ID, assay.Judge{Name: "j", Version: v.ID}, v, utcNow()); err != nil {
		t.Fatal(err)
	}
	if p := w.preview(engine.GradeRequest{}); p.Items != 10 || p.Reused != 0 || p.Calls != 0 || p.Cost != nil {
		t.Errorf("%+v", p)
	}
}

// What a plan says of time keeps to the limits that a person set for the model.
func TestAPreviewKeepsToTheLimits(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 60)
		p := modelNamed("m")
		p.input, p.output = 900, 100
		p.answer = slowly(2*time.Second, assay.Usage{Known: true, Input: 900, Output: 100})
		w.serve(p)
		stop := w.drive()
		defer stop()
		w.until(w.grade(engine.GradeRequest{Concurrency: ptr(10)}).ID, assay.RunCompleted)
		for name, c := range map[string]struct {
			limits  assay.Limits
			seconds float64
			limited bool
		}{
			"none":                    {assay.Limits{}, 12, false},
			"calls in flight":         {assay.Limits{Concurrency: 3}, 40, true},
			"more than the run's":     {assay.Limits{Concurrency: 300}, 12, false},
			"requests":                {assay.Limits{RequestsPerMinute: 2}, 30 * 60, true},
			"more than can be in use": {assay.Limits{RequestsPerMinute: 6000, TokensPerMinute: 1e9}, 12, false},
			"tokens":                  {assay.Limits{TokensPerMinute: 1000, RequestsPerMinute: 1000}, 60 * 60, true},
		} {
			if err := s.Models().Put(t.Context(), p.key, assay.ModelSettings{Limits: c.limits}, utcNow()); err != nil {
				t.Fatal(err)
			}
			v := w.preview(engine.GradeRequest{Force: true, Concurrency: ptr(10)})
			if v.Calls != 60 || v.Cost.Seconds == nil || *v.Cost.Seconds < 0.99*c.seconds || *v.Cost.Seconds > 1.01*c.seconds || v.Cost.Limited != c.limited {
				t.Errorf("%s: %d calls, %+v, want %v s", name, v.Calls, v.Cost, c.seconds)
			}
		}
	})
}

// A session that cannot be read or that a judge cannot bear ends its own item: a preview counts it without
// a call.
func TestAPreviewSurvivesASession(t *testing.T) {
	w, f := onFaulty(t, 10)
	p := modelNamed("m")
	w.grader.o.Build = func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return &fragile{provider: p}, nil }
	damaged := assay.Errorf(assay.CodeInternal, "the database file is damaged")
	first := storetest.Nth(1, "Bodies.Get", damaged)
	f.Before = func(call string) error {
		if call == "Bodies.Load" {
			return damaged // what is read ahead
		}
		return first(call)
	}
	if v := w.preview(engine.GradeRequest{}); v.Calls != 8 || v.Cost.Prompts != 10 {
		t.Errorf("%d calls, %+v", v.Calls, v.Cost)
	}
	f.Before = func(call string) error {
		if call == "Bodies.Load" || call == "Bodies.Get" {
			return storetest.Unavailable()
		}
		return nil
	}
	if _, err := w.engine.Preview(context.Background(), w.project, engine.GradeRequest{Judges: []string{"j"}}); assay.CodeOf(err) != assay.CodeUnavailable {
		t.Errorf("a store that is away: %v", err)
	}
}

// fragile panics over its second session.
type fragile struct {
	*provider
	n int
}

func (j *fragile) Draft(q judge.Question) judge.Draft {
	if j.n++; j.n == 2 {
		panic("it cannot bear this")
	}
	return j.provider.Draft(q)
}
