package engine_test

import (
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

func TestAnExternalRunReports(t *testing.T) {
	w := newWorld(t)
	w.drive(t)
	run := w.external(t, engine.ExternalRequest{Name: "ci", Where: "runner-7", PID: 12, Argv: []string{"pytest"}, Env: []string{"A=1"}, By: "ann"})
	if run.State != assay.RunRunning || run.Epoch != 1 || run.Suite.Stale.Duration() != time.Minute {
		t.Fatalf("%+v", run)
	}
	report := engine.Report{
		Progress: &assay.Progress{Done: 3, Total: 4}, Metrics: []assay.Metric{{Name: "acc", Value: 0.5}, {Name: "acc", Value: 0.75}},
		Links: []assay.Link{{URL: "https://x/1"}}, Experiment: "https://x/e", LogBytes: 10, LogLines: 2,
	}
	if _, err := w.engine.Report(t.Context(), run.ID, report); err != nil {
		t.Fatal(err)
	}
	got, facts := w.get(t, run.ID)
	active := *facts.ActiveAt
	if facts.Where != "runner-7" || facts.PID != 12 || facts.LaunchedAt == nil || facts.Progress.Done != 3 || facts.Metrics[0].Value != 0.75 || len(facts.Metrics) != 1 ||
		facts.Links[0].URL != "https://x/1" || facts.Experiment != "https://x/e" || facts.LogBytes != 10 || got.ProgressAt == nil {
		t.Errorf("%+v", facts)
	}
	if _, err := w.engine.Report(t.Context(), run.ID, engine.Report{}); err != nil {
		t.Fatal(err)
	}
	again, facts := w.get(t, run.ID)
	if !again.HeartbeatAt.After(*got.HeartbeatAt) || !again.ProgressAt.Equal(*got.ProgressAt) || !facts.ActiveAt.Equal(active) {
		t.Errorf("a heartbeat is life and no progress: %+v, %+v", again, got)
	}
	points, err := w.store.Harnesses().Points(t.Context(), run.ID, "acc", 10)
	if err != nil || len(points) != 2 || points[1].Value != 0.75 {
		t.Errorf("%v %v", points, err)
	}
}

func TestWhatAReportMayNotSay(t *testing.T) {
	w := newWorld(t)
	run := w.external(t, engine.ExternalRequest{Name: "ci"})
	for name, r := range map[string]engine.Report{
		"script as link":       {Links: []assay.Link{{URL: "javascript:alert(1)"}}},
		"script as experiment": {Experiment: "javascript:alert(1)"},
		"negative progress":    {Progress: &assay.Progress{Done: -1}},
		"metric without name":  {Metrics: []assay.Metric{{Value: 1}}},
		"negative log":         {LogBytes: -1},
		"password in a link":   {Links: []assay.Link{{URL: "https://ann:secret@x.example/"}}},
		"disguised link":       {Experiment: "https://x.example/\u202e"},
		"unprintable metric":   {Metrics: []assay.Metric{{Name: "a\x00b", Value: 1}}},
	} {
		if _, err := w.engine.Report(t.Context(), run.ID, r); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.engine.Report(t.Context(), w.start(t, engine.SuiteRequest{}).ID, engine.Report{}); assay.CodeOf(err) != assay.CodeRefused {
		t.Errorf("a report about a suite run: %v", err)
	}
	for _, q := range []engine.ExternalRequest{{}, {Name: "a\nb"}, {Name: "x", Stale: -1}, {Name: "x", Stale: assay.Seconds(48 * time.Hour)}} {
		if _, _, err := w.engine.StartExternal(t.Context(), w.project, q, nil); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestASilentRunIsLostAndStaysLost(t *testing.T) {
	w := newWorld(t)
	run := w.external(t, engine.ExternalRequest{Name: "nightly", Exclusive: true, Stale: assay.Seconds(100 * time.Millisecond)})
	if _, _, err := w.engine.StartSuite(t.Context(), w.project, "nightly", engine.SuiteRequest{}, nil); assay.CodeOf(err) != assay.CodeConflict {
		t.Errorf("an exclusive run does not hold the key of its suite: %v", err)
	}
	w.drive(t)
	lost, _ := w.until(t, run.ID, func(r assay.Run, _ assay.Harness) bool { return r.State.Terminal() })
	if lost.State != assay.RunStateLost || lost.Reason != assay.ReasonSilent || !strings.Contains(lost.Sentence, "no report since") || lost.Epoch != 1 {
		t.Errorf("%+v", lost)
	}
	w.start(t, engine.SuiteRequest{}) // the key is free
	if got, err := w.engine.Report(t.Context(), run.ID, engine.Report{Progress: &assay.Progress{Done: 9, Total: 10}}); err != nil || got.State != assay.RunStateLost {
		t.Errorf("%+v %v", got, err)
	}
	_, facts := w.get(t, run.ID)
	if facts.Late != "progress 9/10" || facts.LateAt == nil || facts.Progress != nil {
		t.Errorf("%+v", facts)
	}
	if got, err := w.engine.FinishExternal(t.Context(), run.ID, engine.Finish{Cases: []assay.Case{{Key: "a", State: assay.ItemGraded, Pass: new(true)}}}); err != nil || got.State != assay.RunStateLost {
		t.Errorf("%+v %v", got, err)
	}
	got, facts := w.get(t, run.ID)
	if !strings.Contains(facts.Late, "exit code 0; 1 case: 1 passed") || facts.Exit != nil || got.Planned != 0 {
		t.Errorf("%+v", facts)
	}
}

func TestHowExternalRunsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		finish engine.Finish
		cancel bool
		state  assay.RunState
		reason assay.Reason
	}{
		"done":      {engine.Finish{}, false, assay.RunCompleted, assay.ReasonDone},
		"exit code": {engine.Finish{Code: 2}, false, assay.RunFailed, assay.ReasonExitCode},
		"signal":    {engine.Finish{Code: -1, Signal: "SIGKILL"}, false, assay.RunFailed, assay.ReasonSignal},
		"unborn":    {engine.Finish{Code: -1, Error: "no such file"}, false, assay.RunFailed, assay.ReasonLaunchFailed},
		"cancelled": {engine.Finish{}, true, assay.RunCancelled, assay.ReasonAsked},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			run := w.external(t, engine.ExternalRequest{Name: "nightly", Exclusive: true})
			if c.cancel {
				if got, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil || got.State != assay.RunRunning || !got.Cancelling() {
					t.Fatalf("%+v %v", got, err)
				}
			}
			c.finish.Cases = []assay.Case{
				{Key: "a", State: assay.ItemGraded, Pass: new(true)}, {Key: "b", State: assay.ItemGraded, Pass: new(false)},
				{Key: "c", State: assay.ItemErrored, Class: assay.ClassCaseError, Error: "it broke"},
			}
			first, err := w.engine.FinishExternal(t.Context(), run.ID, c.finish)
			if err != nil || first.State != c.state || first.Reason != c.reason || first.Planned != 3 {
				t.Fatalf("%+v %v", first, err)
			}
			if c.finish.Error == "" && !strings.HasSuffix(first.Sentence, "; 3 cases: 1 passed, 1 failed, 1 errored") {
				t.Errorf("%s", first.Sentence)
			}
			second, err := w.engine.FinishExternal(t.Context(), run.ID, engine.Finish{Code: 9})
			if err != nil || second.State != first.State || second.Revision != first.Revision {
				t.Errorf("twice: %+v %v", second, err)
			}
			_, facts := w.get(t, run.ID)
			if facts.Exit == nil || facts.Exit.Code != c.finish.Code || facts.LateAt != nil {
				t.Errorf("%+v", facts)
			}
			cases, _, err := w.store.Harnesses().Cases(t.Context(), run.ID, store.CaseQuery{}, store.Page{Limit: 10})
			if err != nil || len(cases) != 3 {
				t.Errorf("%v %v", cases, err)
			}
			w.start(t, engine.SuiteRequest{}) // the key is free
		})
	}
}

