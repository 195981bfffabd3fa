package web_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/web"
)

func serve(t *testing.T, o api.Overview, err error) *httptest.Server {
	t.Helper()
	overview := func(context.Context) (api.Overview, error) { return o, err }
	srv := httptest.NewServer(web.New(overview, http.NotFoundHandler()))
	t.Cleanup(srv.Close)
	return srv
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(raw)
}

func overview() api.Overview {
	started := time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC)
	ended := started.Add(time.Hour)
	rate, left := 12.5, 80.0
	settings := assay.DefaultSettings()
	settings.Zone = "Europe/Berlin"
	run := func(id assay.RunID, state assay.RunState) assay.Run {
		return assay.Run{ID: id, Project: "default", State: state, StartedAt: &started, Concurrency: 10,
			Spec: assay.GradeSpec{Settings: settings, Judges: []assay.RunJudge{{Name: "<script>alert(1)</script>"}}}}
	}
	active := run(7, assay.RunRunning)
	active.Phase = assay.PhaseGrading
	whole, leftOver, monthly := 5*assay.Dollar, assay.Dollar*13/4, 40*assay.Dollar
	active.Budget = &whole
	over := run(6, assay.RunFailed)
	over.EndedAt, over.Sentence = &ended, "0 of 3 items graded"
	return api.Overview{
		At: ended, Owner: api.OwnerInfo{PID: 42, Version: "v1"},
		Projects:  []api.Project{{Name: "default", Settings: settings, Month: &api.MonthSpend{Charged: 3 * assay.Dollar, Budget: &monthly}}},
		Attention: []api.Attention{{Run: 6, Project: "default", Sentence: "failed: nothing graded", Do: "assay retry r6"}},
		Active: []api.RunView{{RunRow: api.RunRow{Run: active, Counts: assay.Counts{Total: 2000, Pending: 1000, Graded: 990, Errored: 10, Reused: 5}},
			Rate: &rate, Remaining: &left, BudgetLeft: &leftOver, Spend: api.Spent{Spend: assay.Spend{Attempts: 1200, Unpriced: 1200, Cost: assay.Dollar / 2, Held: assay.Dollar * 5 / 4, HeldN: 2}}}},
		Recent: []assay.Run{over},
	}
}

