package api

import (
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/report/print"
	"assay/internal/store"
)

// CompareQuery says how two runs are compared.
type CompareQuery struct {
	Key        string   `query:"key" enum:"session,case,none" doc:"how sessions are paired; absent: by what fits"`
	JudgeA     string   `query:"judge_a" doc:"of the baseline; absent where it has one"`
	JudgeB     string   `query:"judge_b" doc:"of the other run; absent: the baseline's, or its only one"`
	Primary    string   `query:"primary" doc:"the criterion that was declared before looking; absent: pass"`
	Confidence float64  `query:"confidence" exclusiveMinimum:"0" exclusiveMaximum:"1" doc:"of intervals; absent: 0.95"`
	Gates      []string `query:"gate,explode" example:"drop > 0.02" doc:"decide whether it fails: METRIC[:CRITERION] OP LIMIT, with drop, coverage or errors"`
}

func (q CompareQuery) options() (o compare.Options, err error) {
	o = compare.Options{Key: compare.Key(q.Key), JudgeA: q.JudgeA, JudgeB: q.JudgeB, Primary: q.Primary, Confidence: q.Confidence}
	o.Gates, err = gatesOf(q.Gates)
	return o, err
}

// CompareInput names two runs: the baseline and the other.
type CompareInput struct {
	A string `path:"run" example:"r17" doc:"the baseline"`
	B string `path:"other" example:"r18"`
}

// FlipQuery selects flips.
type FlipQuery struct {
	Criterion string `query:"criterion" doc:"absent: pass"`
	Kind      string `query:"kind" enum:"regressed,fixed" doc:"absent: both, regressed first"`
}

type compareInput struct {
	CompareInput
	CompareQuery
}

type flipsInput struct {
	CompareInput
	CompareQuery
	FlipQuery
	PageInput
}

type compareExportInput struct {
	CompareInput
	CompareQuery
	ExportInput
	Flips int `query:"flips" minimum:"0" maximum:"1000" doc:"how many flips are listed; absent: 20"`
}

// shownFlips is how many flips a page of a comparison lists.
const shownFlips = 20

func (s *server) compareRoutes(a huma.API) {
	tags := []string{"reports"}
	route(s, a, huma.Operation{OperationID: "compare-runs", Method: http.MethodGet, Path: "/runs/{run}/compare/{other}", Tags: tags,
		Summary: "Say what changed between two runs: the first is the baseline, drop = A - B"},
		func(ctx context.Context, in *compareInput) (*answer[compare.Comparison], error) {
			c, err := s.compared(ctx, in.CompareInput, in.CompareQuery)
			if err != nil {
				return nil, err
			}
			return say(compare.Build(ctx, s.Store, c.a, c.b, c.o))
		})
	route(s, a, huma.Operation{OperationID: "list-flips", Method: http.MethodGet, Path: "/runs/{run}/compare/{other}/flips", Tags: tags,
		Summary: "List the pairs whose answer changed, with both reasons"},
		func(ctx context.Context, in *flipsInput) (*answer[Page[compare.Flip]], error) {
			c, err := s.compared(ctx, in.CompareInput, in.CompareQuery)
			if err != nil {
				return nil, err
			}
			flips, next, err := compare.Flips(ctx, s.Store, c.a, c.b, c.o, in.Criterion, compare.FlipKind(in.Kind), in.page())
			return say(pageOf(flips, next), err)
		})
	route(s, a, huma.Operation{OperationID: "export-comparison", Method: http.MethodGet, Path: "/runs/{run}/compare/{other}/export", Tags: tags,
		Summary: "The same comparison as a file to read, or for CI", Responses: exportResponses()},
		func(ctx context.Context, in *compareExportInput) (*exported, error) {
			return s.exportComparison(ctx, in)
		})
}

func (s *server) exportComparison(ctx context.Context, in *compareExportInput) (*exported, error) {
	c, err := s.compared(ctx, in.CompareInput, in.CompareQuery)
	if err != nil {
		return nil, err
	}
	v, err := compare.Build(ctx, s.Store, c.a, c.b, c.o)
	if err != nil {
		return nil, err
	}
	n := in.Flips
	if n == 0 {
		n = shownFlips
	}
	flips, _, err := compare.Flips(ctx, s.Store, c.a, c.b, c.o, "", "", store.Page{Limit: n})
	if err != nil {
		return nil, err
	}
	return export("compare-"+c.a.ID.String()+"-"+c.b.ID.String(), in.Format, func(w io.Writer, f print.Format) error { return print.Comparison(w, f, v, flips, 0) })
}

// sides are what a comparison is asked about.
type sides struct {
	a, b assay.Run
	o    compare.Options
}

func (s *server) compared(ctx context.Context, in CompareInput, q CompareQuery) (c sides, err error) {
	if c.o, err = q.options(); err != nil {
		return c, err
	}
	if c.a, err = s.run(ctx, RunInput{in.A}); err != nil {
		return c, err
	}
	c.b, err = s.run(ctx, RunInput{in.B})
	return c, err
}
