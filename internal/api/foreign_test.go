package api_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/store"
)

// TestForeignPagesReachNothing: what a browser sends for a page of another origin, and for one whose
// name was made to point here, reads nothing and starts nothing on any route of the document.
func TestForeignPagesReachNothing(t *testing.T) {
	w := stocked(t, 3)
	w.judge.open()
	g, err := w.socket.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	before := ended(t, w.socket, g.ID)
	fill := strings.NewReplacer("{project}", "default", "{run}", g.ID.String(), "{seq}", "1", "{judge}", "good", "{user}", "ann%2Fb",
		"{session}", "s0001", "{import}", "1", "{set}", "x")
	attacks := map[string]map[string]string{
		"another origin":              {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
		"another origin, old browser": {"Origin": "http://evil.example"},
		"another port of localhost":   {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
		"a rebound name":              {"Host": "evil.example", "Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
		"a rebound name reads":        {"Host": "evil.example", "Sec-Fetch-Site": "same-origin"},
	}
	routes := append(documented(t), "GET /openapi.json", "GET /healthz")
	for name, header := range attacks {
		for _, route := range routes {
			method, path, _ := strings.Cut(route, " ")
			body := `{"judges":["good"],"source":"evil v1","name":"evil"}`
			req, err := http.NewRequest(method, "http://"+w.address+fill.Replace(path), strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			for k, v := range header {
				req.Header.Set(k, v)
			}
			if host := header["Host"]; host != "" {
				req.Host = host
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			raw, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" || !bytes.Contains(raw, []byte(`"code":"forbidden"`)) {
				t.Errorf("%s: %s: %s %s", name, route, resp.Status, raw)
			}
		}
	}
	runs, err := w.socket.Runs(t.Context(), api.RunQuery{}, store.Page{})
	if err != nil || len(runs.Items) != 1 || runs.Items[0].Revision != before.Revision {
		t.Errorf("%+v, %v", runs, err)
	}
	if projects, err := w.socket.Projects(t.Context()); err != nil || len(projects) != 1 {
		t.Errorf("%+v, %v", projects, err)
	}
	if judges, err := w.socket.Judges(t.Context(), "default"); err != nil || len(judges) != 1 {
		t.Errorf("%+v, %v", judges, err)
	}
}

// documented lists the routes of the API document as "METHOD /path".
func documented(t *testing.T) (routes []string) {
	t.Helper()
	doc, err := api.Document()
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	unmarshal(t, doc, &o)
	for path, methods := range o.Paths {
		for method := range methods {
			routes = append(routes, strings.ToUpper(method)+" "+path)
		}
	}
	return routes
}
