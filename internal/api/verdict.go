package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

type verdictListInput struct {
	RunInput
	PageInput
	Judge  int    `query:"judge" minimum:"0" doc:"index + 1 of one of the run's judges; absent: all"`
	Accept string `header:"Accept" doc:"application/x-ndjson: every verdict, one a line, in one answer"`
}

func (s *server) verdictRoutes(a huma.API) {
	page := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Page[assay.Verdict]](), true, "PageVerdict")
	line := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[assay.Verdict](), true, "Verdict")
	route(s, a, huma.Operation{OperationID: "list-verdicts", Method: http.MethodGet, Path: "/runs/{run}/verdicts", Tags: []string{"runs"},
		Summary:     "List or export a run's verdicts, reused ones included",
		Description: "With Accept: application/x-ndjson all of them are streamed, one a line; limit and cursor do not count then. An export that breaks off ends the connection without its last chunk.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: page}, ndjson: {Schema: line}},
		}}},
		func(ctx context.Context, in *verdictListInput) (*huma.StreamResponse, error) {
			return s.verdicts(ctx, in)
		})
}

func (s *server) verdicts(ctx context.Context, in *verdictListInput) (*huma.StreamResponse, error) {
	run, err := s.run(ctx, in.RunInput)
	if err != nil {
		return nil, err
	}
	export := strings.Contains(in.Accept, ndjson)
	if export {
		in.PageInput = PageInput{Limit: MaxLimit}
	}
	q := store.VerdictQuery{Run: run.ID, Judge: in.Judge}
	// The first page is read here, where an error can still be told.
	verdicts, next, err := s.Store.Verdicts().List(ctx, q, in.page())
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		if export {
			s.exportVerdicts(hc, q, verdicts, next)
			return
		}
		hc.SetHeader("Content-Type", "application/json")
		_ = huma.DefaultJSONFormat.Marshal(hc.BodyWriter(), pageOf(verdicts, next)) // a client that left hears nothing
	}}, nil
}

// exportVerdicts streams page after page. Half an export must not look whole: an error ends the
// connection.
func (s *server) exportVerdicts(hc huma.Context, q store.VerdictQuery, verdicts []assay.Verdict, next string) {
	hc.SetHeader("Content-Type", ndjson)
	lines := json.NewEncoder(hc.BodyWriter())
	lines.SetEscapeHTML(false)
	for {
		for i := range verdicts {
			if lines.Encode(&verdicts[i]) != nil {
				panic(http.ErrAbortHandler)
			}
		}
		if next == "" {
			return
		}
		var err error
		verdicts, next, err = s.Store.Verdicts().List(hc.Context(), q, store.Page{Cursor: next, Limit: MaxLimit})
		if err != nil {
			s.Log.ErrorContext(hc.Context(), "export broke off", "run", q.Run, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}
