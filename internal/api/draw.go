package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/report/draw"
)

// NewDraw says which graded sessions are to be labelled.
type NewDraw struct {
	Run       assay.RunID      `json:"run" doc:"whose graded sessions are drawn from"`
	Judge     string           `json:"judge,omitempty" doc:"one of the run's; absent where it has one"`
	Criterion string           `json:"criterion,omitempty" doc:"absent: pass"`
	Method    assay.DrawMethod `json:"method,omitempty" enum:"random,verdicts,disagreements" doc:"absent: random. verdicts: half among those that the judge passed, half among those that it failed. disagreements: where judges, or a judge and a label, disagree; no estimate takes their labels"`
	N         int              `json:"n,omitempty" minimum:"0" maximum:"10000" doc:"absent: 100"`
	Seed      string           `json:"seed,omitempty" maxLength:"256" doc:"absent: a fixed one"`
	Against   assay.RunID      `json:"against,omitempty" doc:"of disagreements: another run of the same sessions; absent: the labels"`
	By        string           `json:"by,omitempty" maxLength:"256" doc:"who asks"`
}

// defaultDraw is how many sessions are drawn where nobody says.
const defaultDraw = 100

type newDrawInput struct {
	ProjectInput
	Body NewDraw
}

// DrawInput names one draw.
type DrawInput struct {
	ProjectInput
	Draw int64 `path:"draw" minimum:"1"`
}

type drawListInput struct {
	ProjectInput
	PageInput
}

type drawMembersInput struct {
	DrawInput
	PageInput
	Open  bool   `query:"open" doc:"only those without a label of the draw's criterion"`
	Rater string `query:"rater" doc:"with open: without one by this rater"`
}

func (s *server) drawRoutes(a huma.API) {
	tags := []string{"labels"}
	route(s, a, huma.Operation{OperationID: "list-draws", Method: http.MethodGet, Path: "/projects/{project}/draws", Tags: tags,
		Summary: "List draws, newest first"},
		func(ctx context.Context, in *drawListInput) (*answer[Page[assay.Draw]], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			draws, next, err := s.Store.Labels().Draws(ctx, p.ID, in.page())
			return say(pageOf(draws, next), err)
		})
	route(s, a, huma.Operation{OperationID: "create-draw", Method: http.MethodPost, Path: "/projects/{project}/draws", Tags: tags,
		Summary: "Choose graded sessions to be labelled, and keep the probability of each", DefaultStatus: http.StatusCreated},
		func(ctx context.Context, in *newDrawInput) (*answer[assay.Draw], error) {
			return say(s.createDraw(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "get-draw", Method: http.MethodGet, Path: "/projects/{project}/draws/{draw}", Tags: tags,
		Summary: "Show a draw"},
		func(ctx context.Context, in *DrawInput) (*answer[assay.Draw], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			return say(s.Store.Labels().Draw(ctx, p.ID, in.Draw))
		})
	route(s, a, huma.Operation{OperationID: "list-draw-members", Method: http.MethodGet, Path: "/projects/{project}/draws/{draw}/members", Tags: tags,
		Summary: "List what was drawn, in the order in which it should be labelled", Description: "Any beginning of a draw is a draw of fewer."},
		func(ctx context.Context, in *drawMembersInput) (*answer[Page[assay.DrawMember]], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			members, next, err := s.Store.Labels().Members(ctx, p.ID, in.Draw, in.Open, in.Rater, in.page())
			return say(pageOf(members, next), err)
		})
}

func (s *server) createDraw(ctx context.Context, in *newDrawInput) (d assay.Draw, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return d, err
	}
	b := in.Body
	run, err := s.runOf(ctx, p, b.Run)
	if err != nil {
		return d, err
	}
	q := draw.Request{Run: run, Judge: b.Judge, Criterion: b.Criterion, Method: b.Method, N: b.N, Seed: b.Seed, By: b.By}
	if q.Method == "" {
		q.Method = assay.DrawRandom
	}
	if q.N == 0 {
		q.N = defaultDraw
	}
	if b.Against != 0 {
		against, err := s.runOf(ctx, p, b.Against)
		if err != nil {
			return d, err
		}
		q.Against = &against
	}
	d, members, err := draw.Sample(ctx, s.Store, p, q)
	if err != nil {
		return d, err
	}
	return s.Store.Labels().CreateDraw(ctx, p.ID, d, members, s.Now())
}

// runOf is a run of a project.
func (s *server) runOf(ctx context.Context, p assay.Project, id assay.RunID) (assay.Run, error) {
	run, err := s.Store.Runs().Get(ctx, id)
	if err == nil && run.ProjectID != p.ID {
		err = assay.Errorf(assay.CodeNotFound, "project %s has no run %s", p.Name, id).WithHint("`assay runs` lists its runs")
	}
	return run, err
}
