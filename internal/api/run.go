package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// RunRow is a run in a list.
type RunRow struct {
	assay.Run
	Cancelling bool         `json:"cancelling,omitempty" doc:"a cancel was asked for and has not ended yet"`
	Counts     assay.Counts `json:"counts"`
	// Cases is there for suite and external runs that have some.
	Cases *assay.CaseTally `json:"cases,omitempty" doc:"of suite and external runs: what their result files held, by how it ended"`
	// Harness is there for suite and external runs.
	Harness *assay.Harness `json:"harness,omitempty" doc:"of suite and external runs: what is known of the harness"`
}

// SilentSince is the last sign of a harness that runs and has been silent for longer than its alarm; nil of
// every other run. It lives: its process, or its reports, are heard.
func (r RunRow) SilentSince() *time.Time {
	if r.State != assay.RunRunning || r.Harness == nil || !r.Harness.Idle {
		return nil
	}
	return r.Harness.ActiveAt
}

// RunView is a run with what its rows add up to.
type RunView struct {
	RunRow
	Spend      Spent                  `json:"spend"`
	BudgetLeft *assay.USD             `json:"budget_left_usd,omitempty" doc:"what the run's budget has left when every call costs what is set aside for it"`
	Rate       *float64               `json:"items_per_second,omitempty" doc:"over the last seconds; absent when the run does not run or nothing ended yet"`
	Remaining  *float64               `json:"remaining_s,omitempty" doc:"at that rate"`
	Strata     []assay.PlannedStratum `json:"strata,omitempty" doc:"in the answer for one run, not in events"`
}

// Graded is the answer to a grade request.
type Graded struct {
	RunView
	Replayed bool            `json:"replayed,omitempty" doc:"the idempotency key was known: this is the run that it made"`
	Verdicts []assay.Verdict `json:"verdicts,omitempty" doc:"of a single run that was waited for"`
}

// RunQuery selects runs. Zero fields select all.
type RunQuery struct {
	Project string
	Kind    assay.RunKind
	Suite   string
	// Schedule is the one that started a run, or for which a person did.
	Schedule string
	States   []assay.RunState
}

// CancelRequest says how to cancel.
type CancelRequest struct {
	Now bool   `json:"now,omitempty" doc:"cut calls in flight instead of keeping their answers"`
	By  string `json:"by,omitempty" maxLength:"200" doc:"who asks"`
}

// RunPatch changes what may be changed about a run.
type RunPatch struct {
	Concurrency *int   `json:"concurrency,omitempty" doc:"judge calls in flight, at least 1"`
	Budget      Budget `json:"budget_usd,omitzero" doc:"hard budget in US dollars; null removes it"`
}

// RunInput names a run.
type RunInput struct {
	Run string `path:"run" example:"r17"`
}

func (in RunInput) id() (assay.RunID, error) { return assay.ParseRunID(in.Run) }

// RunListInput is RunQuery as query parameters.
type RunListInput struct {
	PageInput
	Kind  string `query:"kind" enum:"grade,single,suite,external" doc:"absent: every kind"`
	Suite string `query:"suite" doc:"only runs of the suite, or of external harnesses, of this name"`
	// Names are a project's: over all projects this finds the runs of every schedule of the name.
	Schedule string   `query:"schedule" doc:"only runs that the schedule of this name started, or that a person started for it"`
	States   []string `query:"state" enum:"queued,running,paused,completed,failed,cancelled,lost" doc:"absent: every state"`
}

type projectRunsInput struct {
	ProjectInput
	RunListInput
}

type cancelInput struct {
	RunInput
	Body CancelRequest `required:"false"`
}

type patchRunInput struct {
	RunInput
	Body RunPatch
}

