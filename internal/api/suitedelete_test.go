package api_test

import (
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

func TestASuiteIsDeletedAndItsRunsStay(t *testing.T) {
	w, ctx := suited(t), t.Context()
	f := file(t, definitions)
	if _, err := w.socket.ApplySuites(ctx, "default", f); err != nil {
		t.Fatal(err)
	}
	if _, err := w.socket.ApplySchedules(ctx, "default", f); err != nil {
		t.Fatal(err)
	}
	e := holds(t, w.tcp.DeleteSuite(ctx, "default", "nightly"), assay.CodeRefused)
	if !strings.Contains(e.Message, "schedule night starts it") || !strings.Contains(e.Hint, "assay schedule delete night") {
		t.Errorf("with a schedule: %q, %q", e.Message, e.Hint)
	}
	if err := w.tcp.DeleteSchedule(ctx, "default", "night"); err != nil {
		t.Fatal(err)
	}
	r, err := w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{}, "")
	if err != nil {
		t.Fatal(err)
	}
	e = holds(t, w.tcp.DeleteSuite(ctx, "default", "nightly"), assay.CodeRefused)
	if e.Details["run"] != r.ID.String() || !strings.Contains(e.Hint, "assay cancel "+r.ID.String()) {
		t.Errorf("with a run: %q, %q", e.Message, e.Hint)
	}
	if _, err := w.tcp.Cancel(ctx, r.ID, false); err != nil {
		t.Fatal(err)
	}
	if err := w.tcp.DeleteSuite(ctx, "default", "nightly"); err != nil {
		t.Fatal(err)
	}
	holds(t, w.tcp.DeleteSuite(ctx, "default", "nightly"), assay.CodeNotFound)
	_, err = w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{}, "")
	holds(t, err, assay.CodeNotFound)
	if list, err := w.tcp.Suites(ctx, "default"); err != nil || len(list) != 0 {
		t.Errorf("suites: %+v, %v", list, err)
	}
	page, err := w.tcp.Runs(ctx, api.RunQuery{Project: "default", Suite: "nightly"}, store.Page{})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("its runs: %+v, %v", page, err)
	}
	if v, err := w.tcp.Run(ctx, r.ID); err != nil || v.Suite.Def == nil {
		t.Errorf("its run has no definition any more: %+v, %v", v, err)
	}
}

func TestADefinitionOfTheSameVersionSaysSo(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	f := file(t, definitions)
	first, err := w.socket.ApplySuites(ctx, "default", f)
	if err != nil || first.Suites[0].Previous != "" {
		t.Fatalf("first: %+v, %v", first, err)
	}
	f.Source = strings.Replace(definitions, "    env:", "    grace: 3s\n    env:", 1)
	again, err := w.socket.ApplySuites(ctx, "default", f)
	if err != nil || !*again.Suites[0].Changed || again.Suites[0].Previous != again.Suites[0].Version || again.Suites[0].Version != first.Suites[0].Version {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestAHarnessThatHasEndedIsNotPaused(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	id := finished(t, w)
	_, err := w.tcp.Pause(ctx, id)
	if e := holds(t, err, assay.CodeRefused); !strings.Contains(e.Hint, "it has ended") || strings.Contains(e.Hint, "start") {
		t.Errorf("pause: %q, %q", e.Message, e.Hint)
	}
	_, err = w.tcp.Retry(ctx, id, engine.RetryRequest{}, "")
	if e := holds(t, err, assay.CodeRefused); !strings.Contains(e.Hint, "start the harness again") {
		t.Errorf("retry: %q, %q", e.Message, e.Hint)
	}
}
