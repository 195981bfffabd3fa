package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

const documentFile = "../../docs/openapi.json"

func TestDocumentIsUpToDate(t *testing.T) {
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(documentFile, doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored, doc) {
		t.Errorf("%s does not describe these routes; `go test ./internal/api -run Document -update` writes it", documentFile)
	}
}

func TestDocumentIsSameEveryTime(t *testing.T) {
	one, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if other, err := Document(); err != nil || !bytes.Equal(one, other) {
			t.Fatal("two renderings differ")
		}
	}
}

// TestSchemasCompile: 3.1 schemas are JSON Schema 2020-12.
func TestSchemasCompile(t *testing.T) {
	o, doc := parseDocument(t)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	for name := range o.Components.Schemas {
		if _, err := c.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
}

type openAPI struct {
	OpenAPI string
	Info    struct{ Title, Version string }
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Parameters  []struct {
			Name, In string
			Required bool
		}
		Responses map[string]struct {
			Description string
			Content     map[string]json.RawMessage
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }
}

func parseDocument(t *testing.T) (openAPI, []byte) {
	t.Helper()
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	var o openAPI
	if err := json.Unmarshal(doc, &o); err != nil {
		t.Fatal(err)
	}
	return o, doc
}

// TestDocumentHolds checks what the OpenAPI 3.1 schema asks for and generators trip over.
func TestDocumentHolds(t *testing.T) {
	o, doc := parseDocument(t)
	if !strings.HasPrefix(o.OpenAPI, "3.1.") || o.Info.Title == "" || o.Info.Version == "" {
		t.Errorf("openapi %q, info %+v", o.OpenAPI, o.Info)
	}
	names := map[string]string{}
	for path, methods := range o.Paths {
		for method, op := range methods {
			where := method + " " + path
			if op.Summary == "" || op.OperationID == "" {
				t.Errorf("%s lacks a summary or an id", where)
			}
			if other, ok := names[op.OperationID]; ok {
				t.Errorf("%s and %s are both called %s", where, other, op.OperationID)
			}
			names[op.OperationID] = where
			declared := map[string]bool{}
			for _, p := range op.Parameters {
				if p.In == "path" {
					declared[p.Name] = true
					if !p.Required {
						t.Errorf("%s: path parameter %s is not required", where, p.Name)
					}
				}
			}
			for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
				if !declared[m[1]] {
					t.Errorf("%s does not declare %s", where, m[1])
				}
			}
			ok := false
			for status, r := range op.Responses {
				ok = ok || strings.HasPrefix(status, "2")
				if r.Description == "" {
					t.Errorf("%s: response %s lacks a description", where, status)
				}
			}
			if _, problem := op.Responses["default"].Content[ProblemType]; !ok || !problem {
				t.Errorf("%s: no success or no problem among its responses", where)
			}
		}
	}
	for _, m := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllSubmatch(doc, -1) {
		if _, ok := o.Components.Schemas[string(m[1])]; !ok {
			t.Errorf("schema %s is referred to and missing", m[1])
		}
	}
}

