package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/report/gate"
	"assay/internal/store"
)

// changed is a world in which b is of a second version of the judge, which says no to everything.
func changed(t *testing.T, n int) (w *world, a, b assay.RunID) {
	t.Helper()
	w, a = graded(t, n)
	w.judge.no.Store(true)
	if _, err := w.socket.ApplyJudge(t.Context(), "default", "good v2"); err != nil {
		t.Fatal(err)
	}
	v, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	ended(t, w.tcp, v.ID)
	return w, a, v.ID
}

func TestCompare(t *testing.T) {
	w, a, b := changed(t, 24)
	ctx := t.Context()
	raw, err := w.tcp.Compare(ctx, a, b, api.CompareQuery{Gates: []string{"drop > 0.02", "coverage < 0.95"}})
	if err != nil {
		t.Fatal(err)
	}
	var c compare.Comparison
	unmarshal(t, raw, &c)
	if c.A.Run != a || c.B.Run != b || c.Pairing.Key != compare.BySession || c.Pairing.Pairs != 24 || len(c.Differs) == 0 {
		t.Fatalf("%+v", c)
	}
	if pass := c.Criteria[0]; pass.Drop.Value == nil || *pass.Drop.Value != 1 || pass.Table == nil || pass.Table.Regressed != 24 {
		t.Errorf("pass: %+v", pass)
	}
	// They are of one user: nobody knows what another one would have seen.
	if len(c.Gates) != 2 || c.Gates[0].Decision != gate.Inconclusive || c.Gates[1].Decision != gate.Pass {
		t.Errorf("gates: %+v", c.Gates)
	}

	seen := map[string]bool{}
	var cursor string
	for range 30 {
		page, err := w.tcp.Flips(ctx, a, b, api.CompareQuery{}, api.FlipQuery{}, store.Page{Limit: 7, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Items {
			if f.Kind != compare.Regressed || f.A.Run != a || f.B.Run != b || f.A.Reason != "<because>" || f.A.Session != f.B.Session {
				t.Errorf("flip %+v", f)
			}
			seen[f.A.Session] = true
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 24 || cursor != "" {
		t.Errorf("%d flips in pages, next %q", len(seen), cursor)
	}
	if page, err := w.tcp.Flips(ctx, a, b, api.CompareQuery{}, api.FlipQuery{Criterion: "done", Kind: "fixed"}, store.Page{}); err != nil || len(page.Items) != 0 {
		t.Errorf("fixed: %+v, %v", page, err)
	}
}

// Where a flip is, its address answers.
func TestFlipsHaveAddresses(t *testing.T) {
	w, a, b := changed(t, 3)
	page, err := w.tcp.Flips(t.Context(), a, b, api.CompareQuery{}, api.FlipQuery{}, store.Page{Limit: 1})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, side := range []compare.FlipSide{page.Items[0].A, page.Items[0].B} {
		resp, err := http.Get("http://" + w.address + side.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", side.URL, resp.Status)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	w, a, b := changed(t, 6)
	ctx := t.Context()
	for name, q := range map[string]api.CompareQuery{
		"key":             {Key: "user"},
		"case":            {Key: "case"},
		"judge":           {JudgeA: "nobody"},
		"primary":         {Primary: "mood"},
		"confidence":      {Confidence: -1},
		"gate":            {Gates: []string{"drop"}},
		"gate of another": {Gates: []string{"lift < 0"}},
	} {
		if _, err := w.tcp.Compare(ctx, a, b, q); err == nil || assay.CodeOf(err) == assay.CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.tcp.Compare(ctx, a, a, api.CompareQuery{})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Compare(ctx, a, b+1, api.CompareQuery{})
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.Flips(ctx, a, b, api.CompareQuery{}, api.FlipQuery{Kind: "sideways"}, store.Page{})
	holds(t, err, assay.CodeInvalid)
}

func TestExportComparison(t *testing.T) {
	w, a, b := changed(t, 24)
	path := a.String() + "/compare/" + b.String()
	for format, want := range map[string]string{
		"text": " against ", "markdown": "# ", "html": "<!doctype html>", "csv": ",", "json": `"headline"`, "junit": `<testsuite name="assay compare`,
	} {
		body, h := fetched(t, w, path, url.Values{"format": {format}, "gate": {"drop > 0.02"}}, http.StatusOK)
		if !strings.Contains(body, want) || !strings.Contains(h.Get("Content-Disposition"), `"compare-`+a.String()+"-"+b.String()+".") {
			t.Errorf("%s: %v\n%s", format, h, body)
		}
	}
	body, _ := fetched(t, w, path, url.Values{"format": {"junit"}, "gate": {"drop > 0.02", "coverage < 0.5", "errors >= 0"}}, http.StatusOK)
	if !strings.Contains(body, `tests="4" failures="1" errors="1"`) {
		t.Errorf("junit:\n%s", body)
	}
	for n, want := range map[string]int{"3": 3, "": 20} {
		q := url.Values{"format": {"text"}}
		if n != "" {
			q.Set("flips", n)
		}
		if body, _ = fetched(t, w, path, q, http.StatusOK); strings.Count(body, "ann%2Fb/s") != want {
			t.Errorf("flips=%s: %d are listed, want %d\n%s", n, strings.Count(body, "ann%2Fb/s"), want, body)
		}
	}
}
