package api_test

import (
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

func TestADryRunCallsNobodyAndStoresNothing(t *testing.T) {
	w := stocked(t, 2)
	ctx := t.Context()
	if _, err := w.socket.ApplyJudge(ctx, "default", "asks llm1"); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]api.TryRequest{
		"applied":   {Judge: "asks"},
		"built in":  {Judge: "builtin"},
		"not known": {Source: "fresh llm2"},
	} {
		q.Session, q.DryRun = "ann%2Fb/s0001", true
		tried, err := w.tcp.TryJudge(ctx, "default", q, "")
		if err != nil || tried.Prompt == nil || tried.Run != nil || tried.Prompt.Seen.Text != "hello" || tried.Prompt.Output != 11 || !strings.Contains(string(tried.Prompt.Request), `"s0001"`) {
			t.Errorf("%s: %+v, %v", name, tried, err)
		}
	}
	if w.judge.calls.Load() != 0 {
		t.Error("somebody was called")
	}
	if runs, err := w.tcp.Runs(ctx, api.RunQuery{}, store.Page{}); err != nil || len(runs.Items) != 0 {
		t.Errorf("%+v, %v", runs, err)
	}
	if judges, err := w.tcp.Judges(ctx, "default"); err != nil || len(judges) != 2 {
		t.Errorf("%+v, %v", judges, err)
	}
}

func TestATryIsARunThatShowsItsExchange(t *testing.T) {
	w := stocked(t, 2)
	ctx := t.Context()
	w.judge.open()
	if _, err := w.socket.ApplyJudge(ctx, "default", "asks llm1"); err != nil {
		t.Fatal(err)
	}
	q := api.TryRequest{Judge: "asks", Session: "ann%2Fb/s0001", By: "me"}
	for range 2 { // forced: a verdict that is there is not reused
		tried, err := w.tcp.TryJudge(ctx, "default", q, "")
		if err != nil || tried.Run == nil || tried.Run.State != assay.RunCompleted || tried.Run.Kind != assay.RunSingle || tried.Run.By != "me" || len(tried.Verdicts) != 1 || tried.Verdicts[0].Reused {
			t.Fatalf("%+v, %v", tried, err)
		}
		x := tried.Exchange
		if x == nil || x.Item.SessionID != "s0001" || x.Judge != "asks" || len(x.Attempts) != 1 || !strings.Contains(string(x.Attempts[0].Request), `"s0001"`) {
			t.Fatalf("%+v", x)
		}
		if again, err := w.tcp.Exchange(ctx, tried.Run.ID, 1); err != nil || string(again.Attempts[0].Request) != string(x.Attempts[0].Request) {
			t.Errorf("%+v, %v", again, err)
		}
	}
	if w.judge.calls.Load() != 2 {
		t.Errorf("%d calls", w.judge.calls.Load())
	}
	tried, err := w.tcp.TryJudge(ctx, "default", api.TryRequest{Judge: "good", Session: q.Session}, "")
	if err != nil || tried.Exchange.Attempts[0].Request != nil || !strings.Contains(tried.Exchange.Attempts[0].NotRebuilt, "asks no model") {
		t.Errorf("a judge without a model: %+v, %v", tried, err)
	}
	_, err = w.tcp.Exchange(ctx, tried.Run.ID, 2)
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.Exchange(ctx, 99, 1)
	holds(t, err, assay.CodeNotFound)
	// The same key again is the same run.
	first, err := w.tcp.TryJudge(ctx, "default", q, "key")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := w.tcp.TryJudge(ctx, "default", q, "key"); err != nil || second.Run.ID != first.Run.ID {
		t.Errorf("%+v, %v", second.Run, err)
	}
}