func (s *server) runRoutes(a huma.API) {
	tags := []string{"runs"}
	route(s, a, huma.Operation{OperationID: "list-runs", Method: http.MethodGet, Path: "/runs", Tags: tags,
		Summary: "List runs of every project, newest first"},
		func(ctx context.Context, in *RunListInput) (*answer[Page[RunRow]], error) {
			return say(s.listRuns(ctx, 0, *in))
		})
	route(s, a, huma.Operation{OperationID: "list-project-runs", Method: http.MethodGet, Path: "/projects/{project}/runs", Tags: tags,
		Summary: "List runs of a project, newest first"},
		func(ctx context.Context, in *projectRunsInput) (*answer[Page[RunRow]], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			return say(s.listRuns(ctx, p.ID, in.RunListInput))
		})
	route(s, a, huma.Operation{OperationID: "get-run", Method: http.MethodGet, Path: "/runs/{run}", Tags: tags,
		Summary: "Show a run with counts, spend and strata"},
		func(ctx context.Context, in *RunInput) (*answer[RunView], error) { return say(s.getRun(ctx, *in)) })
	route(s, a, huma.Operation{OperationID: "patch-run", Method: http.MethodPatch, Path: "/runs/{run}", Tags: tags,
		Summary:     "Change the concurrency or the budget of a run, while it runs too",
		Description: "A run that paused because its budget was reached goes on when it is resumed."},
		func(ctx context.Context, in *patchRunInput) (*answer[RunView], error) {
			return say(s.act(ctx, in.RunInput, func(id assay.RunID) (assay.Run, error) {
				return s.patchRun(ctx, id, in.Body)
			}))
		})
	s.askRoutes(a, tags)
}

func (s *server) askRoutes(a huma.API, tags []string) {
	route(s, a, huma.Operation{OperationID: "cancel-run", Method: http.MethodPost, Path: "/runs/{run}/cancel", Tags: tags,
		Summary:     "Cancel a run",
		Description: "Of a harness every process is ended: after its grace nothing of it is alive. Else no new judge call starts later than 1 s after the answer. Calls in flight finish and are kept, or are cut with now. A run that has ended comes back unchanged."},
		func(ctx context.Context, in *cancelInput) (*answer[RunView], error) {
			return say(s.act(ctx, in.RunInput, func(id assay.RunID) (assay.Run, error) {
				return s.Engine.CancelBy(ctx, id, in.Body.By, in.Body.Now)
			}))
		})
	for _, ask := range []struct {
		verb, summary string
		do            func(context.Context, assay.RunID) (assay.Run, error)
	}{
		{"pause", "Pause a run once nothing is in flight", func(ctx context.Context, id assay.RunID) (assay.Run, error) { return s.Engine.Pause(ctx, id) }},
		{"resume", "Resume a paused run", func(ctx context.Context, id assay.RunID) (assay.Run, error) { return s.Engine.Resume(ctx, id) }},
		{"end", "Complete a run with what it has; the rest is abandoned", func(ctx context.Context, id assay.RunID) (assay.Run, error) { return s.Engine.End(ctx, id) }},
	} {
		route(s, a, huma.Operation{OperationID: ask.verb + "-run", Method: http.MethodPost, Path: "/runs/{run}/" + ask.verb, Tags: tags,
			Summary: ask.summary},
			func(ctx context.Context, in *RunInput) (*answer[RunView], error) {
				return say(s.act(ctx, *in, func(id assay.RunID) (assay.Run, error) { return ask.do(ctx, id) }))
			})
	}
}

// patchRun checks all before it changes anything.
func (s *server) patchRun(ctx context.Context, id assay.RunID, p RunPatch) (run assay.Run, err error) {
	if p.Concurrency == nil && !p.Budget.Set {
		return run, assay.Errorf(assay.CodeInvalid, "nothing to change").WithHint("give concurrency or budget_usd")
	}
	if err := p.Budget.Validate(); err != nil {
		return run, err
	}
	if p.Concurrency != nil {
		if run, err = s.Engine.SetConcurrency(ctx, id, *p.Concurrency); err != nil {
			return run, err
		}
	}
	if p.Budget.Set {
		run, err = s.Engine.SetBudget(ctx, id, p.Budget.USD)
	}
	return run, err
}

// act changes a run and tells those who watch it.
func (s *server) act(ctx context.Context, in RunInput, do func(assay.RunID) (assay.Run, error)) (RunView, error) {
	id, err := in.id()
	if err != nil {
		return RunView{}, err
	}
	run, err := do(id)
	if err != nil {
		return RunView{}, err
	}
	s.hub.poke(id)
	return s.view(ctx, run)
}