func TestPage(t *testing.T) {
	srv := serve(t, overview(), nil)
	resp, body := get(t, srv.URL)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %s", resp.Status)
	}
	for _, want := range []string{
		"Needs a person", "assay retry r6", "Nobody drives runs",
		`<progress max="2000" value="1000"`, "990 of 2,000 graded, 5 of them reused, 10 errored",
		"12.5 items/s, about 1m20s left", "1,200 attempts, USD 0.5000 + at most 1.2500 of 2 calls whose cost is not known + unknown for 1,200 calls · budget USD 5.00, 3.2500 left", "3.0000 of 40.00",
		"2026-07-02 00:30 CEST", "0 of 3 items graded", `href="/openapi.json"`, "&lt;script&gt;alert(1)&lt;/script&gt;",
	} {
		if !strings.Contains(body, want) && !strings.Contains(html.UnescapeString(body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if first, rest := strings.Index(body, "Needs a person"), strings.Index(body, `id="active"`); first > rest {
		t.Error("what needs a person does not come first")
	}
	for _, never := range []string{"<script", " style=", "http://", "https://"} {
		if strings.Contains(body, never) {
			t.Errorf("the page holds %q", never)
		}
	}
}

func TestPageIsProtected(t *testing.T) {
	srv := serve(t, overview(), nil)
	for _, path := range []string{"/", "/style.css", "/icon.svg"} {
		resp, _ := get(t, srv.URL+path)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
	}
}

func TestPageOfAnEmptyStore(t *testing.T) {
	_, body := get(t, serve(t, api.Overview{}, nil).URL)
	if !strings.Contains(body, "Nothing runs.") || strings.Contains(body, "Recent runs") || strings.Contains(body, "Needs a person") {
		t.Errorf("page of an empty store:\n%s", body)
	}
}

func TestPageKeepsInternalErrorsToItself(t *testing.T) {
	resp, body := get(t, serve(t, api.Overview{}, io.ErrUnexpectedEOF).URL)
	if resp.StatusCode != http.StatusInternalServerError || strings.Contains(body, io.ErrUnexpectedEOF.Error()) {
		t.Errorf("%s:\n%s", resp.Status, body)
	}
}

// A suite is shown with what its harness says of itself; nothing that it prints becomes markup.
func TestASuiteOnThePage(t *testing.T) {
	o := overview()
	at := o.At
	suite := assay.Run{ID: 8, Project: "default", Kind: assay.RunSuite, State: assay.RunRunning, Phase: assay.PhaseExecuting, StartedAt: &at, By: "ann",
		Suite: &assay.SuiteSpec{Name: "nightly"}}
	o.Active = []api.RunView{{RunRow: api.RunRow{Run: suite, Harness: &assay.Harness{
		Where: "box", LogLines: 1234, Idle: true, ActiveAt: &at,
		Progress: &assay.Progress{Done: 3, Total: 20, Text: "<b>cases</b>", Guessed: true}, Metrics: []assay.Metric{{Name: "acc", Value: 0.5}},
	}}}}
	ended := suite
	ended.ID, ended.State, ended.EndedAt, ended.Sentence = 5, assay.RunCompleted, &at, "the harness ended with exit code 0"
	o.Recent = []assay.Run{ended}
	_, body := get(t, serve(t, o, nil).URL)
	for _, want := range []string{
		"suite nightly", `<progress max="1000" value="150"`, "3 of 20 as its output looks &lt;b&gt;cases&lt;/b&gt; · acc 0.5 · 1,234 lines of output",
		"running, silent since 2026-07-01 23:30:00 UTC", "on box", "asked for by ann", `href="/api/v1/runs/r8/log/raw"`, `href="/api/v1/runs/r5/log/raw"`, "2026-07-01 23:30 UTC",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{"at once", "all sessions", "no attempts", "/r5/report"} {
		if strings.Contains(body, never) {
			t.Errorf("the page says %q of a suite", never)
		}
	}
}

// How suites and schedules stand is one short table each; a harness is called what its kind is.
func TestSuitesAndSchedulesOnThePage(t *testing.T) {
	o := overview()
	at := o.At
	run := func(id assay.RunID, kind assay.RunKind, state assay.RunState, name string) assay.Run {
		return assay.Run{ID: id, Project: "default", Kind: kind, State: state, StartedAt: &at, Suite: &assay.SuiteSpec{Name: name}}
	}
	silent, over, elsewhere := run(8, assay.RunSuite, assay.RunRunning, "nightly"), run(5, assay.RunSuite, assay.RunFailed, "weekly"), run(9, assay.RunExternal, assay.RunFailed, "ci")
	o.Active = []api.RunView{{RunRow: api.RunRow{Run: silent, Harness: &assay.Harness{Idle: true, ActiveAt: &at}}}}
	o.Recent = []assay.Run{elsewhere, over}
	o.Suites = []api.SuiteStanding{{Project: "default", Suite: "never", State: api.IdleState, Description: "<i>not</i> yet"},
		{Project: "default", Suite: "nightly", State: "running", Newest: &silent}, {Project: "default", Suite: "weekly", State: "failed", Newest: &over}}
	night := assay.ScheduleDef{Zone: "Europe/Berlin", Suite: &assay.ScheduledSuite{Name: "nightly"}}
	o.Schedules = []assay.Schedule{
		{Project: "default", Name: "night", Def: night, NextAt: &at, Last: &assay.Tick{At: at.Add(-24 * time.Hour), Outcome: assay.TickSkipped, Run: 7, Sentence: "`r7` is running"}},
		{Project: "default", Name: "held", Def: night, Paused: true},
	}
	_, body := get(t, serve(t, o, nil).URL)
	for _, want := range []string{
		`suites/never">never</a></td><td><span class="state idle">idle</span></td><td></td>`, "&lt;i&gt;not&lt;/i&gt; yet",
		`suites/nightly">nightly</a></td><td><span class="state running">running, silent since 2026-07-01 23:30:00 UTC</span></td><td><a href="/api/v1/runs/r8">r8</a>`,
		`<span class="state failed">failed</span></td><td><a href="/api/v1/runs/r5">r5</a>`, "external ci", "suite weekly", `</span> · suite nightly</h3>`, `<td class="how">`, // which may break a long word
		`schedules/night">night</a></td><td>suite nightly</td><td>default</td><td class="when">2026-07-02 01:30 CEST</td><td class="when">2026-07-01 01:30 CEST</td>`,
		`skipped <a href="/api/v1/runs/r7">r7</a>: <code>r7</code> is running`, `<td class="when">paused</td><td></td><td></td>`, "they start nothing until",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, "suite ci") {
		t.Error("a harness that runs elsewhere is called a suite")
	}
}
