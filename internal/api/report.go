package api

import (
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/report"
	reportgate "assay/internal/report/gate"
	"assay/internal/report/print"
)

// ReportQuery says what is asked of a report.
type ReportQuery struct {
	Target     string   `query:"target" enum:"window,process" doc:"window: the level of exactly these sessions; process: what the agent does on traffic like this. Absent: window"`
	Confidence float64  `query:"confidence" exclusiveMinimum:"0" exclusiveMaximum:"1" doc:"of intervals; absent: 0.95"`
	Control    string   `query:"control" doc:"the arm that lifts are against; absent: control, else the largest"`
	Shares     string   `query:"shares" example:"treatment=5,control=95" doc:"how sessions were meant to go to arms, or any where that changed; absent: to all alike"`
	Gates      []string `query:"gate,explode" example:"rate < 0.9" doc:"decide whether it fails: METRIC[:CRITERION] OP LIMIT, with rate, lift, coverage or errors"`
}

func (q ReportQuery) options() (o report.Options, err error) {
	o = report.Options{Target: report.Target(q.Target), Confidence: q.Confidence, Control: q.Control}
	if o.Shares, o.AnyShares, err = report.ParseShares(q.Shares); err != nil {
		return o, err
	}
	o.Gates, err = gatesOf(q.Gates)
	return o, err
}

func gatesOf(texts []string) (out []reportgate.Gate, err error) {
	for _, text := range texts {
		g, err := reportgate.Parse(text)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

type reportInput struct {
	RunInput
	ReportQuery
}

type reportExportInput struct {
	RunInput
	ReportQuery
	ExportInput
}

func (s *server) reportRoutes(a huma.API) {
	tags := []string{"reports"}
	route(s, a, huma.Operation{OperationID: "get-report", Method: http.MethodGet, Path: "/runs/{run}/report", Tags: tags,
		Summary: "Report what a run and those that it retries found: counts, coverage, weighted levels with intervals, lifts"},
		func(ctx context.Context, in *reportInput) (*answer[report.Report], error) {
			return say(s.reportOf(ctx, in.RunInput, in.ReportQuery))
		})
	route(s, a, huma.Operation{OperationID: "export-report", Method: http.MethodGet, Path: "/runs/{run}/report/export", Tags: tags,
		Summary: "The same report as a file to read", Responses: exportResponses()},
		func(ctx context.Context, in *reportExportInput) (*exported, error) {
			r, err := s.reportOf(ctx, in.RunInput, in.ReportQuery)
			if err != nil {
				return nil, err
			}
			return export("report-"+r.Run.ID.String(), in.Format, func(w io.Writer, f print.Format) error { return print.Report(w, f, r, 0) })
		})
}

func (s *server) reportOf(ctx context.Context, in RunInput, q ReportQuery) (r report.Report, err error) {
	o, err := q.options()
	if err != nil {
		return r, err
	}
	run, err := s.run(ctx, in)
	if err != nil {
		return r, err
	}
	if err := refuseHarness(run, "a report weighs what judges said of a sample", "`assay runs cases %s` lists its cases, and the run has their counts", run.ID); err != nil {
		return r, err
	}
	return report.Build(ctx, s.Store, run, o)
}
