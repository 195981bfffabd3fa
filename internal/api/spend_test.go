package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
)

func TestBudgetsOfARun(t *testing.T) {
	w := stocked(t, 3)
	ctx := t.Context()
	q := good()
	q.Budget = ptr(assay.Dollar * 5 / 2)
	g, err := w.tcp.Grade(ctx, "default", q, "")
	if err != nil || *g.Budget != *q.Budget || *g.BudgetLeft != *q.Budget {
		t.Fatalf("%+v, %v", g.RunView, err)
	}
	v, err := w.tcp.PatchRun(ctx, g.ID, api.RunPatch{Budget: api.SetBudget(ptr(10 * assay.Dollar)), Concurrency: ptr(3)})
	if err != nil || *v.Budget != 10*assay.Dollar || v.Concurrency != 3 {
		t.Errorf("%+v, %v", v.Run, err)
	}
	v, err = w.tcp.PatchRun(ctx, g.ID, api.RunPatch{Concurrency: ptr(2)})
	if err != nil || v.Budget == nil {
		t.Errorf("a patch of something else took the budget: %+v, %v", v.Run, err)
	}
	v, err = w.tcp.PatchRun(ctx, g.ID, api.RunPatch{Budget: api.SetBudget(nil)})
	if err != nil || v.Budget != nil || v.BudgetLeft != nil {
		t.Errorf("%+v, %v", v.Run, err)
	}
	for _, patch := range []api.RunPatch{{}, {Budget: api.SetBudget(ptr(assay.USD(-1)))}, {Budget: api.SetBudget(ptr(2 * assay.MaxUSD)), Concurrency: ptr(5)}} {
		_, err := w.tcp.PatchRun(ctx, g.ID, patch)
		holds(t, err, assay.CodeInvalid)
	}
	if v, err = w.tcp.Run(ctx, g.ID); err != nil || v.Concurrency != 2 {
		t.Errorf("half a patch was made: %+v, %v", v.Run, err)
	}
	_, err = w.tcp.PatchRun(ctx, 99, api.RunPatch{Budget: api.SetBudget(nil)})
	holds(t, err, assay.CodeNotFound)
	w.judge.open()
	ended(t, w.tcp, g.ID)
	_, err = w.tcp.PatchRun(ctx, g.ID, api.RunPatch{Budget: api.SetBudget(nil)})
	holds(t, err, assay.CodeRefused)
	q.Budget = ptr(2 * assay.MaxUSD)
	_, err = w.tcp.Grade(ctx, "default", q, "")
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Plan(ctx, "default", q)
	holds(t, err, assay.CodeInvalid)
	for body, status := range map[string]int{`{"budget_usd":"5"}`: 422, `{"budget_usd":1e-10}`: 422, `{"budget_usd":-1}`: 422, `{}`: 422} {
		if resp := send(t, w, http.MethodPatch, "/api/v1/runs/"+g.ID.String(), body); resp.StatusCode != status {
			t.Errorf("%s: %s", body, resp.Status)
		}
	}
}