// TestDocumentNamesEveryRoute asks the handler itself: every documented route is served, and
// nothing else under the root is.
func TestDocumentNamesEveryRoute(t *testing.T) {
	o, _ := parseDocument(t)
	want := []string{
		"GET /owner", "GET /check", "GET /overview",
		"GET /projects", "POST /projects", "GET /projects/{project}", "PATCH /projects/{project}", "DELETE /projects/{project}",
		"GET /projects/{project}/sessions", "GET /projects/{project}/sessions/{user}/{session}", "GET /projects/{project}/sessions/{user}/{session}/verdicts",
		"GET /projects/{project}/imports", "POST /projects/{project}/imports", "GET /projects/{project}/imports/{import}/rejects",
		"GET /projects/{project}/sets", "POST /projects/{project}/sets", "POST /projects/{project}/sets/{set}/members",
		"GET /projects/{project}/labels", "GET /projects/{project}/labels/tally",
		"POST /projects/{project}/labels", "DELETE /projects/{project}/labels", "POST /projects/{project}/labels/mark",
		"GET /projects/{project}/draws", "POST /projects/{project}/draws", "GET /projects/{project}/draws/{draw}", "GET /projects/{project}/draws/{draw}/members",
		"GET /projects/{project}/judges/{judge}/check", "GET /projects/{project}/judges/{judge}/check/disagreements",
		"GET /projects/{project}/judges", "PUT /projects/{project}/judges", "GET /projects/{project}/judges/{judge}",
		"POST /projects/{project}/plan", "GET /projects/{project}/runs", "POST /projects/{project}/runs",
		"GET /runs", "GET /runs/{run}", "PATCH /runs/{run}", "GET /runs/{run}/items", "GET /runs/{run}/items/{seq}",
		"GET /runs/{run}/verdicts", "GET /runs/{run}/report", "GET /runs/{run}/report/export", "GET /runs/{run}/compare/{other}", "GET /runs/{run}/compare/{other}/flips",
		"GET /runs/{run}/compare/{other}/export", "GET /runs/{run}/events",
		"POST /runs/{run}/cancel", "POST /runs/{run}/pause", "POST /runs/{run}/resume", "POST /runs/{run}/end", "POST /runs/{run}/retry",
		"GET /runs/{run}/items/{seq}/exchange", "POST /projects/{project}/judges/try", "POST /projects/{project}/providers/check",
		"GET /projects/{project}/spend", "GET /models", "PUT /models", "DELETE /models",
		"GET /projects/{project}/suites", "PUT /projects/{project}/suites", "GET /projects/{project}/suites/{suite}", "DELETE /projects/{project}/suites/{suite}",
		"POST /projects/{project}/suites/{suite}/runs", "POST /projects/{project}/external", "POST /runs/{run}/reports", "POST /runs/{run}/finish",
		"GET /projects/{project}/schedules", "PUT /projects/{project}/schedules", "GET /projects/{project}/schedules/{schedule}",
		"DELETE /projects/{project}/schedules/{schedule}", "POST /projects/{project}/schedules/{schedule}/pause",
		"POST /projects/{project}/schedules/{schedule}/resume", "POST /projects/{project}/schedules/{schedule}/run",
		"GET /runs/{run}/log", "GET /runs/{run}/log/raw", "GET /runs/{run}/log/search", "GET /runs/{run}/log/events",
		"GET /runs/{run}/cases", "GET /runs/{run}/cases/{seq}", "GET /runs/{run}/metrics", "GET /runs/{run}/points",
	}
	got := 0
	for _, methods := range o.Paths {
		got += len(methods)
	}
	if got != len(want) {
		t.Errorf("the document names %d routes, the test %d", got, len(want))
	}
	for _, r := range want {
		method, path, _ := strings.Cut(r, " ")
		if _, ok := o.Paths[Root+path][strings.ToLower(method)]; !ok {
			t.Errorf("the document does not name %s", r)
		}
	}
}

func TestUnknownRouteIsAProblem(t *testing.T) {
	h := New(Services{})
	for _, r := range []string{"GET /api/v1/nothing", "GET /api/v2/runs", "DELETE /api/v1/owner", "GET /docs", "GET /schemas/Run.json"} {
		method, path, _ := strings.Cut(r, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusNotFound || p.Code != "not_found" || w.Header().Get("Content-Type") != ProblemType {
			t.Errorf("%s: %d %s", r, w.Code, w.Body)
		}
	}
}

// BenchmarkNew guards the time to the first answer: the document is rendered when it is asked for.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(Services{})
	}
}

func BenchmarkDocument(b *testing.B) {
	for b.Loop() {
		if _, err := Document(); err != nil {
			b.Fatal(err)
		}
	}
}
