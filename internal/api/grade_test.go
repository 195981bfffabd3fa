package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

func good() engine.GradeRequest { return engine.GradeRequest{Judges: []string{"good"}} }

// ended follows a run to its end.
func ended(t testing.TB, c *client.Client, id assay.RunID) api.RunView {
	t.Helper()
	v, err := c.Watch(t.Context(), id, func(api.RunView) bool { return true })
	if err != nil || !v.State.Terminal() {
		t.Fatalf("%s %+v, %v", v.State, v.Counts, err)
	}
	return v
}

func TestGrade(t *testing.T) {
	w := stocked(t, 25)
	w.judge.open()
	ctx := t.Context()
	plan, err := w.tcp.Plan(ctx, "default", good())
	if err != nil || plan.Sampled != 25 || len(plan.Strata) != 6 {
		t.Fatalf("%+v, %v", plan, err)
	}
	if runs, err := w.tcp.Runs(ctx, api.RunQuery{}, store.Page{}); err != nil || len(runs.Items) != 0 {
		t.Fatalf("plan wrote a run: %+v, %v", runs, err)
	}
	g, err := w.tcp.Grade(ctx, "default", good(), "")
	if err != nil || g.Replayed || g.ID == 0 {
		t.Fatalf("%+v, %v", g, err)
	}
	v := ended(t, w.tcp, g.ID)
	if v.State != assay.RunCompleted || v.Counts.Graded != 25 || v.Spend.Attempts != 25 || v.Remaining != nil {
		t.Errorf("%s %+v %+v", v.State, v.Counts, v.Spend)
	}
	got, err := w.tcp.Run(ctx, g.ID)
	if err != nil || len(got.Strata) != 6 || got.Left != v.Left {
		t.Errorf("%+v, %v", got, err)
	}
	items, err := w.tcp.Items(ctx, g.ID, api.ItemQuery{State: assay.ItemGraded}, store.Page{Limit: 10})
	if err != nil || len(items.Items) != 10 || items.Next == "" || items.Items[0].UserID != "ann/b" {
		t.Errorf("%+v, %v", items, err)
	}
	calls, err := w.tcp.Item(ctx, g.ID, 1)
	if err != nil || len(calls.Attempts) != 1 {
		t.Errorf("%+v, %v", calls, err)
	}
	_, err = w.tcp.Item(ctx, g.ID, 26)
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.Items(ctx, g.ID, api.ItemQuery{State: "fail"}, store.Page{})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Items(ctx, g.ID, api.ItemQuery{Class: "fail"}, store.Page{})
	holds(t, err, assay.CodeInvalid)
	raw, err := w.tcp.Report(ctx, g.ID, api.ReportQuery{})
	if err != nil || !strings.Contains(string(raw), `"coverage":1`) {
		t.Errorf("%s, %v", raw, err)
	}
	runs, err := w.tcp.Runs(ctx, api.RunQuery{Project: "default", Kind: assay.RunGrade, States: []assay.RunState{assay.RunCompleted, assay.RunFailed}}, store.Page{})
	if err != nil || len(runs.Items) != 1 || runs.Items[0].Counts.Graded != 25 {
		t.Errorf("%+v, %v", runs, err)
	}
}