func (s *server) run(ctx context.Context, in RunInput) (assay.Run, error) {
	id, err := in.id()
	if err != nil {
		return assay.Run{}, err
	}
	return s.Store.Runs().Get(ctx, id)
}

func (s *server) getRun(ctx context.Context, in RunInput) (v RunView, err error) {
	run, err := s.run(ctx, in)
	if err != nil {
		return v, err
	}
	if v, err = s.view(ctx, run); err != nil {
		return v, err
	}
	v.Strata, err = s.Store.Plans().Strata(ctx, run.ID)
	return v, err
}

func (s *server) listRuns(ctx context.Context, project assay.ProjectID, in RunListInput) (page Page[RunRow], err error) {
	q := store.RunQuery{Project: project, Kind: assay.RunKind(in.Kind), Suite: in.Suite, Schedule: in.Schedule}
	for _, state := range in.States {
		q.States = append(q.States, assay.RunState(state))
	}
	runs, next, err := s.Store.Runs().List(ctx, q, in.page())
	if err != nil {
		return page, err
	}
	rows, err := s.rows(ctx, runs)
	return pageOf(rows, next), err
}

func (s *server) rows(ctx context.Context, runs []assay.Run) ([]RunRow, error) {
	facts, err := s.facts(ctx, runs)
	if err != nil {
		return nil, err
	}
	rows := make([]RunRow, len(runs))
	for i, run := range runs {
		counts, err := s.ended.counts(run, func() (assay.Counts, error) { return s.Store.Items().Counts(ctx, run.ID, s.Now()) })
		if err != nil {
			return nil, err
		}
		rows[i] = rowOf(run, counts)
		if f, ok := facts[run.ID]; ok {
			rows[i].Harness = &f
		}
	}
	return rows, nil
}

// facts are those of the runs that have a harness.
func (s *Services) facts(ctx context.Context, runs []assay.Run) (map[assay.RunID]assay.Harness, error) {
	var ids []assay.RunID
	for _, run := range runs {
		if run.Suite != nil {
			ids = append(ids, run.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return s.Store.Harnesses().FactsOf(ctx, ids)
}

func rowOf(run assay.Run, counts assay.Counts) RunRow {
	row := RunRow{Run: run, Cancelling: run.Cancelling(), Counts: counts}
	if run.Suite != nil && counts.Total > 0 {
		row.Cases = new(counts.Cases())
	}
	return row
}

// refuseHarness refuses what there is only of runs that grade; hint says what there is instead.
func refuseHarness(run assay.Run, what, hint string, args ...any) error {
	if run.Suite == nil {
		return nil
	}
	return assay.Errorf(assay.CodeRefused, "run %s is a harness (%s): %s", run.ID, run.Suite.Name, what).
		WithHint(hint, args...).With("run", run.ID.String()).With("kind", string(run.Kind))
}

// runView reads a run with what its rows add up to now.
func (s *server) runView(ctx context.Context, id assay.RunID) (RunView, error) {
	run, err := s.Store.Runs().Get(ctx, id)
	if err != nil {
		return RunView{}, err
	}
	return s.view(ctx, run)
}

func (s *Services) view(ctx context.Context, run assay.Run) (v RunView, err error) {
	counts, err := s.Store.Items().Counts(ctx, run.ID, s.Now())
	if err != nil {
		return v, err
	}
	v.RunRow = rowOf(run, counts)
	if run.Suite != nil {
		facts, err := s.Store.Harnesses().Facts(ctx, run.ID)
		if err != nil {
			return v, err
		}
		v.Harness = &facts
	}
	sum, err := s.Store.Items().Spend(ctx, run.ID)
	v.Spend = spent(sum)
	v.BudgetLeft = v.Spend.Left(run.Budget)
	if run.Suite == nil && run.State == assay.RunRunning && run.StartedAt != nil {
		v.pace(worked(v.Counts), s.Now().Sub(*run.StartedAt))
	}
	return v, err
}
