package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// CaseQuery selects cases of a run. Zero fields select all.
type CaseQuery struct {
	State assay.ItemState
	Class assay.Class
	Pass  *bool
	Full  bool // whole cases, not only what a list shows
}

type caseListInput struct {
	RunInput
	PageInput
	State string `query:"state" enum:"graded,errored,ungradable" doc:"absent: every state"`
	Class string `query:"class" enum:"case_error,case_skipped,case_unscored" doc:"why it has no verdict; absent: every case"`
	Pass  string `query:"pass" enum:"true,false" doc:"what the harness said of the whole; absent: every case"`
	Full  bool   `query:"full" doc:"whole cases: input, output, expected, extra, every finding with its whole reason"`
}

// MetricPoints are reported values of one metric.
type MetricPoints struct {
	Name   string         `json:"name"`
	Points []assay.Metric `json:"points" nullable:"false" doc:"in the order in which they were reported; the newest ones where there are more than the limit"`
}

type pointsInput struct {
	RunInput
	Metrics []string `query:"metric,explode" required:"true" minItems:"1" maxItems:"50" doc:"names of metrics: metric=loss&metric=acc"`
	Limit   int      `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"points of each metric at most"`
}

func (s *server) caseRoutes(a huma.API) {
	tags := []string{"runs"}
	route(s, a, huma.Operation{OperationID: "list-cases", Method: http.MethodGet, Path: "/runs/{run}/cases", Tags: tags,
		Summary:     "List what the result files of a suite or external run held",
		Description: "Of each case what a table shows: no input, output, expected text or extra, the first 20 findings with short values, and the beginning of errors and reasons. A page ends before its limit where the cases say much: follow next."},
		func(ctx context.Context, in *caseListInput) (*answer[Page[assay.Case]], error) {
			run, err := s.run(ctx, in.RunInput)
			if err != nil {
				return nil, err
			}
			q := store.CaseQuery{State: assay.ItemState(in.State), Class: assay.Class(in.Class), Heads: !in.Full}
			if in.Pass != "" {
				pass := in.Pass == "true"
				q.Pass = &pass
			}
			cases, next, err := s.Store.Harnesses().Cases(ctx, run.ID, q, in.page())
			return say(pageOf(cases, next), err)
		})
	route(s, a, huma.Operation{OperationID: "get-case", Method: http.MethodGet, Path: "/runs/{run}/cases/{seq}", Tags: tags,
		Summary: "Show one case of a suite or external run"},
		func(ctx context.Context, in *itemInput) (*answer[assay.Case], error) {
			return say(s.oneCase(ctx, *in))
		})
	route(s, a, huma.Operation{OperationID: "list-metrics", Method: http.MethodGet, Path: "/runs/{run}/metrics", Tags: tags,
		Summary: "Show the newest value of each metric that a harness reported"},
		func(ctx context.Context, in *RunInput) (*answer[Page[assay.Metric]], error) {
			run, err := s.run(ctx, *in)
			if err != nil || run.Suite == nil {
				return say(pageOf[assay.Metric](nil, ""), err)
			}
			facts, err := s.Store.Harnesses().Facts(ctx, run.ID)
			return say(pageOf(facts.Metrics, ""), err)
		})
	route(s, a, huma.Operation{OperationID: "list-points", Method: http.MethodGet, Path: "/runs/{run}/points", Tags: tags,
		Summary:     "Show the values of metrics over time",
		Description: "In the order asked for; a metric that the run did not report has no points."},
		func(ctx context.Context, in *pointsInput) (*answer[Page[MetricPoints]], error) {
			return say(s.points(ctx, *in))
		})
}

func (s *server) oneCase(ctx context.Context, in itemInput) (c assay.Case, err error) {
	run, err := s.run(ctx, in.RunInput)
	if err != nil {
		return c, err
	}
	cases, _, err := s.Store.Harnesses().Cases(ctx, run.ID, store.CaseQuery{}, store.Page{Cursor: store.Cursor(in.Seq - 1), Limit: 1})
	if err != nil {
		return c, err
	}
	if len(cases) == 0 || cases[0].Seq != in.Seq {
		return c, assay.Errorf(assay.CodeNotFound, "run %s has no case %d", run.ID, in.Seq).
			WithHint("cases are numbered from 1; `assay runs cases %s` lists them", run.ID)
	}
	return cases[0], nil
}

func (s *server) points(ctx context.Context, in pointsInput) (page Page[MetricPoints], err error) {
	run, err := s.run(ctx, in.RunInput)
	if err != nil {
		return page, err
	}
	var list []MetricPoints
	for _, name := range in.Metrics {
		points, err := s.Store.Harnesses().Points(ctx, run.ID, name, in.Limit)
		if err != nil {
			return page, err
		}
		m := MetricPoints{Name: name, Points: make([]assay.Metric, len(points))}
		for i, p := range points {
			m.Points[i] = p.Metric
		}
		list = append(list, m)
	}
	return pageOf(list, ""), nil
}
