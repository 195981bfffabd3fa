package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
)

// jsonOf reads a JSON answer as whoever has no Go client does.
func jsonOf(t testing.TB, w *world, path string) (body map[string]any, size int) {
	t.Helper()
	resp, err := http.Get("http://" + w.address + api.Root + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %.300s, %v", path, resp.Status, raw, err)
	}
	unmarshal(t, raw, &body)
	return body, len(raw)
}

// at goes down an answer by the names of its members.
func at(t testing.TB, body any, names ...string) any {
	t.Helper()
	for _, name := range names {
		m, ok := body.(map[string]any)
		if !ok {
			t.Fatalf("%v: nothing in which %s could be", names, name)
		}
		body = m[name]
	}
	return body
}

// A dashboard reads these names: one word for one thing, seconds end with _s.
func TestNamesInTheJSONOfASuite(t *testing.T) {
	w, ctx := suited(t), t.Context()
	r, err := w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{Params: map[string]json.RawMessage{"limit": json.RawMessage("7")}}, "")
	if err != nil {
		t.Fatal(err)
	}
	run, _ := jsonOf(t, w, "/runs/"+r.ID.String())
	if at(t, run, "suite", "name") != "nightly" || at(t, run, "suite", "suite") != nil || at(t, run, "suite", "definition", "grace_s") != 10.0 {
		t.Errorf("suite: %v", run["suite"])
	}
	if _, ok := at(t, run, "harness").(map[string]any); !ok || at(t, run, "harness", "attempt") != nil {
		t.Errorf("harness: %v", run["harness"])
	}
	id := external(t, w)
	took := 1.5
	if _, err := w.tcp.Finish(ctx, id, engine.Finish{Cases: []assay.Case{{Key: "a", State: assay.ItemGraded, Pass: ptr(true), Seconds: &took}}}); err != nil {
		t.Fatal(err)
	}
	if c, _ := jsonOf(t, w, "/runs/"+id.String()+"/cases/1"); c["duration_s"] != 1.5 || c["seconds"] != nil {
		t.Errorf("case: %v", c)
	}
	if ended, _ := jsonOf(t, w, "/runs/"+id.String()); at(t, ended, "harness", "exit", "cause") != "itself" {
		t.Errorf("exit: %v", at(t, ended, "harness", "exit"))
	}
	doc, _ := jsonOf(t, w, "/../../openapi.json")
	if schemas := at(t, doc, "components", "schemas"); at(t, schemas, "SuiteFacts") != nil || at(t, schemas, "Harness") == nil {
		t.Error("the member is harness, and its schema has another name")
	}
}

// A list of runs holds what a line of a table shows, however much a harness said; one run is whole.
func TestRowsOfRunsAreSlim(t *testing.T) {
	w, ctx := suited(t), t.Context()
	q := engine.ExternalRequest{Name: "big", Argv: []string{strings.Repeat("a", 100_000)}, Env: []string{"A=" + strings.Repeat("b", 100_000)},
		Params: map[string]json.RawMessage{"p": []byte(`"` + strings.Repeat("c", 100_000) + `"`)}}
	var report api.ExternalReport
	for i := range assay.MaxMetrics {
		report.Metrics = append(report.Metrics, api.ReportedMetric{Name: fmt.Sprintf("m%d%s", i, strings.Repeat("x", 100)), Value: 1})
	}
	for i := range assay.MaxLinks {
		report.Links = append(report.Links, assay.Link{URL: fmt.Sprintf("https://x.example/%d", i), Text: strings.Repeat("t", 400)})
	}
	var id assay.RunID
	for range 3 {
		r, err := w.tcp.StartExternal(ctx, "default", q, "")
		if err != nil {
			t.Fatal(err)
		}
		id = r.ID
		if _, err := w.tcp.SendReport(ctx, id, report); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/runs", "/projects/default/runs"} {
		list, size := jsonOf(t, w, path)
		if n := len(at(t, list, "items").([]any)); n != 3 || size > 3*2000 {
			t.Errorf("%s: %d rows in %d bytes", path, n, size)
		}
	}
	one, _ := jsonOf(t, w, "/runs/"+id.String())
	for _, names := range [][]string{{"suite", "argv"}, {"suite", "params"}, {"harness", "env"}, {"harness", "metrics"}, {"harness", "links"}} {
		if at(t, one, names...) == nil {
			t.Errorf("%v is not in the answer for one run", names)
		}
	}
	if n := len(at(t, one, "harness", "metrics").([]any)); n != assay.MaxMetrics {
		t.Errorf("%d metrics", n)
	}
	if _, err := w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{}, ""); err != nil {
		t.Fatal(err)
	}
	list, _ := jsonOf(t, w, "/projects/default/suites")
	if newest := at(t, at(t, list, "items").([]any)[0], "newest"); at(t, newest, "suite", "name") != "nightly" || at(t, newest, "suite", "definition") != nil || at(t, newest, "suite", "params") == nil {
		t.Errorf("newest: %v", newest)
	}
	overview, size := jsonOf(t, w, "/overview")
	if n := len(at(t, overview, "active").([]any)); n != 4 || size > 20_000 {
		t.Errorf("overview: %d runs in %d bytes", n, size)
	}
}