func TestACancelOfASilentRun(t *testing.T) {
	w := newWorld(t)
	run := w.external(t, engine.ExternalRequest{Name: "ci", Stale: assay.Seconds(50 * time.Millisecond)})
	if _, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil {
		t.Fatal(err)
	}
	w.drive(t)
	got, _ := w.until(t, run.ID, func(r assay.Run, _ assay.Harness) bool { return r.State.Terminal() })
	if got.State != assay.RunCancelled {
		t.Errorf("%+v", got)
	}
}

// A key that no database keeps is refused before anything of the finish is stored.
func TestKeysOfCasesAreBounded(t *testing.T) {
	w := newWorld(t)
	run := w.external(t, engine.ExternalRequest{Name: "ci"})
	for _, key := range []string{"", strings.Repeat("k", 1001)} {
		_, err := w.engine.FinishExternal(t.Context(), run.ID, engine.Finish{Cases: []assay.Case{{Key: "a", State: assay.ItemGraded}, {Key: key, State: assay.ItemGraded}}})
		if assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), "case 2 has a key of") {
			t.Errorf("%v", err)
		}
	}
	if got, _ := w.get(t, run.ID); got.State != assay.RunRunning || got.Planned != 0 {
		t.Errorf("%s with %d cases", got.State, got.Planned)
	}
	if got, err := w.engine.FinishExternal(t.Context(), run.ID, engine.Finish{Cases: []assay.Case{{Key: strings.Repeat("k", 1000), State: assay.ItemGraded, Pass: new(true)}}}); err != nil || got.Planned != 1 {
		t.Errorf("%d cases, %v", got.Planned, err)
	}
}

