package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	report "assay/internal/report/old"
)

func (s *server) reportRoutes(a huma.API) {
	route(s, a, huma.Operation{OperationID: "get-report", Method: http.MethodGet, Path: "/runs/{run}/report", Tags: []string{"runs"},
		Summary: "Report counts, coverage and weighted levels of a run and those that it retries"},
		func(ctx context.Context, in *RunInput) (*answer[report.Report], error) {
			run, err := s.run(ctx, *in)
			if err != nil {
				return nil, err
			}
			if err := refuseHarness(run, "a report weighs what judges said of a sample", "`assay runs cases %s` lists its cases, and the run has their counts", run.ID); err != nil {
				return nil, err
			}
			return say(s.Report(ctx, s.Store, run))
		})
}
