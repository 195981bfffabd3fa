package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/report/propose"
	"assay/internal/store"
)

// waitTime bounds how long a request waits for its single run; the run goes on after it.
const waitTime = 10 * time.Minute

type gradeInput struct {
	ProjectInput
	IdempotencyInput
	Wait bool `query:"wait" doc:"with session: answer when the run has ended, with its verdicts"`
	Body engine.GradeRequest
}

type planInput struct {
	ProjectInput
	Body PlanRequest
}

type retryInput struct {
	RunInput
	IdempotencyInput
	Body engine.RetryRequest `required:"false"`
}

// gradedAnswer is 201 for a new run and 200 for one that existed.
type gradedAnswer struct {
	Status int
	Body   Graded
}

// Plan is what a grade run would do, and the budget that it shares.
type Plan struct {
	engine.Preview
	Month *MonthSpend `json:"month,omitempty" doc:"the present month against the project's budget; absent where it has none"`
	// Proposals come with a margin or a budget.
	Proposals *propose.Proposals `json:"proposals,omitempty" doc:"of a margin or a budget: sizes by three splits. The plan is by those of the chosen one"`
}

func (s *server) gradeRoutes(a huma.API) {
	tags := []string{"runs"}
	route(s, a, huma.Operation{OperationID: "plan", Method: http.MethodPost, Path: "/projects/{project}/plan", Tags: tags,
		Summary:     "Preview a grade run; nothing is written",
		Description: "With margin or for_budget_usd sizes of the strata are proposed: start-run takes those of the chosen proposal as sizes, and grades what the plan says."},
		func(ctx context.Context, in *planInput) (*answer[Plan], error) { return say(s.plan(ctx, in)) })
	route(s, a, huma.Operation{OperationID: "start-run", Method: http.MethodPost, Path: "/projects/{project}/runs", Tags: tags,
		Summary:       "Start a grade run, or grade one session now",
		Description:   "201: a new run. 200: the idempotency key was known, and this is its run. 409 run_conflict: an active run holds the key, details name it.",
		DefaultStatus: http.StatusCreated, Responses: startedResponses[Graded](a, "Graded")},
		func(ctx context.Context, in *gradeInput) (*gradedAnswer, error) { return s.grade(ctx, in) })
	route(s, a, huma.Operation{OperationID: "retry-run", Method: http.MethodPost, Path: "/runs/{run}/retry", Tags: tags,
		Summary:       "Start a new run over the errored, cancelled and abandoned items of one that has ended",
		Description:   "Without a budget of its own it gets what the old run's budget left.",
		DefaultStatus: http.StatusCreated, Responses: startedResponses[Graded](a, "Graded")},
		func(ctx context.Context, in *retryInput) (*gradedAnswer, error) {
			id, err := in.id()
			if err != nil {
				return nil, err
			}
			run, replayed, err := s.Engine.Retry(ctx, id, in.Body, in.record(ctx, "retry "+id.String()))
			if err != nil {
				return nil, err
			}
			return s.graded(ctx, run, replayed)
		})
}

func (s *server) plan(ctx context.Context, in *planInput) (out Plan, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return out, err
	}
	if p.Rekeying {
		return out, busyRekeying(p.Name)
	}
	if err := checkBudget(in.Body.Budget); err != nil {
		return out, err
	}
	if err := in.Body.check(); err != nil {
		return out, err
	}
	if in.Body.proposes() {
		out, err = s.proposed(ctx, p, in.Body)
	} else {
		out.Preview, err = s.Engine.Preview(ctx, p, in.Body.GradeRequest)
	}
	if err == nil && p.Settings.MonthBudget != nil {
		out.Month, err = s.month(ctx, p, s.Now())
	}
	return out, err
}

func (s *server) grade(ctx context.Context, in *gradeInput) (*gradedAnswer, error) {
	if in.Wait && in.Body.Session == "" {
		return nil, assay.Errorf(assay.CodeInvalid, "wait is for one session").
			WithHint("name it with session, or start the run and follow its events")
	}
	if err := checkBudget(in.Body.Budget); err != nil {
		return nil, err
	}
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return nil, err
	}
	run, replayed, err := s.Engine.Grade(ctx, p, in.Body, in.record(ctx, "runs"))
	if err != nil {
		return nil, err
	}
	if !in.Wait {
		return s.graded(ctx, run, replayed)
	}
	if run, err = s.await(ctx, run); err != nil {
		return nil, err
	}
	out, err := s.graded(ctx, run, replayed)
	if err != nil {
		return nil, err
	}
	out.Body.Verdicts, _, err = s.Store.Verdicts().List(ctx, store.VerdictQuery{Run: run.ID}, store.Page{Limit: MaxLimit})
	return out, err
}

func (s *server) graded(ctx context.Context, run assay.Run, replayed bool) (*gradedAnswer, error) {
	v, err := s.view(ctx, run)
	if err != nil {
		return nil, err
	}
	out := &gradedAnswer{Status: http.StatusCreated, Body: Graded{RunView: v, Replayed: replayed}}
	if replayed {
		out.Status = http.StatusOK
	}
	return out, nil
}

// await returns run when it has ended, or paused: then somebody must act first.
func (s *server) await(ctx context.Context, run assay.Run) (assay.Run, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTime, assay.Errorf(assay.CodeUnavailable, "run %s has not ended in %s", run.ID, waitTime).
		WithHint("it goes on: `assay watch %s`", run.ID).With("run", run.ID.String()))
	defer cancel()
	err := s.hub.watch(ctx, run.ID, watcher{see: func(v RunView, _ event) (bool, error) {
		run = v.Run
		return !run.State.Terminal() && run.State != assay.RunPaused, nil
	}})
	switch {
	case err != nil || run.State.Terminal() || run.State == assay.RunPaused:
		return run, err
	case ctx.Err() != nil:
		return run, context.Cause(ctx)
	}
	return run, assay.Errorf(assay.CodeUnavailable, "the server shuts down; run %s is %s", run.ID, run.State).
		WithHint("it goes on with the next one: `assay watch %s`", run.ID).With("run", run.ID.String())
}

// startedResponses documents 200 beside the default 201.
func startedResponses[T any](a huma.API, name string) map[string]*huma.Response {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, name)
	return map[string]*huma.Response{"200": {
		Description: "The run that the same request made before",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}}
}