// Classes go into counts, reports and hints: only those that there are of cases.
func TestClassesOfCasesAreKnown(t *testing.T) {
	w := newWorld(t)
	run := w.external(t, engine.ExternalRequest{Name: "ci"})
	for _, c := range []assay.Case{
		{Key: "a", State: assay.ItemErrored, Class: "whatever"}, {Key: "a", State: assay.ItemErrored, Class: assay.ClassJudgeError},
		{Key: "a", State: assay.ItemErrored, Class: assay.ClassCaseSkipped}, {Key: "a", State: assay.ItemGraded, Class: assay.ClassCaseError},
	} {
		_, err := w.engine.FinishExternal(t.Context(), run.ID, engine.Finish{Cases: []assay.Case{c}})
		if assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), `case 1 ("a")`) {
			t.Errorf("%s %s: %v", c.State, c.Class, err)
		}
	}
	if got, _ := w.get(t, run.ID); got.State != assay.RunRunning || got.Planned != 0 {
		t.Errorf("%s with %d cases", got.State, got.Planned)
	}
}

// The points of an external run have a bound; its newest values are shown beyond it.
func TestPointsOfAnExternalRunAreBounded(t *testing.T) {
	w := newWorld(t)
	run := w.external(t, engine.ExternalRequest{Name: "ci"})
	// The run has reported almost all that is kept.
	if _, err := w.store.Harnesses().Report(t.Context(), run.ID, now(), func(f *assay.Harness, _ bool) (bool, error) { f.Points = 99_998; return false, nil }); err != nil {
		t.Fatal(err)
	}
	at := now()
	for i := range 3 {
		metrics := []assay.Metric{{Name: "a", Value: float64(i), At: at.Add(time.Duration(i) * time.Second)}, {Name: "b", Value: float64(i), At: at.Add(time.Duration(i) * time.Second)}}
		if _, err := w.engine.Report(t.Context(), run.ID, engine.Report{Metrics: metrics}); err != nil {
			t.Fatal(err)
		}
	}
	_, facts := w.get(t, run.ID)
	if facts.Points != 100_004 || len(facts.Metrics) != 2 || facts.Metrics[1].Value != 2 {
		t.Errorf("%+v", facts)
	}
	for _, name := range []string{"a", "b"} {
		if points, err := w.store.Harnesses().Points(t.Context(), run.ID, name, 10); err != nil || len(points) != 1 {
			t.Errorf("%s: %v, %v", name, points, err)
		}
	}
}

// Output that comes after the end is in the log, and its size is told as it is.
func TestLateOutputCounts(t *testing.T) {
	w := newWorld(t)
	run := w.external(t, engine.ExternalRequest{Name: "ci"})
	if _, err := w.engine.Report(t.Context(), run.ID, engine.Report{LogBytes: 10, LogLines: 1}); err != nil {
		t.Fatal(err)
	}
	ended, err := w.engine.FinishExternal(t.Context(), run.ID, engine.Finish{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Report(t.Context(), run.ID, engine.Report{LogBytes: 30, LogLines: 3, Progress: &assay.Progress{Done: 1}}); err != nil {
		t.Fatal(err)
	}
	got, facts := w.get(t, run.ID)
	if facts.LogBytes != 30 || facts.LogLines != 3 || facts.Progress != nil || !strings.Contains(facts.Late, "30 bytes of log") || got.State != ended.State || !got.EndedAt.Equal(*ended.EndedAt) {
		t.Errorf("%+v, %+v", got, facts)
	}
}