// A request is shown only when the transcript in it is the one that was sent.
func TestARequestThatMayBeAnotherIsNotShown(t *testing.T) {
	w := stocked(t, 1)
	ctx := t.Context()
	w.judge.open()
	if _, err := w.socket.ApplyJudge(ctx, "default", "asks llm1"); err != nil {
		t.Fatal(err)
	}
	tried, err := w.tcp.TryJudge(ctx, "default", api.TryRequest{Judge: "asks", Session: "ann%2Fb/s0000"}, "")
	if err != nil {
		t.Fatal(err)
	}
	at := now()
	late := func(n int, seen assay.Hash, call bool) assay.Attempt {
		a := assay.Attempt{Run: tried.Run.ID, Seq: 1, N: n, Epoch: 1, Status: assay.AttemptDone, Class: assay.ClassTimeout, OpenedAt: at, EndedAt: &at, Seen: seen}
		if call {
			a.CallAt = &at
		}
		return a
	}
	if err := w.store.Items().Late(ctx, []assay.Attempt{late(2, seenHash, true), late(3, assay.Hash(strings.Repeat("ab", 32)), true), late(4, seenHash, false)}); err != nil {
		t.Fatal(err)
	}
	x, err := w.tcp.Exchange(ctx, tried.Run.ID, 1)
	if err != nil || len(x.Attempts) != 4 {
		t.Fatalf("%+v, %v", x, err)
	}
	for i, why := range []string{"", "", "otherwise than the judge saw it", "no call left"} {
		a := x.Attempts[i]
		if (a.Request == nil) != (why != "") || !strings.Contains(a.NotRebuilt, why) {
			t.Errorf("call %d: %s, %q, want %q", i+1, a.Request, a.NotRebuilt, why)
		}
	}
}

func TestTriesThatAreRefused(t *testing.T) {
	w := stocked(t, 2)
	ctx := t.Context()
	less, at := assay.USD(-1), "ann%2Fb/s0001"
	for name, c := range map[string]struct {
		q    api.TryRequest
		code assay.Code
	}{
		"no judge":                {api.TryRequest{Session: at}, assay.CodeInvalid},
		"two judges":              {api.TryRequest{Session: at, Judge: "good", Source: "fresh llm2", DryRun: true}, assay.CodeInvalid},
		"an unknown judge":        {api.TryRequest{Session: at, Judge: "nobody", DryRun: true}, assay.CodeNotFound},
		"an unknown judge, real":  {api.TryRequest{Session: at, Judge: "nobody"}, assay.CodeNotFound},
		"an unknown session":      {api.TryRequest{Session: "ann/none", Judge: "builtin", DryRun: true}, assay.CodeNotFound},
		"an unknown session, too": {api.TryRequest{Session: "ann/none", Judge: "good"}, assay.CodeNotFound},
		"no session":              {api.TryRequest{Session: "ann", Judge: "good"}, assay.CodeInvalid},
		"no model to ask":         {api.TryRequest{Session: at, Judge: "good", DryRun: true}, assay.CodeInvalid},
		"a file is no run":        {api.TryRequest{Session: at, Source: "fresh llm2"}, assay.CodeInvalid},
		"a program, by TCP":       {api.TryRequest{Session: at, Source: "fresh command", DryRun: true}, assay.CodeForbidden},
		"a negative budget":       {api.TryRequest{Session: at, Judge: "good", Budget: &less}, assay.CodeInvalid},
	} {
		_, err := w.tcp.TryJudge(ctx, "default", c.q, "")
		if assay.CodeOf(err) != c.code || err == nil {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if w.judge.calls.Load() != 0 {
		t.Error("somebody was called")
	}
}

func TestCheckProvider(t *testing.T) {
	w := stocked(t, 1)
	ctx := t.Context()
	k, err := w.tcp.CheckProvider(ctx, "default", "good")
	if err != nil || k.OK || k.Steps[0].Remedy != "set it" || w.models.checked.Load() != 1 {
		t.Errorf("%+v, %v", k, err)
	}
	// A judge that somebody applied or a built-in one: its key goes to its own endpoint.
	if _, err = w.tcp.CheckProvider(ctx, "default", "builtin"); err != nil || w.models.checked.Load() != 2 {
		t.Error(err)
	}
	_, err = w.tcp.CheckProvider(ctx, "default", "nobody")
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.CheckProvider(ctx, "nothing", "good")
	holds(t, err, assay.CodeNotFound)
	resp := send(t, w, "POST", "/api/v1/projects/default/providers/check", `{"judge":"good","base_url":"http://evil"}`)
	if resp.StatusCode != 422 || w.models.checked.Load() != 2 {
		t.Errorf("a foreign address: %s", resp.Status)
	}
}
