package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
)

// document renders the OpenAPI document, indented and with sorted keys, so that a change of a route
// is a readable difference.
func document(a huma.API) ([]byte, error) {
	raw, err := json.Marshal(a.OpenAPI())
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "render the API document: %w", err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "render the API document: %w", err)
	}
	raw, err = json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "render the API document: %w", err)
	}
	return append(raw, '\n'), nil
}

// serveDocument renders the document when it is first asked for: a start must not wait for it.
func serveDocument(a huma.API) http.HandlerFunc {
	render := sync.OnceValues(func() ([]byte, error) { return document(a) })
	return func(w http.ResponseWriter, r *http.Request) {
		raw, err := render()
		if err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw)
	}
}

// reportNouns are the first words of what the rooms of package report say, which share nouns with each other and with
// package assay, such as Judge and Criterion.
var reportNouns = map[string]string{
	"":         "Report",
	"/check":   "JudgeCheck",
	"/compare": "Comparison",
	"/extract": "Extract",
	"/gate":    "Gate",
	"/propose": "Proposal",
}

// schemaName keeps the report's nouns apart from the equally named ones that they sum up.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	room, ok := strings.CutPrefix(t.PkgPath(), "assay/internal/report")
	first := reportNouns[room]
	if !ok || strings.HasPrefix(name, first) {
		return name
	}
	if strings.HasSuffix(first, name) {
		return first
	}
	return first + name
}

// dollars is how an amount of assay.USD looks in JSON: a number, though it is an integer in Go.
type dollars struct{}

func (dollars) Schema(huma.Registry) *huma.Schema {
	least := 0.0
	return &huma.Schema{Type: huma.TypeNumber, Minimum: &least, Description: "US dollars, with at most nine decimals"}
}

// seconds is how an assay.Seconds looks in JSON: a number, though it is an integer in Go.
type seconds struct{}

func (seconds) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Description: "seconds"}
}

// problemResponse documents how every error leaves.
func problemResponse(a huma.API) *huma.Response {
	return &huma.Response{
		Description: "Error",
		Content: map[string]*huma.MediaType{
			ProblemType: {Schema: a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")},
		},
	}
}

// dropHumaErrors removes the schemas of huma's own error from the document: it never leaves.
func dropHumaErrors(a huma.API) {
	schemas := a.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	raw, err := json.Marshal(p)
	if err != nil {
		raw = []byte(`{"code":"internal"}`)
	}
	w.Header().Set("Content-Type", ProblemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(raw, '\n'))
}
