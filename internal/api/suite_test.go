package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/clock"
	"assay/internal/engine"
	"assay/internal/harness"
	"assay/internal/harness/define"
	"assay/internal/store"
)

// suites stands for the process's wiring: definitions are the real ones, and nothing is launched.
type suites struct {
	dir    string
	tick   *clock.Ticker
	driver *harness.Driver
}

func (s suites) Read(f api.DefinitionFile) (d api.Definitions, err error) {
	d.Suites, d.Schedules, err = define.Parse([]byte(f.Source), f.File, clock.Validate)
	return d, err
}

func (s suites) Launchable([]assay.Suite) error { return nil }

func (s suites) Check(suite assay.Suite, params map[string]json.RawMessage, source assay.ParamSource) error {
	_, _, err := harness.Resolver().Resolve(suite, params, source)
	return err
}

func (s suites) Next(def assay.ScheduleDef, after time.Time) (*time.Time, error) {
	next, err := clock.Next(def, after)
	return &next, err
}

func (s suites) RunNow(ctx context.Context, sched assay.Schedule, by string, once *store.Idempotency) (run assay.Run, replayed bool, err error) {
	return s.tick.RunNow(ctx, sched, by, once)
}

func (s suites) LogDir(run assay.RunID) string { return harness.LogDir(s.dir, run) }
func (s suites) RunDir(run assay.RunID) string { return harness.RunDir(s.dir, run) }

func (s suites) Leaving(ctx context.Context, project assay.ProjectID) error {
	return s.driver.Leaving(ctx, project)
}
func (s suites) RemoveLeft(ctx context.Context) { s.driver.RemoveLeft(ctx) }

const definitions = `suites:
  nightly:
    description: all of it
    command: [sh, -c, "echo hello"]
    env: {pass: [PATH]}
    params:
      limit: {type: int, flag: --limit, default: 5, min: 1}
      model: {type: string, flag: --model}
schedules:
  night:
    cron: "0 3 * * *"
    zone: Europe/Berlin
    suite: {name: nightly}
`

// suited is a world with the suite nightly.
func suited(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	out, err := w.socket.ApplySuites(t.Context(), "default", file(t, definitions))
	if err != nil || len(out.Suites) != 1 || out.Suites[0].Changed == nil || !*out.Suites[0].Changed || len(out.Left) != 1 {
		t.Fatalf("apply: %+v, %v", out, err)
	}
	return w
}

func file(t testing.TB, source string) api.DefinitionFile {
	return api.DefinitionFile{Source: source, File: filepath.Join(t.TempDir(), "assay.yaml")}
}

func TestASuiteIsAppliedShownAndStarted(t *testing.T) {
	w, ctx := suited(t), t.Context()
	list, err := w.tcp.Suites(ctx, "default")
	if err != nil || len(list) != 1 || list[0].State != "idle" || list[0].Newest != nil || list[0].Source != "" {
		t.Fatalf("list: %+v, %v", list, err)
	}
	same := api.DefinitionFile{Source: definitions, File: filepath.Join(list[0].Def.Dir, "assay.yaml")}
	again, err := w.socket.ApplySuites(ctx, "default", same)
	if err != nil || again.Suites[0].Version != list[0].Version || *again.Suites[0].Changed {
		t.Errorf("applied again: %+v, %v", again, err)
	}
	r, err := w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{Params: map[string]json.RawMessage{"limit": json.RawMessage("7")}, By: "ann"}, "k1")
	if err != nil || r.Kind != assay.RunSuite || r.By != "ann" || r.Harness == nil {
		t.Fatalf("run: %+v, %v", r, err)
	}
	if argv := strings.Join(r.Suite.Argv, " "); !strings.HasSuffix(argv, "--limit 7") || len(r.Suite.Params) != 1 || r.Suite.Params[0].Source != assay.ParamGiven {
		t.Errorf("argv %q, params %+v", argv, r.Suite.Params)
	}
	repeated, err := w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{Params: map[string]json.RawMessage{"limit": json.RawMessage("7")}, By: "ann"}, "k1")
	if err != nil || !repeated.Replayed || repeated.ID != r.ID {
		t.Errorf("repeated: %+v, %v", repeated, err)
	}
	_, err = w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{}, "")
	if e := holds(t, err, assay.CodeConflict); e.Details["run"] != r.ID.String() || !strings.Contains(e.Hint, "cancel "+r.ID.String()) {
		t.Errorf("conflict: %+v", e)
	}
	v, err := w.tcp.Suite(ctx, "default", "nightly")
	if err != nil || v.State != "queued" || len(v.Runs) != 1 || !strings.Contains(v.Source, "nightly") {
		t.Errorf("show: %+v, %v", v, err)
	}
	if c, err := w.tcp.CancelBy(ctx, r.ID, "bob", false); err != nil || c.State != assay.RunCancelled || c.CancelRequestedBy != "bob" || c.Sentence != "cancelled by bob before it was started" {
		t.Errorf("cancel: %+v, %v", c, err)
	}
	_, err = w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{Params: map[string]json.RawMessage{"nonsense": json.RawMessage("1")}}, "")
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.RunSuite(ctx, "default", "absent", engine.SuiteRequest{}, "")
	holds(t, err, assay.CodeNotFound)
}

