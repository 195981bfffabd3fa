package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
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

// A page of cases is bounded in bytes, whatever its limit; a list holds what a table shows, and one case is whole.
func TestPagesOfCasesAreBounded(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	id := external(t, w)
	long := strings.Repeat("0123456789abcdef", 128<<10/16)
	cases := make([]assay.Case, 100)
	for i := range cases {
		cases[i] = assay.Case{Key: fmt.Sprint("k", i), State: assay.ItemGraded, Pass: ptr(i%2 == 0), Input: long, Output: long, Expected: long, Model: "m",
			Findings: []assay.Finding{{Criterion: "ok", Value: []byte("false"), Applies: true, Reason: long[:16<<10]}}}
	}
	if _, err := w.tcp.Finish(ctx, id, engine.Finish{Cases: cases}); err != nil {
		t.Fatal(err)
	}
	path := "/runs/" + id.String() + "/cases?limit=1000"
	list, size := jsonOf(t, w, path)
	first := at(t, list, "items").([]any)[0]
	if size > 100*2000 || at(t, first, "input") != nil || at(t, first, "case") != "k0" || at(t, first, "model") != "m" || len(at(t, first, "findings").([]any)) != 1 {
		t.Errorf("heads in %d bytes, the first %v", size, first)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, size = jsonOf(t, w, path+"&full=true")
	runtime.ReadMemStats(&after)
	if size > 5<<20 || after.TotalAlloc-before.TotalAlloc > 100<<20 {
		t.Errorf("whole cases in %d bytes, with %d MiB of memory", size, (after.TotalAlloc-before.TotalAlloc)>>20)
	}
	for _, full := range []bool{false, true} {
		n := 0
		for p := (store.Page{Limit: 1000}); ; {
			page, err := w.tcp.Cases(ctx, id, api.CaseQuery{Full: full}, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.Items {
				if n++; c.Seq != int64(n) || (c.Output == long) != full || (len(c.Findings[0].Reason) == 16<<10) != full {
					t.Fatalf("full %t: case %d is %d, with %d bytes of output", full, n, c.Seq, len(c.Output))
				}
			}
			if p.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		if n != len(cases) {
			t.Errorf("full %t: %d cases", full, n)
		}
	}
	if c, err := w.tcp.Case(ctx, id, 7); err != nil || c.Input != long || len(c.Findings[0].Reason) != 16<<10 {
		t.Errorf("one case: %d bytes of input, %v", len(c.Input), err)
	}
}

func TestRunsOfASuiteAndOfASchedule(t *testing.T) {
	w, ctx := suited(t), t.Context()
	if _, err := w.socket.ApplySchedules(ctx, "default", file(t, definitions)); err != nil {
		t.Fatal(err)
	}
	var nightly, scheduled []assay.RunID // newest first
	for i := range 4 {
		var id assay.RunID
		if i%2 == 0 {
			r, err := w.tcp.RunSuite(ctx, "default", "nightly", engine.SuiteRequest{By: "schedule night"}, "")
			if err != nil {
				t.Fatal(err)
			}
			id = r.ID
		} else {
			r, err := w.tcp.RunSchedule(ctx, "default", "night", "ann", "")
			if err != nil {
				t.Fatal(err)
			}
			id, scheduled = r.ID, append([]assay.RunID{r.ID}, scheduled...)
		}
		nightly = append([]assay.RunID{id}, nightly...)
		if _, err := w.tcp.Cancel(ctx, id, false); err != nil {
			t.Fatal(err)
		}
		external(t, w)
	}
	for _, c := range []struct {
		q    api.RunQuery
		want []assay.RunID
	}{
		{api.RunQuery{Project: "default", Suite: "nightly"}, nightly}, {api.RunQuery{Suite: "nightly"}, nightly},
		{api.RunQuery{Project: "default", Schedule: "night"}, scheduled}, {api.RunQuery{Schedule: "night", Kind: assay.RunSuite}, scheduled},
		{api.RunQuery{Project: "default", Schedule: "night", States: []assay.RunState{assay.RunQueued}}, nil}, {api.RunQuery{Project: "default", Schedule: "nightly"}, nil},
	} {
		var got []assay.RunID
		for p := (store.Page{Limit: 1}); ; {
			page, err := w.tcp.Runs(ctx, c.q, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Items {
				got = append(got, r.ID)
			}
			if p.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.q, got, c.want)
		}
	}
}

// counted counts how often the facts of harnesses are asked for.
type counted struct {
	store.Store
	n *int
}

type countedHarnesses struct {
	store.Harnesses
	n *int
}

func (c counted) Harnesses() store.Harnesses { return countedHarnesses{c.Store.Harnesses(), c.n} }

func (c countedHarnesses) FactsOf(ctx context.Context, runs []assay.RunID) (map[assay.RunID]assay.Harness, error) {
	*c.n++
	return c.Harnesses.FactsOf(ctx, runs)
}

func TestSuitesAreListedWithOneLook(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	var def strings.Builder
	def.WriteString("suites:\n")
	for i := range 5 {
		fmt.Fprintf(&def, "  s%d:\n    command: [/bin/sh]\n", i)
	}
	if _, err := w.socket.ApplySuites(ctx, "default", file(t, def.String())); err != nil {
		t.Fatal(err)
	}
	runs := map[string]assay.RunID{}
	for _, name := range []string{"s0", "s2", "s4"} {
		r, err := w.tcp.RunSuite(ctx, "default", name, engine.SuiteRequest{}, "")
		if err != nil {
			t.Fatal(err)
		}
		runs[name] = r.ID
	}
	looks := 0
	_, address := serve(t, "tcp", "127.0.0.1:0", api.New(api.Services{Store: counted{w.store, &looks}, Now: now}))
	c, err := client.Server("http://"+address, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	list, err := c.Suites(ctx, "default")
	if err != nil || len(list) != 5 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, v := range list {
		id, ran := runs[v.Name]
		if (v.Newest != nil) != ran || ran && (v.Newest.ID != id || v.State != "queued" || v.Newest.Harness == nil) {
			t.Errorf("%s: %s %+v", v.Name, v.State, v.Newest)
		}
	}
	if looks != 1 {
		t.Errorf("%d looks", looks)
	}
}

// A chart of several metrics is one request; names may hold what lists and addresses are cut at.
func TestPointsOfSeveralMetrics(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	id := external(t, w)
	names := []string{"eval/acc, all", "loss&x=1", "never"}
	for i := range 3 {
		at := now().Add(time.Duration(i) * time.Second)
		if _, err := w.tcp.SendReport(ctx, id, api.ExternalReport{Metrics: []api.ReportedMetric{{Name: names[0], Value: float64(i), At: &at}, {Name: names[1], Value: float64(-i), At: &at}}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.tcp.Points(ctx, id, names, 2)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range [][]float64{{1, 2}, {-1, -2}, {}} {
		values := []float64{}
		for _, p := range got[i].Points {
			values = append(values, p.Value)
		}
		if got[i].Name != names[i] || !slices.Equal(values, want) {
			t.Errorf("%s: %v, want %v", got[i].Name, values, want)
		}
	}
	_, err = w.tcp.Points(ctx, id, nil, 2)
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Points(ctx, id, make([]string, 51), 2)
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Points(ctx, id+1, names, 2)
	holds(t, err, assay.CodeNotFound)
}
