package clock

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/grading"
	"assay/internal/judge"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain resolves any suite with any parameters, except one that is called bad.
type plain struct{}

func (plain) Resolve(s assay.Suite, given map[string]json.RawMessage, source assay.ParamSource) (values []assay.ParamValue, argv []string, err error) {
	for name, raw := range given {
		if name == "bad" {
			return nil, nil, assay.Errorf(assay.CodeInvalid, "parameter bad is not known").WithHint("leave it out")
		}
		values = append(values, assay.ParamValue{Name: name, Value: raw, Source: source})
	}
	return values, s.Def.Command, nil
}

// mute is a judge that is never asked.
type mute struct{}

func (mute) NeedsBody() bool                                     { return false }
func (mute) Close() error                                        { return nil }
func (mute) Ask(context.Context, judge.Question) (r judge.Reply) { return r }

// world is a store with a suite and a judge, an engine, and a clock that stands still.
type world struct {
	t       *testing.T
	store   store.Store
	project assay.Project
	engine  *engine.Engine
	ticker  *Ticker
	log     bytes.Buffer

	mu  sync.Mutex
	now time.Time
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// until sets the clock.
func (w *world) until(moment string) { w.set(at(w.t, moment)) }

func (w *world) set(m time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = m.UTC()
}

// newWorld begins on 1 June 2026, a Monday, at 12:00.
func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &world{t: t, store: s}
	w.until("2026-06-01T12:00:00Z")
	planner := grading.New(grading.Options{Store: s, Now: w.Now, Build: func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return mute{}, nil }})
	w.engine = engine.New(s, planner, plain{}, func() {}, w.Now)
	w.project, err = s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), w.now)
	w.must(err)
	_, err = s.Suites().Apply(t.Context(), w.project.ID, []assay.Suite{{Name: "nightly", Version: "v1", Def: assay.SuiteDefinition{Command: []string{"run"}, Dir: "/"}}}, w.now)
	w.must(err)
	for _, name := range []string{"j", "k"} {
		v := assay.JudgeVersion{ID: assay.Hash(name), Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: []byte(`{}`), CreatedAt: w.now}
		_, err = s.Judges().Apply(t.Context(), w.project.ID, assay.Judge{Name: name, Version: v.ID}, v, w.now)
		w.must(err)
	}
	w.ticker = w.over(s)
	return w
}

func (w *world) over(s store.Store) *Ticker {
	return New(Options{Store: s, Engine: w.engine, Now: w.Now, Log: slog.New(slog.NewTextHandler(&w.log, nil))})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) look() {
	w.t.Helper()
	w.ticker.look(w.t.Context())
}

// suite and grade are definitions that are due daily at 03:00.
func suite() assay.ScheduleDef {
	d := def("0 3 * * *", "UTC")
	d.Suite = &assay.ScheduledSuite{Name: "nightly", Params: map[string]json.RawMessage{"n": json.RawMessage(`7`)}}
	return d
}

func grade() assay.ScheduleDef {
	d := def("0 3 * * *", "UTC")
	d.Suite, d.Grade = nil, json.RawMessage(`{"judges":["j"]}`)
	return d
}

func (w *world) apply(name string, d assay.ScheduleDef) assay.Schedule {
	w.t.Helper()
	w.must(Validate(d))
	next, err := Next(d, w.Now())
	w.must(err)
	_, err = w.store.Schedules().Apply(w.t.Context(), w.project.ID, []assay.Schedule{{Name: name, Def: d, NextAt: &next}}, w.Now())
	w.must(err)
	return w.get(name)
}

func (w *world) get(name string) assay.Schedule {
	w.t.Helper()
	s, err := w.store.Schedules().Get(w.t.Context(), w.project.ID, name)
	w.must(err)
	return s
}

// runs are those of the project, oldest first.
func (w *world) runs() []assay.Run {
	w.t.Helper()
	list, _, err := w.store.Runs().List(w.t.Context(), store.RunQuery{Project: w.project.ID}, store.Page{Limit: 1000})
	w.must(err)
	slices.Reverse(list)
	return list
}

// only is the one run that there is.
func (w *world) only() assay.Run {
	w.t.Helper()
	list := w.runs()
	if len(list) != 1 {
		w.t.Fatalf("%d runs, want one", len(list))
	}
	return list[0]
}

// end ends a run as completed, as its driver would.
func (w *world) end(id assay.RunID) {
	w.t.Helper()
	run, err := w.store.Runs().Get(w.t.Context(), id)
	w.must(err)
	run, err = w.store.Runs().TakeUp(w.t.Context(), id, run.Epoch, false, w.Now())
	w.must(err)
	_, err = w.store.Runs().Change(w.t.Context(), id, store.Change{From: []assay.RunState{assay.RunRunning}, To: assay.RunCompleted, Reason: assay.ReasonDone, Sentence: "done", Now: w.Now()})
	w.must(err)
}

// owes says that a schedule owes this tick next.
func (w *world) owes(name, next string) assay.Schedule {
	w.t.Helper()
	s := w.get(name)
	if s.NextAt == nil || !s.NextAt.Equal(at(w.t, next)) {
		w.t.Errorf("%s owes %v, want %s", name, s.NextAt, next)
	}
	return s
}

// last compares what became of the last tick.
func (w *world) last(name string, want assay.Tick) {
	w.t.Helper()
	s := w.get(name)
	if s.Last == nil {
		w.t.Fatalf("%s has no last tick, want %+v", name, want)
	}
	got := *s.Last
	if got.DoneAt.IsZero() {
		w.t.Errorf("%s: the last tick was never done", name)
	}
	got.DoneAt, got.Sentence, got.At = time.Time{}, "", got.At.UTC()
	if got != want {
		w.t.Errorf("%s: the last tick is %+v, want %+v", name, got, want)
	}
}