// A suite runs a command: only those who could run one anyway may define it.
func TestSuitesAreNotTakenOverTheNetwork(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	_, err := w.tcp.ApplySuites(ctx, "default", file(t, definitions))
	holds(t, err, assay.CodeForbidden)
	if list, err := w.tcp.Suites(ctx, "default"); err != nil || len(list) != 0 {
		t.Errorf("stored all the same: %+v, %v", list, err)
	}
	allowed := newWorld(t, func(o *api.GuardOptions) { o.Commands = true })
	if _, err := allowed.tcp.ApplySuites(ctx, "default", file(t, definitions)); err != nil {
		t.Error(err)
	}
}

// A file in which anything is wrong changes nothing, and what was applied stays.
func TestABadDefinitionKeepsThePreviousOne(t *testing.T) {
	w, ctx := suited(t), t.Context()
	before, err := w.socket.Suite(ctx, "default", "nightly")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		strings.Replace(definitions, `[sh, -c, "echo hello"]`, `echo hello | sh`, 1),
		strings.Replace(definitions, "type: int", "type: integer", 1),
		strings.Replace(definitions, "min: 1}", "min: 9}", 1),
		definitions + "  other:\n    cron: nonsense\n    zone: UTC\n    suite: {name: nightly}\n",
	} {
		_, err := w.socket.ApplySuites(ctx, "default", file(t, bad))
		if e := holds(t, err, assay.CodeInvalid); !strings.Contains(e.Message, "line ") || e.Hint == "" {
			t.Errorf("%q, hint %q", e.Message, e.Hint)
		}
	}
	if after, err := w.socket.Suite(ctx, "default", "nightly"); err != nil || after.Version != before.Version || after.Source != before.Source {
		t.Errorf("now %+v, %v", after, err)
	}
}

func TestSchedules(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	_, err := w.tcp.ApplySchedules(ctx, "default", file(t, definitions))
	if e := holds(t, err, assay.CodeNotFound); !strings.Contains(e.Message, "schedule night") {
		t.Errorf("a schedule of a suite that is not applied: %q", e.Message)
	}
	if _, err := w.socket.ApplySuites(ctx, "default", file(t, definitions)); err != nil {
		t.Fatal(err)
	}
	out, err := w.tcp.ApplySchedules(ctx, "default", file(t, definitions))
	if err != nil || len(out.Schedules) != 1 || out.Schedules[0].NextAt == nil || !out.Schedules[0].NextAt.After(now()) || len(out.Left) != 1 {
		t.Fatalf("apply: %+v, %v", out, err)
	}
	if v, err := w.tcp.PauseSchedule(ctx, "default", "night"); err != nil || !v.Paused || v.NextAt != nil {
		t.Errorf("pause: %+v, %v", v, err)
	}
	if v, err := w.tcp.ResumeSchedule(ctx, "default", "night"); err != nil || v.Paused || v.NextAt == nil || !v.NextAt.After(now()) {
		t.Errorf("resume: %+v, %v", v, err)
	}
	r, err := w.tcp.RunSchedule(ctx, "default", "night", "ann", "")
	if err != nil || r.Suite == nil || r.Suite.Schedule != "night" || r.By != "ann" {
		t.Errorf("run now: %+v, %v", r, err)
	}
	if list, err := w.tcp.Schedules(ctx, "default"); err != nil || len(list) != 1 {
		t.Errorf("list: %+v, %v", list, err)
	}
	if v, err := w.tcp.Suite(ctx, "default", "nightly"); err != nil || len(v.Schedules) != 1 {
		t.Errorf("schedules of a suite: %+v, %v", v, err)
	}
	if err := w.tcp.DeleteSchedule(ctx, "default", "night"); err != nil {
		t.Error(err)
	}
	_, err = w.tcp.Schedule(ctx, "default", "night")
	holds(t, err, assay.CodeNotFound)
	unknown := strings.Replace(definitions, "suite: {name: nightly}", "grade: {judges: [absent]}", 1)
	_, err = w.tcp.ApplySchedules(ctx, "default", file(t, unknown))
	holds(t, err, assay.CodeNotFound)
}

