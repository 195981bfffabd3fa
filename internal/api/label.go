package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// LabelQuery selects labels. Zero fields select all.
type LabelQuery struct {
	Criterion string         `json:"criterion,omitempty" query:"criterion"`
	Rater     string         `json:"rater,omitempty" query:"rater"`
	Use       assay.LabelUse `json:"use,omitempty" query:"use" enum:"measure,queue,prompt"`
	Draw      int64          `json:"draw,omitempty" query:"draw" minimum:"0" doc:"labels of this draw"`
	Session   string         `json:"session,omitempty" query:"session" doc:"USER/ID: labels on any of its contents"`
}

func (q LabelQuery) in() (out store.LabelQuery, err error) {
	out = store.LabelQuery{Criterion: q.Criterion, Rater: q.Rater, Use: q.Use, Draw: q.Draw}
	if q.Session != "" {
		out.User, out.Session, err = assay.ParseSessionName(q.Session)
	}
	return out, err
}

// LabelMark gives labels another use.
type LabelMark struct {
	Labels LabelQuery     `json:"labels" doc:"which; a rater, a draw, a session or a criterion must be named"`
	Use    assay.LabelUse `json:"use" enum:"measure,queue,prompt" doc:"prompt: the judge was written with them, so they enter no estimate of it"`
}

// LabelsChanged counts labels.
type LabelsChanged struct {
	Labels int64 `json:"labels" doc:"how many were removed, or got another use"`
}

type labelListInput struct {
	ProjectInput
	LabelQuery
	PageInput
}

type putLabelsInput struct {
	ProjectInput
	Body NewLabels
}

type removeLabelsInput struct {
	ProjectInput
	LabelQuery
}

type markLabelsInput struct {
	ProjectInput
	Body LabelMark
}

func (s *server) labelRoutes(a huma.API) {
	tags := []string{"labels"}
	route(s, a, huma.Operation{OperationID: "list-labels", Method: http.MethodGet, Path: "/projects/{project}/labels", Tags: tags,
		Summary: "List labels, oldest first"},
		func(ctx context.Context, in *labelListInput) (*answer[Page[assay.Label]], error) {
			return say(s.listLabels(ctx, in))
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
	route(s, a, huma.Operation{OperationID: "put-labels", Method: http.MethodPost, Path: "/projects/{project}/labels", Tags: tags,
		Summary: "Store labels and say what became of each",
		Description: "A rater's new answer about the same content, criterion and wording replaces the old one, but not how its content was chosen: " +
			"probability, draw and use stay unless a draw that is a probability sample is named. What is refused keeps none of the others out.",
		MaxBodyBytes: 32 << 20},
		func(ctx context.Context, in *putLabelsInput) (*answer[LabelOutcomes], error) {
			return say(s.putLabels(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "remove-labels", Method: http.MethodDelete, Path: "/projects/{project}/labels", Tags: tags,
		Summary: "Remove the labels of a rater, a draw or a session", Description: "One of the three must be named."},
		func(ctx context.Context, in *removeLabelsInput) (*answer[LabelsChanged], error) {
			return say(s.removeLabels(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "mark-labels", Method: http.MethodPost, Path: "/projects/{project}/labels/mark", Tags: tags,
		Summary: "Say what labels may be used for"},
		func(ctx context.Context, in *markLabelsInput) (*answer[LabelsChanged], error) {
			return say(s.markLabels(ctx, in))
		})
	s.drawRoutes(a)
	s.checkRoutes(a)
}

func (s *server) listLabels(ctx context.Context, in *labelListInput) (page Page[assay.Label], err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return page, err
	}
	q, err := in.LabelQuery.in()
	if err != nil {
		return page, err
	}
	labels, next, err := s.Store.Labels().List(ctx, p.ID, q, in.page())
	return pageOf(labels, next), err
}

func (s *server) removeLabels(ctx context.Context, in *removeLabelsInput) (c LabelsChanged, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return c, err
	}
	q, err := in.LabelQuery.in()
	if err != nil {
		return c, err
	}
	c.Labels, err = s.Store.Labels().Remove(ctx, p.ID, q)
	return c, err
}

func (s *server) markLabels(ctx context.Context, in *markLabelsInput) (c LabelsChanged, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return c, err
	}
	q, err := in.Body.Labels.in()
	if err != nil {
		return c, err
	}
	if q.Criterion == "" && q.Rater == "" && q.Draw == 0 && q.Session == "" {
		return c, assay.Errorf(assay.CodeInvalid, "no labels are named").WithHint("name a criterion, a rater, a draw or a session")
	}
	c.Labels, err = s.Store.Labels().Mark(ctx, p.ID, q, in.Body.Use)
	return c, err
}
