package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// echo resolves every parameter to an argument of its own.
type echo struct{}

func (echo) Resolve(s assay.Suite, given map[string]json.RawMessage, source assay.ParamSource) (values []assay.ParamValue, argv []string, err error) {
	argv = append(argv, s.Def.Command...)
	for name, raw := range given {
		if name == "bad" {
			return nil, nil, assay.Errorf(assay.CodeInvalid, "parameter bad is not known")
		}
		values = append(values, assay.ParamValue{Name: name, Value: raw, Source: source})
		argv = append(argv, "--"+name, string(raw))
	}
	return values, argv, nil
}

type world struct {
	store   store.Store
	project assay.Project
	engine  *engine.Engine
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &world{store: s, engine: engine.New(s, nil, echo{}, func() {}, now)}
	if w.project, err = s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), now()); err != nil {
		t.Fatal(err)
	}
	suite := assay.Suite{Name: "nightly", Version: "v1", Def: assay.SuiteDefinition{Command: []string{"run"}, Dir: "/"}}
	if _, err := s.Suites().Apply(t.Context(), w.project.ID, []assay.Suite{suite}, now()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) start(t *testing.T, q engine.SuiteRequest) assay.Run {
	t.Helper()
	run, _, err := w.engine.StartSuite(t.Context(), w.project, "nightly", q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (w *world) external(t *testing.T, q engine.ExternalRequest) assay.Run {
	t.Helper()
	run, _, err := w.engine.StartExternal(t.Context(), w.project, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (w *world) get(t *testing.T, id assay.RunID) (assay.Run, assay.Harness) {
	t.Helper()
	run, err := w.store.Runs().Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := w.store.Harnesses().Facts(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return run, facts
}

func TestAHundredSimultaneousStartsGiveOneRun(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var started []assay.RunID
	named := map[string]int{}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			run, _, err := w.engine.StartSuite(context.Background(), w.project, "nightly", engine.SuiteRequest{}, nil)
			mu.Lock()
			defer mu.Unlock()
			var e *assay.Error
			switch {
			case err == nil:
				started = append(started, run.ID)
			case errors.As(err, &e) && e.Code == assay.CodeConflict && strings.Contains(e.Hint, "assay cancel "+e.Details["run"]):
				named[e.Details["run"]]++
			default:
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	if len(started) != 1 || named[started[0].String()] != 99 {
		t.Errorf("started %v, conflicts %v", started, named)
	}
}

func TestAStartKeepsWhatItWasStartedWith(t *testing.T) {
	w := newWorld(t)
	run := w.start(t, engine.SuiteRequest{Params: map[string]json.RawMessage{"limit": json.RawMessage("3")}, By: "ann", Schedule: "night"})
	run, facts := w.get(t, run.ID)
	if run.Kind != assay.RunSuite || run.State != assay.RunQueued || run.By != "ann" || run.Suite.Schedule != "night" || run.Suite.Def == nil ||
		strings.Join(run.Suite.Argv, " ") != "run --limit 3" || run.Suite.Params[0].Source != assay.ParamScheduled {
		t.Errorf("%+v %+v", run, run.Suite)
	}
	if facts.Launch > 1 || facts.PID != 0 {
		t.Errorf("%+v", facts)
	}
	for name, q := range map[string]engine.SuiteRequest{"nightly": {Params: map[string]json.RawMessage{"bad": json.RawMessage("1")}}, "unknown": {}} {
		if _, _, err := w.engine.StartSuite(t.Context(), w.project, name, q, nil); err == nil || assay.CodeOf(err) == assay.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARepeatedStartGivesTheFirstAnswer(t *testing.T) {
	w := newWorld(t)
	idem := &store.Idempotency{Route: "r", Key: "k", BodyHash: "h"}
	first, replayed, err := w.engine.StartSuite(t.Context(), w.project, "nightly", engine.SuiteRequest{}, idem)
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}
	if again, replayed, err := w.engine.StartSuite(t.Context(), w.project, "nightly", engine.SuiteRequest{}, idem); err != nil || !replayed || again.ID != first.ID {
		t.Errorf("%s %v %v", again.ID, replayed, err)
	}
}

// broken is a store that cannot accept a run.
type broken struct{ store.Store }

func (b broken) Runs() store.Runs { return brokenRuns{b.Store.Runs()} }

type brokenRuns struct{ store.Runs }

func (brokenRuns) Create(context.Context, store.NewRun) (assay.Run, bool, error) {
	return assay.Run{}, false, assay.Errorf(assay.CodeUnavailable, "the disk is full")
}

func TestAStartThatCannotBeStoredIsRefused(t *testing.T) {
	w := newWorld(t)
	woken := false
	e := engine.New(broken{w.store}, nil, echo{}, func() { woken = true }, now)
	if _, _, err := e.StartSuite(t.Context(), w.project, "nightly", engine.SuiteRequest{}, nil); assay.CodeOf(err) != assay.CodeUnavailable {
		t.Errorf("%v", err)
	}
	runs, _, err := w.store.Runs().List(t.Context(), store.RunQuery{Project: w.project.ID}, store.Page{})
	if err != nil || len(runs) != 0 || woken {
		t.Errorf("%v %v, woken %v", runs, err, woken)
	}
}

// wrapped is a store whose conflicts come with the words of somebody on the way.
type wrapped struct{ store.Store }

func (w wrapped) Runs() store.Runs { return wrappedRuns{w.Store.Runs()} }

type wrappedRuns struct{ store.Runs }

func (r wrappedRuns) Create(ctx context.Context, n store.NewRun) (assay.Run, bool, error) {
	run, replayed, err := r.Runs.Create(ctx, n)
	if err != nil {
		err = fmt.Errorf("on the way: %w", err)
	}
	return run, replayed, err
}

// A conflict says what to do about the run that holds the key, however it was wrapped.
func TestAWrappedConflictSaysWhatToDo(t *testing.T) {
	w := newWorld(t)
	holder := w.start(t, engine.SuiteRequest{})
	_, _, err := engine.New(wrapped{w.store}, nil, echo{}, func() {}, now).StartSuite(t.Context(), w.project, "nightly", engine.SuiteRequest{}, nil)
	var e *assay.Error
	if !errors.As(err, &e) || e.Code != assay.CodeConflict || !strings.Contains(e.Hint, "assay logs "+holder.ID.String()+" -f") {
		t.Errorf("%+v", err)
	}
}

func TestAHarnessIsNeitherPausedNorRetried(t *testing.T) {
	w := newWorld(t)
	run := w.start(t, engine.SuiteRequest{Params: map[string]json.RawMessage{"model": json.RawMessage(`"a b"`)}})
	budget := assay.USD(1)
	asks := map[string]func() error{
		"pause":       func() error { _, err := w.engine.Pause(t.Context(), run.ID); return err },
		"resume":      func() error { _, err := w.engine.Resume(t.Context(), run.ID); return err },
		"end":         func() error { _, err := w.engine.End(t.Context(), run.ID); return err },
		"concurrency": func() error { _, err := w.engine.SetConcurrency(t.Context(), run.ID, 2); return err },
		"budget":      func() error { _, err := w.engine.SetBudget(t.Context(), run.ID, &budget); return err },
	}
	for name, ask := range asks {
		var e *assay.Error
		if err := ask(); !errors.As(err, &e) || e.Code != assay.CodeRefused || !strings.Contains(e.Hint, "assay cancel "+run.ID.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, _ := w.get(t, run.ID); got.PauseRequestedAt != nil || got.EndRequestedAt != nil {
		t.Error("a refused ask is in the row")
	}
	if _, _, err := w.engine.Retry(t.Context(), run.ID, engine.RetryRequest{}, nil); assay.CodeOf(err) != assay.CodeRefused {
		t.Errorf("%v", err)
	}
	if got, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil || got.State != assay.RunCancelled || got.Sentence != "cancelled before it was started" {
		t.Fatalf("%+v %v", got, err)
	}
	_, _, err := w.engine.Retry(t.Context(), run.ID, engine.RetryRequest{}, nil)
	var e *assay.Error
	if !errors.As(err, &e) || e.Code != assay.CodeRefused || !strings.Contains(e.Hint, "`assay suite run nightly --param 'model=a b'`") {
		t.Errorf("%v: %s", err, e.Hint)
	}
	w.start(t, engine.SuiteRequest{}) // the key is free
}

// A cancel while the next launch of a lost run waits tells that there was one.
func TestACancelBetweenTwoLaunches(t *testing.T) {
	w := newWorld(t)
	run := w.start(t, engine.SuiteRequest{})
	if _, err := w.store.Runs().TakeUp(t.Context(), run.ID, 0, false, now()); err != nil {
		t.Fatal(err)
	}
	lost := store.Change{Reason: assay.ReasonLostRetried, Sentence: "launch 1 was lost", Now: now()}
	if _, err := engine.Move(t.Context(), w.store.Runs(), run.ID, engine.EventStop, lost); err != nil {
		t.Fatal(err)
	}
	if got, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil || got.Sentence != "cancelled before it was started again" {
		t.Errorf("%s %v", got.Sentence, err)
	}
}

// drive runs a dispatcher until the test ends.
func (w *world) drive(t *testing.T) { w.dispatch(t, local.Options{Store: w.store}) }

func (w *world) dispatch(t *testing.T, o local.Options) {
	t.Helper()
	o.Poll = 5 * time.Millisecond
	if o.Now == nil {
		o.Now = now
	}
	d := local.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

func (w *world) until(t *testing.T, id assay.RunID, ok func(assay.Run, assay.Harness) bool) (assay.Run, assay.Harness) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(2 * time.Millisecond) {
		run, facts := w.get(t, id)
		if ok(run, facts) {
			return run, facts
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %+v %+v", run, facts)
		}
	}
}