func TestRunsOfASuiteAreListedByItsName(t *testing.T) {
	w, ctx := suited(t), t.Context()
	other, err := w.tcp.StartExternal(ctx, "default", engine.ExternalRequest{Name: "other"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := w.tcp.Suite(ctx, "default", "nightly"); err != nil || len(v.Runs) != 0 {
		t.Errorf("%s is shown with nightly: %+v, %v", other.ID, v.Runs, err)
	}
	rows, err := w.tcp.Runs(ctx, api.RunQuery{Kind: assay.RunExternal}, store.Page{})
	if err != nil || len(rows.Items) != 1 || rows.Items[0].Harness == nil {
		t.Errorf("%+v, %v", rows, err)
	}
}

// The page shows how suites and schedules stand, and what a person does about a harness that failed.
func TestSuitesAndSchedulesInTheOverview(t *testing.T) {
	w, ctx := suited(t), t.Context()
	if _, err := w.tcp.ApplySchedules(ctx, "default", file(t, definitions)); err != nil {
		t.Fatal(err)
	}
	s := api.Services{Store: w.store, Now: now, Owner: func() api.OwnerInfo { return api.OwnerInfo{Driving: true} }}
	o, err := s.Overview(ctx)
	if err != nil || len(o.Suites) != 1 || o.Suites[0].State != api.IdleState || len(o.Schedules) != 1 || o.Schedules[0].Name != "night" || len(o.Attention) != 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	for reason, do := range map[assay.Reason]string{
		assay.ReasonCasesFailed: "assay runs cases %s --failed", assay.ReasonLaunchFailed: "assay runs show %s",
		assay.ReasonResultsMissing: "assay runs show %s", assay.ReasonTimeLimit: "assay logs %s --tail 20",
	} {
		r, err := w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{}, "")
		if err != nil {
			t.Fatal(err)
		}
		run, err := w.store.Runs().TakeUp(ctx, r.ID, r.Epoch, false, now())
		if err == nil {
			_, err = w.store.Runs().Change(ctx, r.ID, store.Change{From: []assay.RunState{run.State}, To: assay.RunFailed, Reason: reason, Sentence: "s", Now: now()})
		}
		if err != nil {
			t.Fatal(err)
		}
		if o, err = s.Overview(ctx); err != nil || o.Suites[0].State != "failed" || o.Suites[0].Newest.ID != r.ID || len(o.Attention) != 1 || o.Attention[0].Do != fmt.Sprintf(do, r.ID) {
			t.Errorf("%s: %+v, %v", reason, o.Attention, err)
		}
	}
	sched := o.Schedules[0]
	tick := assay.Tick{At: *sched.NextAt, DoneAt: now(), Outcome: assay.TickFailed, Sentence: "there is no suite nightly"}
	if done, err := w.store.Schedules().Ticked(ctx, sched.ID, *sched.NextAt, tick, sched.NextAt); !done || err != nil {
		t.Fatal(done, err)
	}
	if o, err = s.Overview(ctx); err != nil || len(o.Attention) != 2 || !strings.Contains(o.Attention[0].Sentence, "no suite nightly") || o.Attention[0].Do != "assay schedule show night" {
		t.Errorf("%+v, %v", o.Attention, err)
	}
}
