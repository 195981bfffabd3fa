package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"assay/internal/assay"
	"assay/internal/engine"
)

// ExternalReport is what a harness says while it runs. An empty one is a heartbeat.
type ExternalReport struct {
	Progress   *ReportedProgress `json:"progress,omitempty"`
	Metrics    []ReportedMetric  `json:"metrics,omitempty"`
	Links      []assay.Link      `json:"links,omitempty"`
	Experiment string            `json:"experiment_url,omitempty"`
	Log        *SentLog          `json:"log,omitempty"`
}

// SentLog is a piece of output. Offsets count the bytes that the sender has to send: a piece that comes
// twice, or overlaps one that came, is taken once.
type SentLog struct {
	Offset int64  `json:"offset" minimum:"0" maximum:"9007199254740991" doc:"of its first byte"`
	Gap    int64  `json:"gap,omitempty" minimum:"0" maximum:"9007199254740991" doc:"bytes before offset that the sender does not have any more; the log says so"`
	Data   []byte `json:"data" doc:"base64; at most 512 KiB of output"`
}

// ExternalReported is the answer to a report.
type ExternalReported struct {
	RunView
	Sent int64 `json:"log_sent" doc:"how much output came so far: the next piece begins there"`
	Stop bool  `json:"stop,omitempty" doc:"a cancel was asked for: end the harness, and report its finish"`
}

// finishBytes bounds a finish with its cases. Decoded it takes several times that, so of those above
// largeFinish only largeAtOnce are read at a time.
const (
	finishBytes = 64 << 20
	largeFinish = 1 << 20
	largeAtOnce = 2
)

// finishing lets a finish wait for its turn before its body is read. Its run has not fallen silent meanwhile.
func (s *server) finishing(ctx huma.Context, next func(huma.Context)) {
	if id, err := assay.ParseRunID(ctx.Param("run")); err == nil {
		defer s.Engine.Silence().Speaks(id)()
	}
	if r, _ := humago.Unwrap(ctx); r.ContentLength < 0 || r.ContentLength > largeFinish {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-ctx.Context().Done():
			return
		}
	}
	next(ctx)
}

type externalInput struct {
	ProjectInput
	IdempotencyInput
	Body engine.ExternalRequest
}

type externalReportInput struct {
	RunInput
	Body ExternalReport `required:"false"`
}

type externalFinishInput struct {
	RunInput
	Body ExternalFinish
}

func (s *server) externalRoutes(a huma.API) {
	tags := []string{"external"}
	route(s, a, huma.Operation{OperationID: "start-external", Method: http.MethodPost, Path: "/projects/{project}/external", Tags: tags,
		Summary:       "Tell of a harness that has started elsewhere",
		Description:   "The run runs at once, and is lost when nothing is reported for the stale time. With exclusive 409 run_conflict says that a run of this name is active.",
		DefaultStatus: http.StatusCreated, Responses: startedResponses[SuiteRun](a, "SuiteRun")},
		func(ctx context.Context, in *externalInput) (*suiteRunAnswer, error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			return s.started(ctx)(s.Engine.StartExternal(ctx, p, in.Body, in.record(ctx, "external")))
		})
	route(s, a, huma.Operation{OperationID: "report-external", Method: http.MethodPost, Path: "/runs/{run}/reports", Tags: tags,
		Summary:     "Report a heartbeat, progress, metrics, links and output of an external run",
		Description: "A report that comes after the run has ended is recorded and changes no state. Output is durable when the answer comes."},
		func(ctx context.Context, in *externalReportInput) (*answer[ExternalReported], error) {
			return say(s.report(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "finish-external", Method: http.MethodPost, Path: "/runs/{run}/finish", Tags: tags,
		Summary:      "Tell how an external run ended",
		Description:  "Exit code 0 completes it, anything else fails it. Told twice it stays as it was told first.",
		MaxBodyBytes: finishBytes, Middlewares: huma.Middlewares{s.finishing}},
		func(ctx context.Context, in *externalFinishInput) (*answer[RunView], error) {
			f, err := in.Body.finish()
			if err != nil {
				return nil, err
			}
			return say(s.act(ctx, in.RunInput, func(id assay.RunID) (assay.Run, error) { return s.Engine.FinishExternal(ctx, id, f) }))
		})
}

// report stores output before the facts that count it.
func (s *server) report(ctx context.Context, in *externalReportInput) (out ExternalReported, err error) {
	run, err := s.run(ctx, in.RunInput)
	if err != nil {
		return out, err
	}
	if run.Kind != assay.RunExternal {
		return out, assay.Errorf(assay.CodeRefused, "run %s is of the kind %s: only external runs are reported on", run.ID, run.Kind).
			WithHint("start one with POST /projects/%s/external, or use `assay wrap`", run.Project)
	}
	defer s.Engine.Silence().Speaks(run.ID)() // also where its output cannot be stored
	b := in.Body
	got, err := s.take(ctx, run.ID, b.Log)
	if err != nil {
		return out, err
	}
	told := b.report()
	told.LogBytes, told.LogLines = got.Log.Bytes, got.Log.Lines
	run, err = s.Engine.Report(ctx, run.ID, told)
	if err != nil {
		return out, err
	}
	s.hub.poke(run.ID)
	out.RunView, err = s.view(ctx, run)
	out.Sent, out.Stop = got.Sent, run.Cancelling()
	return out, err
}