func TestRequestsThatDoNotValidateLeaveNoRun(t *testing.T) {
	w := stocked(t, 2)
	ctx := t.Context()
	zero := 0
	for name, q := range map[string]engine.GradeRequest{
		"no judge":         {},
		"an unknown judge": {Judges: []string{"none"}},
		"0 at once":        {Judges: []string{"good"}, Concurrency: &zero},
		"a bad filter":     {Judges: []string{"good"}, Filter: "arm ="},
	} {
		_, err := w.tcp.Grade(ctx, "default", q, "")
		if code := assay.CodeOf(err); err == nil || (code != assay.CodeInvalid && code != assay.CodeNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.tcp.GradeSession(ctx, "default", good(), "") // waits for what is not a single run
	holds(t, err, assay.CodeInvalid)
	for id, code := range map[assay.RunID]assay.Code{99: assay.CodeNotFound} {
		_, err := w.tcp.Run(ctx, id)
		holds(t, err, code)
		_, err = w.tcp.Cancel(ctx, id, false)
		holds(t, err, code)
		_, err = w.tcp.Watch(ctx, id, func(api.RunView) bool { return true })
		holds(t, err, code)
		_, err = w.tcp.Report(ctx, id, api.ReportQuery{})
		holds(t, err, code)
	}
	if runs, err := w.tcp.Runs(ctx, api.RunQuery{}, store.Page{}); err != nil || len(runs.Items) != 0 {
		t.Errorf("%+v, %v", runs, err)
	}
}

func TestHundredStartsGiveOneRun(t *testing.T) {
	w := stocked(t, 5)
	ctx := t.Context()
	var mu sync.Mutex
	var started []assay.RunID
	named := map[string]int{}
	var all sync.WaitGroup
	for i := range 100 {
		c := w.tcp
		if i%2 == 0 {
			c = w.socket
		}
		all.Go(func() {
			g, err := c.Grade(ctx, "default", good(), "")
			mu.Lock()
			defer mu.Unlock()
			var e *assay.Error
			switch {
			case err == nil:
				started = append(started, g.ID)
			case errors.As(err, &e) && e.Code == assay.CodeConflict && e.Hint != "":
				named[e.Details["run"]]++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(started) != 1 || len(named) != 1 || named[started[0].String()] != 99 {
		t.Errorf("started %v, conflicts name %v", started, named)
	}
}

func TestIdempotencyKey(t *testing.T) {
	w := stocked(t, 3)
	ctx := t.Context()
	key := client.NewKey()
	first, err := w.tcp.Grade(ctx, "default", good(), key)
	if err != nil || first.Replayed {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := w.socket.Grade(ctx, "default", good(), key)
	if err != nil || second.ID != first.ID || !second.Replayed {
		t.Errorf("%+v, %v", second, err)
	}
	other := good()
	other.Force = true
	_, err = w.tcp.Grade(ctx, "default", other, key)
	holds(t, err, assay.CodeIdempotency)
	w.judge.open()
	ended(t, w.tcp, first.ID)
	if third, err := w.tcp.Grade(ctx, "default", good(), key); err != nil || third.ID != first.ID {
		t.Errorf("after its end: %+v, %v", third, err)
	}
	// The key belongs to its route: for a retry it is a new one.
	_, err = w.tcp.Retry(ctx, first.ID, engine.RetryRequest{}, key)
	if assay.CodeOf(err) == assay.CodeIdempotency {
		t.Error(err)
	}
	_, err = w.tcp.Grade(ctx, "default", good(), strings.Repeat("k", 256))
	holds(t, err, assay.CodeInvalid)
}

func TestStatusesOfAStart(t *testing.T) {
	w := stocked(t, 3)
	post := func() int {
		req, err := http.NewRequest("POST", "http://"+w.address+"/api/v1/projects/default/runs", strings.NewReader(`{"judges":["good"]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
		req.Header.Set("Idempotency-Key", "k")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if one, two := post(), post(); one != http.StatusCreated || two != http.StatusOK {
		t.Errorf("%d, then %d", one, two)
	}
}

func TestAsks(t *testing.T) {
	w := stocked(t, 40)
	ctx := t.Context()
	five := 5
	q := good()
	q.Concurrency = &five
	g, err := w.tcp.Grade(ctx, "default", q, "")
	if err != nil {
		t.Fatal(err)
	}
	<-w.judge.asked
	if v, err := w.tcp.PatchRun(ctx, g.ID, api.RunPatch{Concurrency: ptr(3)}); err != nil || v.Concurrency != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	_, err = w.tcp.PatchRun(ctx, g.ID, api.RunPatch{Concurrency: ptr(0)})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Retry(ctx, g.ID, engine.RetryRequest{}, "")
	holds(t, err, assay.CodeRefused)
	if v, err := w.tcp.Pause(ctx, g.ID); err != nil || v.PauseRequestedAt == nil {
		t.Errorf("%+v, %v", v.Run, err)
	}
	if v, err := w.tcp.Resume(ctx, g.ID); err != nil || v.PauseRequestedAt != nil {
		t.Errorf("%+v, %v", v.Run, err)
	}
	v, err := w.tcp.Cancel(ctx, g.ID, true)
	if err != nil || (!v.Cancelling && v.State != assay.RunCancelled) {
		t.Errorf("%+v, %v", v.Run, err)
	}
	if v = ended(t, w.tcp, g.ID); v.State != assay.RunCancelled || v.Counts.Cancelled == 0 || v.Counts.Pending != 0 {
		t.Errorf("%s %+v", v.State, v.Counts)
	}
	again, err := w.tcp.Cancel(ctx, g.ID, false)
	if err != nil || again.State != assay.RunCancelled || again.Revision != v.Revision {
		t.Errorf("%+v, %v", again.Run, err)
	}
	w.judge.open()
	r, err := w.tcp.Retry(ctx, g.ID, engine.RetryRequest{By: "me"}, "")
	if err != nil || r.RetryOf != g.ID || r.By != "me" {
		t.Fatalf("%+v, %v", r.Run, err)
	}
	if v = ended(t, w.tcp, r.ID); v.State != assay.RunCompleted || v.Counts.Graded != again.Counts.Cancelled {
		t.Errorf("%s %+v", v.State, v.Counts)
	}
}

func TestEnd(t *testing.T) {
	w := stocked(t, 40)
	ctx := t.Context()
	g, err := w.tcp.Grade(ctx, "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	<-w.judge.asked
	if _, err := w.tcp.End(ctx, g.ID); err != nil {
		t.Fatal(err)
	}
	w.judge.open()
	if v := ended(t, w.tcp, g.ID); v.State != assay.RunCompleted || !v.Partial {
		t.Errorf("%s partial %t %+v", v.State, v.Partial, v.Counts)
	}
}

func single() engine.GradeRequest {
	return engine.GradeRequest{Judges: []string{"good"}, Session: assay.SessionName("ann/b", "s0002")}
}

func TestGradeSession(t *testing.T) {
	w := stocked(t, 5)
	ctx := t.Context()
	w.judge.open()
	g, err := w.tcp.GradeSession(ctx, "default", single(), "")
	if err != nil || g.Kind != assay.RunSingle || g.State != assay.RunCompleted || len(g.Verdicts) != 1 {
		t.Fatalf("%+v, %v", g, err)
	}
	if v := g.Verdicts[0]; v.SessionID != "s0002" || v.Pass == nil || !*v.Pass || v.Reused {
		t.Errorf("%+v", v)
	}
	again, err := w.tcp.GradeSession(ctx, "default", single(), "")
	if err != nil || len(again.Verdicts) != 1 || !again.Verdicts[0].Reused || w.judge.calls.Load() != 1 {
		t.Errorf("%+v after %d calls, %v", again.Verdicts, w.judge.calls.Load(), err)
	}
	verdicts, err := w.tcp.SessionVerdicts(ctx, "default", "ann/b", "s0002", store.Page{})
	if err != nil || len(verdicts.Items) == 0 || !verdicts.Items[0].Current {
		t.Errorf("%+v, %v", verdicts, err)
	}
}

func TestWaitingRequestsShareOneCall(t *testing.T) {
	w := stocked(t, 5)
	ctx := t.Context()
	runs := make(chan assay.RunID, 20)
	var all sync.WaitGroup
	for range cap(runs) {
		all.Go(func() {
			g, err := w.tcp.GradeSession(ctx, "default", single(), "")
			if err != nil || len(g.Verdicts) != 1 {
				t.Errorf("%+v, %v", g, err)
			}
			runs <- g.ID
		})
	}
	<-w.judge.asked
	w.judge.open()
	all.Wait()
	if n := w.judge.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestWaitEndsWithItsClient(t *testing.T) {
	w := stocked(t, 5)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.tcp.GradeSession(ctx, "default", single(), "")
		done <- err
	}()
	<-w.judge.asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.judge.open() // the run itself goes on
	runs, err := w.socket.Runs(t.Context(), api.RunQuery{Kind: assay.RunSingle}, store.Page{})
	if err != nil || len(runs.Items) != 1 {
		t.Fatalf("%+v, %v", runs, err)
	}
	if v := ended(t, w.socket, runs.Items[0].ID); v.State != assay.RunCompleted {
		t.Errorf("%s", v.State)
	}
}

func TestVerdicts(t *testing.T) {
	w := stocked(t, 2300)
	ctx := t.Context()
	w.judge.open()
	all, hundred := 2300, 100
	q := good()
	q.PerStratum, q.Concurrency = &all, &hundred
	g, err := w.tcp.Grade(ctx, "default", q, "")
	if err != nil {
		t.Fatal(err)
	}
	ended(t, w.socket, g.ID)
	page, err := w.tcp.Verdicts(ctx, g.ID, 0, store.Page{Limit: 7})
	if err != nil || len(page.Items) != 7 || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	seen := map[int64]bool{}
	if err := w.tcp.EachVerdict(ctx, g.ID, 1, func(v assay.Verdict) error {
		seen[v.Seq] = true
		return nil
	}); err != nil || len(seen) != 2300 {
		t.Errorf("exported %d of 2300, %v", len(seen), err)
	}
	enough := errors.New("enough")
	n := 0
	if err := w.tcp.EachVerdict(ctx, g.ID, 0, func(assay.Verdict) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	}); !errors.Is(err, enough) || n != 3 {
		t.Errorf("after %d verdicts: %v", n, err)
	}
	holds(t, w.tcp.EachVerdict(ctx, 99, 0, nil), assay.CodeNotFound)
}
