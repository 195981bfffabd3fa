package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

type labelListInput struct {
	ProjectInput
	PageInput
}

func (s *server) labelRoutes(a huma.API) {
	tags := []string{"labels"}
	route(s, a, huma.Operation{OperationID: "list-labels", Method: http.MethodGet, Path: "/projects/{project}/labels", Tags: tags,
		Summary: "List labels, oldest first"},
		func(ctx context.Context, in *labelListInput) (*answer[Page[assay.Label]], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			labels, next, err := s.Store.Labels().List(ctx, p.ID, store.LabelQuery{}, in.page())
			return say(pageOf(labels, next), err)
		})
	route(s, a, huma.Operation{OperationID: "tally-labels", Method: http.MethodGet, Path: "/projects/{project}/labels/tally", Tags: tags,
		Summary: "Count labels per criterion, rater and value"},
		func(ctx context.Context, in *ProjectInput) (*answer[Page[store.LabelTally]], error) {
			p, err := s.project(ctx, *in)
			if err != nil {
				return nil, err
			}
			tally, err := s.Store.Labels().Tally(ctx, p.ID)
			return say(pageOf(tally, ""), err)
		})
}
