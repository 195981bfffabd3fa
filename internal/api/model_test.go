package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

func TestModels(t *testing.T) {
	w := stocked(t, 2)
	ctx := t.Context()
	if _, err := w.socket.ApplyJudge(ctx, "default", "asks llm1"); err != nil {
		t.Fatal(err)
	}
	models, err := w.tcp.Models(ctx, "default")
	if err != nil || len(models) != 1 || models[0].ModelKey != known || models[0].Judges[0] != "asks" || models[0].Price != nil || models[0].Limiter.InFlight != 3 || models[0].Settings != nil {
		t.Fatalf("%+v, %v", models, err)
	}
	if models, err = w.tcp.Models(ctx, ""); err != nil || len(models) != 0 {
		t.Errorf("without a project: %+v, %v", models, err)
	}
	_, err = w.tcp.Models(ctx, "nothing")
	holds(t, err, assay.CodeNotFound)

	before := time.Now().Add(-time.Second)
	cached := assay.Dollar / 10
	put := api.ModelPut{ModelKey: assay.ModelKey{Endpoint: known.Endpoint + "/", Model: "m"}, Limits: assay.Limits{RequestsPerMinute: 300, Concurrency: 7},
		Price: &assay.Price{Input: assay.Dollar, Cached: &cached, Output: 2 * assay.Dollar}, ContextTokens: 32_000}
	m, err := w.tcp.PutModel(ctx, put)
	if err != nil || m.ModelKey != known || m.Settings.Limits != put.Limits || m.Settings.ContextTokens != 32_000 {
		t.Fatalf("%+v, %v", m, err)
	}
	if p := m.Settings.Price; p.Source != "set" || p.AsOf == nil || p.AsOf.Before(before) || *p.Cached != cached || p.Output != 2*assay.Dollar {
		t.Errorf("%+v", p)
	}
	if w.models.reloaded.Load() != 1 {
		t.Errorf("told %d times", w.models.reloaded.Load())
	}
	if m, err = w.tcp.Model(ctx, "default", known); err != nil || m.Settings == nil || m.Judges[0] != "asks" {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = w.tcp.Model(ctx, "", assay.ModelKey{Endpoint: "http://model/v1", Model: "priced"}); err != nil || m.Price == nil || m.Limiter != nil {
		t.Errorf("what only the catalogue knows: %+v, %v", m, err)
	}
	if err := w.tcp.DeleteModel(ctx, known); err != nil || w.models.reloaded.Load() != 2 {
		t.Errorf("%v, told %d times", err, w.models.reloaded.Load())
	}
	holds(t, w.tcp.DeleteModel(ctx, known), assay.CodeNotFound)
	_, err = w.tcp.Model(ctx, "", assay.ModelKey{Endpoint: "http://nobody/v1", Model: "m"})
	holds(t, err, assay.CodeNotFound)
}

func TestModelsThatNobodyMeans(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for name, change := range map[string]func(*api.ModelPut){
		"no address":       func(m *api.ModelPut) { m.Endpoint = "model" },
		"no model":         func(m *api.ModelPut) { m.Model = "" },
		"nothing":          func(m *api.ModelPut) { m.Limits = assay.Limits{} },
		"a negative limit": func(m *api.ModelPut) { m.Limits.TokensPerMinute = -1 },
		"too many":         func(m *api.ModelPut) { m.Limits.Concurrency = assay.MaxConcurrency + 1 },
		"a dear price":     func(m *api.ModelPut) { m.Price = &assay.Price{Input: 2 * assay.MaxUSD} },
		"a context":        func(m *api.ModelPut) { m.ContextTokens = -1 },
	} {
		m := api.ModelPut{ModelKey: known, Limits: assay.Limits{Concurrency: 1}}
		change(&m)
		_, err := w.tcp.PutModel(ctx, m)
		if assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.models.reloaded.Load() != 0 {
		t.Error("something was set")
	}
	for _, body := range []string{`{"endpoint":"http://m","model":"m","price":{"input_per_million":-1,"output_per_million":1}}`,
		`{"endpoint":"http://m","model":"m","price":{"input_per_million":0.0000000001,"output_per_million":1}}`,
		`{"endpoint":"http://m","model":"m","price":{"input_per_million":null,"output_per_million":1}}`} {
		resp := send(t, w, http.MethodPut, "/api/v1/models", body)
		if resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %s", body, resp.Status)
		}
	}
	resp := send(t, w, http.MethodGet, "/api/v1/models?model=m", "")
	if resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a model without its endpoint: %s", resp.Status)
	}
}

// send makes a request over TCP as a program would.
func send(t *testing.T, w *world, method, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}