func TestARetryGetsWhatWasLeftOrItsOwn(t *testing.T) {
	w := stocked(t, 3)
	ctx := t.Context()
	q := good()
	q.Budget = ptr(3 * assay.Dollar)
	g, err := w.tcp.Grade(ctx, "default", q, "")
	if err != nil {
		t.Fatal(err)
	}
	retry := func(of assay.RunID, q engine.RetryRequest) api.Graded {
		t.Helper()
		waitFor(t, func() bool { // planned: of a run that was cancelled before that, nothing is left to retry
			v, err := w.tcp.Run(ctx, of)
			return err == nil && v.Counts.InFlight > 0
		})
		if _, err := w.tcp.Cancel(ctx, of, true); err != nil {
			t.Fatal(err)
		}
		ended(t, w.tcp, of)
		r, err := w.tcp.Retry(ctx, of, q, "")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := retry(g.ID, engine.RetryRequest{})
	if r.Budget == nil || *r.Budget != 3*assay.Dollar { // rules spend nothing
		t.Errorf("%+v", r.Budget)
	}
	r = retry(r.ID, engine.RetryRequest{Budget: ptr(assay.Dollar), Unpriced: true})
	if r.Budget == nil || *r.Budget != assay.Dollar || !r.Spec.Unpriced {
		t.Errorf("%+v", r.Run)
	}
	if _, err := w.tcp.Cancel(ctx, r.ID, true); err != nil {
		t.Fatal(err)
	}
	ended(t, w.tcp, r.ID)
	_, err = w.tcp.Retry(ctx, r.ID, engine.RetryRequest{Budget: ptr(assay.USD(-1))}, "")
	holds(t, err, assay.CodeInvalid)
}

func TestMonthBudget(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	p, err := w.tcp.PatchProject(ctx, "default", api.SettingsPatch{MonthBudget: api.SetBudget(ptr(assay.Dollar * 25 / 2))})
	if err != nil || p.Settings.MonthBudget == nil || *p.Settings.MonthBudget != assay.Dollar*25/2 || p.Rekeying {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = w.tcp.Project(ctx, "default"); err != nil || p.Month == nil || *p.Month.Left != assay.Dollar*25/2 || p.Month.Month != time.Now().UTC().Format("2006-01") {
		t.Errorf("%+v, %v", p.Month, err)
	}
	ten := 10
	if _, err := w.socket.ApplyJudge(ctx, "default", "good 1"); err != nil {
		t.Fatal(err)
	}
	if plan, err := w.tcp.Plan(ctx, "default", good()); err != nil || plan.Month == nil || *plan.Month.Left != assay.Dollar*25/2 {
		t.Errorf("a plan does not tell the month's budget: %+v, %v", plan.Month, err)
	}
	if p, err = w.tcp.PatchProject(ctx, "default", api.SettingsPatch{Concurrency: &ten}); err != nil || p.Settings.MonthBudget == nil {
		t.Errorf("a patch of something else took the budget: %+v, %v", p, err)
	}
	_, err = w.tcp.PatchProject(ctx, "default", api.SettingsPatch{MonthBudget: api.SetBudget(ptr(assay.USD(-1)))})
	holds(t, err, assay.CodeInvalid)
	if p, err = w.tcp.PatchProject(ctx, "default", api.SettingsPatch{MonthBudget: api.SetBudget(nil)}); err != nil || p.Settings.MonthBudget != nil {
		t.Errorf("%+v, %v", p, err)
	}
	raw, err := json.Marshal(api.SettingsPatch{Concurrency: &ten})
	if err != nil || string(raw) != `{"concurrency":10}` {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestSpend(t *testing.T) {
	w := stocked(t, 4)
	ctx := t.Context()
	w.judge.open()
	if _, err := w.socket.ApplyJudge(ctx, "default", "asks llm1"); err != nil {
		t.Fatal(err)
	}
	q := good()
	q.Judges = []string{"good", "asks"}
	g, err := w.tcp.Grade(ctx, "default", q, "")
	if err != nil {
		t.Fatal(err)
	}
	ended(t, w.tcp, g.ID)
	today := time.Now().UTC()
	for by, want := range map[string][]api.SpendGroup{
		"":      {{Run: g.ID}},
		"run":   {{Run: g.ID}},
		"judge": {{Judge: "asks"}, {Judge: "good"}},
		"model": {{Model: known.Model}},
		"day":   {{Day: today.Format(time.DateOnly)}},
	} {
		s, err := w.tcp.Spend(ctx, "default", api.SpendQuery{By: by})
		if err != nil || len(s.Groups) != len(want) || s.Total.Attempts != 8 {
			t.Fatalf("%s: %+v, %v", by, s, err)
		}
		var sum assay.Spend
		for i, group := range s.Groups {
			if sum = sum.Add(group.Spend.Spend); group.Run != want[i].Run || group.Judge != want[i].Judge || group.Day != want[i].Day || group.Model != want[i].Model {
				t.Errorf("%s: %+v, want %+v", by, group, want[i])
			}
		}
		if s.Calls != 4 {
			t.Errorf("%s: %d calls; rules make none", by, s.Calls)
		}
		if sum != s.Total.Spend {
			t.Errorf("%s: groups add up to %+v, total %+v", by, sum, s.Total)
		}
		// Rules cost nothing, which is known; nobody knows what the other's calls cost.
		if s.Total.Cost != 0 || s.Total.Unpriced != 4 || s.Total.Whole != nil {
			t.Errorf("%s: %+v", by, s.Total)
		}
		if len(s.Months) != 1 || s.Months[0].Unpriced != 4 || s.Months[0].Budget != nil || s.Months[0].Left != nil {
			t.Errorf("%s: %+v", by, s.Months)
		}
	}
	before, later := today.Add(-48*time.Hour), today.Add(time.Hour)
	if s, err := w.tcp.Spend(ctx, "default", api.SpendQuery{To: &before}); err != nil || len(s.Groups) != 0 || len(s.Months) != 1 || s.Months[0].Unpriced != 4 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := w.tcp.Spend(ctx, "default", api.SpendQuery{From: &before, To: &later, Run: g.ID}); err != nil || s.Total.Attempts != 8 {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = w.tcp.Spend(ctx, "default", api.SpendQuery{From: &later, To: &before})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Spend(ctx, "default", api.SpendQuery{By: "person"})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Spend(ctx, "default", api.SpendQuery{Run: 99})
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.Spend(ctx, "nothing", api.SpendQuery{})
	holds(t, err, assay.CodeNotFound)
	if _, err := w.tcp.CreateProject(ctx, "other", nil); err != nil {
		t.Fatal(err)
	}
	_, err = w.tcp.Spend(ctx, "other", api.SpendQuery{Run: g.ID})
	holds(t, err, assay.CodeNotFound)
}
