package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// JudgeSource is a definition to be applied.
type JudgeSource struct {
	Source string `json:"source" doc:"the definition, as YAML text"`
	Folder string `json:"folder,omitempty" doc:"where the relative paths of a command begin, on the server's machine"`
}

// JudgeView is a name with the version that it means now.
type JudgeView struct {
	assay.Judge
	Source     string              `json:"source" doc:"the definition as it was applied"`
	Definition assay.JudgeVersion  `json:"definition"`
	History    []store.JudgeChange `json:"history" nullable:"false" doc:"versions that the name has meant, newest first"`
	Changed    *bool               `json:"changed,omitempty" doc:"in the answer to apply: whether the version changed"`
}

type applyJudgeInput struct {
	ProjectInput
	Body JudgeSource
}

type getJudgeInput struct {
	ProjectInput
	Judge string `path:"judge"`
}

func (s *server) judgeRoutes(a huma.API) {
	tags := []string{"judges"}
	route(s, a, huma.Operation{OperationID: "list-judges", Method: http.MethodGet, Path: "/projects/{project}/judges", Tags: tags,
		Summary: "List judges"},
		func(ctx context.Context, in *ProjectInput) (*answer[Page[assay.Judge]], error) {
			p, err := s.project(ctx, *in)
			if err != nil {
				return nil, err
			}
			judges, err := s.Store.Judges().List(ctx, p.ID)
			return say(pageOf(judges, ""), err)
		})
	route(s, a, huma.Operation{OperationID: "apply-judge", Method: http.MethodPut, Path: "/projects/{project}/judges", Tags: tags,
		Summary:     "Apply a definition under the name that it gives itself",
		Description: "Applying an unchanged definition changes nothing. A definition that runs a command is taken over the socket only, unless the server was told otherwise."},
		func(ctx context.Context, in *applyJudgeInput) (*answer[JudgeView], error) {
			return say(s.applyJudge(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "get-judge", Method: http.MethodGet, Path: "/projects/{project}/judges/{judge}", Tags: tags,
		Summary: "Show a judge with its definition and history"},
		func(ctx context.Context, in *getJudgeInput) (*answer[JudgeView], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			return say(s.judgeView(ctx, p, in.Judge))
		})
}

func (s *server) applyJudge(ctx context.Context, in *applyJudgeInput) (v JudgeView, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return v, err
	}
	judge, version, err := s.CompileJudge(in.Body, commandsAllowed(ctx))
	if err != nil {
		return v, err
	}
	changed, err := s.Store.Judges().Apply(ctx, p.ID, judge, version, s.Now())
	if err != nil {
		return v, err
	}
	v, err = s.judgeView(ctx, p, judge.Name)
	v.Changed = &changed
	return v, err
}

func (s *server) judgeView(ctx context.Context, p assay.Project, name string) (v JudgeView, err error) {
	judge, version, err := s.Store.Judges().Get(ctx, p.ID, name)
	if err != nil {
		return v, err
	}
	history, err := s.Store.Judges().History(ctx, p.ID, name)
	if history == nil {
		history = []store.JudgeChange{}
	}
	return JudgeView{Judge: judge, Source: judge.Source, Definition: version, History: history}, err
}
