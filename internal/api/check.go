package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/report/check"
)

// CheckInput names the judge that is checked.
type CheckInput struct {
	ProjectInput
	Judge string `path:"judge"`
}

// CheckQuery says what is asked of a check.
type CheckQuery struct {
	Run       string `query:"run" example:"r17" doc:"whose verdicts are checked; absent: the newest ended grade run of the judge's version"`
	Criterion string `query:"criterion" doc:"absent: pass"`
	Rater     string `query:"rater" doc:"only labels of this rater; absent: raters are resolved"`
	From      string `query:"from" example:"r3" doc:"correct the run's rate by labels on this other run's verdicts"`
}

type checkJudgeInput struct {
	CheckInput
	CheckQuery
}

type disagreementsInput struct {
	CheckInput
	CheckQuery
	PageInput
}

func (s *server) checkRoutes(a huma.API) {
	tags := []string{"judges"}
	route(s, a, huma.Operation{OperationID: "check-judge", Method: http.MethodGet, Path: "/projects/{project}/judges/{judge}/check", Tags: tags,
		Summary: "Say how far a judge can be trusted: what it said against what people said"},
		func(ctx context.Context, in *checkJudgeInput) (*answer[check.Check], error) {
			p, o, err := s.checked(ctx, in.CheckInput, in.CheckQuery)
			if err != nil {
				return nil, err
			}
			return say(check.Build(ctx, s.Store, p, in.Judge, o))
		})
	route(s, a, huma.Operation{OperationID: "list-disagreements", Method: http.MethodGet, Path: "/projects/{project}/judges/{judge}/check/disagreements", Tags: tags,
		Summary: "List the sessions on which judge and labels differ"},
		func(ctx context.Context, in *disagreementsInput) (*answer[Page[check.Disagreement]], error) {
			p, o, err := s.checked(ctx, in.CheckInput, in.CheckQuery)
			if err != nil {
				return nil, err
			}
			list, next, err := check.Disagreements(ctx, s.Store, p, in.Judge, o, in.page())
			return say(pageOf(list, next), err)
		})
}

// checked reads what a check is asked about.
func (s *server) checked(ctx context.Context, in CheckInput, q CheckQuery) (p assay.Project, o check.Options, err error) {
	if p, err = s.project(ctx, in.ProjectInput); err != nil {
		return p, o, err
	}
	o = check.Options{Criterion: q.Criterion, Rater: q.Rater}
	if o.Run, err = s.namedRun(ctx, p, q.Run); err != nil {
		return p, o, err
	}
	o.From, err = s.namedRun(ctx, p, q.From)
	return p, o, err
}

// namedRun is nil for no name.
func (s *server) namedRun(ctx context.Context, p assay.Project, name string) (*assay.Run, error) {
	if name == "" {
		return nil, nil
	}
	id, err := assay.ParseRunID(name)
	if err != nil {
		return nil, err
	}
	run, err := s.runOf(ctx, p, id)
	return &run, err
}
