package api_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/store"
)

func TestEveryErrorCrossesTheWire(t *testing.T) {
	w := newWorld(t)
	for code, status := range map[assay.Code]int{
		assay.CodeInvalid: 422, assay.CodeRejected: 422, assay.CodeNotFound: 404, assay.CodeConflict: 409, assay.CodeRefused: 409,
		assay.CodeIdempotency: 409, assay.CodeLost: 409, assay.CodeUnauthorized: 401, assay.CodeForbidden: 403,
		assay.CodeUnavailable: 503, assay.CodeInternal: 500,
	} {
		if got := api.Status(code); got != status {
			t.Errorf("%s is %d, want %d", code, got, status)
		}
		_, err := w.tcp.ApplyJudge(t.Context(), "default", "fail "+string(code))
		e := holds(t, err, code)
		if e.Message != "it is "+string(code) || e.Hint != "do <this>" || e.Details["run"] != "r7" {
			t.Errorf("%s came as %+v", code, e)
		}
	}
	if _, err := w.tcp.ApplyJudge(t.Context(), "default", "fail run_lost"); !errors.Is(err, assay.ErrLost) {
		t.Error(err)
	}
}

func TestWhatFailsInsideStaysInside(t *testing.T) {
	w := newWorld(t)
	for _, how := range []string{"plain", "panic"} {
		_, err := w.tcp.ApplyJudge(t.Context(), "default", "fail "+how)
		if e := holds(t, err, assay.CodeInternal); strings.Contains(e.Message+e.Hint, "secret") {
			t.Errorf("%s told: %+v", how, e)
		}
		if !strings.Contains(w.log.String(), "secret") {
			t.Errorf("%s is not in the log: %s", how, w.log)
		}
		w.log.Reset()
	}
	if _, err := w.tcp.Owner(t.Context()); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

func TestValidationSaysWhere(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ method, path, body, where string }{
		{"POST", "/projects/default/runs", `{"judges":"good"}`, "body.judges"},
		{"POST", "/projects/default/runs", `{"judges":["good"],"colour":"red"}`, "body.colour"},
		{"POST", "/projects/default/runs", `{"judges":["good"],"per_stratum":"x"}`, "body.per_stratum"},
		{"POST", "/projects/default/runs", `{}`, "judges"},
		{"POST", "/projects/default/runs", `{`, "body"},
		{"POST", "/projects/default/runs", ``, "body"},
		{"GET", "/projects/default/sessions?limit=0", ``, "query.limit"},
		{"GET", "/projects/default/sessions?limitt=5", ``, "query.limitt"},
		{"GET", "/projects/default/sessions?from=yesterday", ``, "query.from"},
		{"GET", "/projects/default/runs?state=done", ``, "query.state"},
		{"GET", "/runs/17", ``, "r17"},
		{"GET", "/runs/r0", ``, "r17"},
	} {
		req, err := http.NewRequest(c.method, "http://"+w.address+"/api/v1"+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode/100 != 4 || !strings.Contains(string(raw), `"code":"invalid_input"`) || !strings.Contains(string(raw), c.where) ||
			resp.Header.Get("Content-Type") != api.ProblemType {
			t.Errorf("%s %s %s: %s %s", c.method, c.path, c.body, resp.Status, raw)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	c := client.Socket(filepath.Join(t.TempDir(), "none"))
	_, err := c.Owner(t.Context())
	if e := holds(t, err, assay.CodeUnavailable); e.Hint == "" {
		t.Error("no hint")
	}
	if _, err := client.Server("localhost:7171", ""); err == nil {
		t.Error("an address without a scheme is taken")
	}
}

func TestSomethingElseThere(t *testing.T) {
	answer := func(status int, body string) string {
		_, address := serve(t, "tcp", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		return "http://" + address
	}
	for name, c := range map[string]struct {
		url  string
		code assay.Code
	}{
		"a gateway":         {answer(502, "<html>bad gateway"), assay.CodeUnavailable},
		"another server":    {answer(404, "404 page not found"), assay.CodeNotFound},
		"half an answer":    {answer(200, `{"pid":`), assay.CodeUnavailable},
		"a page":            {answer(200, `<html>`), assay.CodeUnavailable},
		"an answer of ours": {answer(409, `{"code":"run_conflict","detail":"d"}`), assay.CodeConflict},
	} {
		cl, err := client.Server(c.url, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cl.Owner(t.Context()); assay.CodeOf(err) != c.code || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		cl.Close()
	}
}

func TestTokenOverTheWire(t *testing.T) {
	w := newWorld(t, func(o *api.GuardOptions) { o.Token = "t0ken" })
	if _, err := w.tcp.Owner(t.Context()); err != nil {
		t.Error(err)
	}
	wrong, err := client.Server("http://"+w.address, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	_, err = wrong.Owner(t.Context())
	holds(t, err, assay.CodeUnauthorized)
	_, err = wrong.Watch(t.Context(), 1, func(api.RunView) bool { return true })
	holds(t, err, assay.CodeUnauthorized)
	if _, err := w.socket.Owner(t.Context()); err != nil {
		t.Errorf("the socket asks for a token: %v", err)
	}
}

func TestOverview(t *testing.T) {
	w := stocked(t, 4)
	g, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	<-w.judge.asked
	s := api.Services{Store: w.store, Now: now, Owner: func() api.OwnerInfo { return api.OwnerInfo{} }}
	o, err := s.Overview(t.Context())
	if err != nil || len(o.Active) != 1 || o.Active[0].ID != g.ID || o.Projects[0].Totals.Sessions != 4 {
		t.Fatalf("%+v, %v", o, err)
	}
	if len(o.Attention) != 1 || !strings.Contains(o.Attention[0].Sentence, "nobody drives") {
		t.Errorf("%+v", o.Attention)
	}
	if _, err := w.tcp.Pause(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	w.judge.open()
	if _, err := w.tcp.Watch(t.Context(), g.ID, func(v api.RunView) bool { return v.State == assay.RunRunning }); err != nil {
		t.Fatal(err)
	}
	s.Owner = func() api.OwnerInfo { return api.OwnerInfo{Driving: true} }
	o, err = s.Overview(t.Context())
	if err != nil || (len(o.Attention) == 0) != (len(o.Active) == 0) || len(o.Active)+len(o.Recent) != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestCheckAndLabels(t *testing.T) {
	w := stocked(t, 1)
	if k, err := w.tcp.Check(t.Context()); err != nil || len(k.Findings) != 0 || k.Store.Kind != "sqlite" {
		t.Errorf("%+v, %v", k, err)
	}
	labelled := strings.Replace(sessions(t, 1), `{"format"`, `{"labels":[{"criterion":"pass","value":true,"rater":"bob"}],"format"`, 1)
	if imp, err := w.tcp.Import(t.Context(), "default", assay.ImportOptions{}, strings.NewReader(labelled), nil); err != nil || imp.Rejected > 0 {
		t.Fatalf("%+v, %v", imp, err)
	}
	labels, err := w.tcp.Labels(t.Context(), "default", api.LabelQuery{}, store.Page{})
	if err != nil || len(labels.Items) != 1 || labels.Items[0].Rater != "bob" {
		t.Errorf("%+v, %v", labels, err)
	}
	tally, err := w.tcp.LabelTally(t.Context(), "default")
	if err != nil || len(tally) != 1 || tally[0].N != 1 || tally[0].Value != "true" {
		t.Errorf("%+v, %v", tally, err)
	}
}
