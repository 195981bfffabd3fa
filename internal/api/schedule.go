package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/engine"
)

// ScheduleView is a schedule with its text.
type ScheduleView struct {
	assay.Schedule
	Source  string `json:"source,omitempty" doc:"the definition as it was applied; only when one schedule is asked for"`
	Changed *bool  `json:"changed,omitempty" doc:"in the answer to apply: whether the definition changed"`
}

// AppliedSchedules is the answer to apply.
type AppliedSchedules struct {
	Schedules []ScheduleView `json:"schedules" nullable:"false"`
	Left      []string       `json:"left,omitempty" doc:"suites in the file, which are applied as suites"`
}

// ScheduleRunRequest says who asks for what a schedule starts.
type ScheduleRunRequest struct {
	By string `json:"by,omitempty" maxLength:"200" doc:"who asks"`
}

type runScheduleInput struct {
	ScheduleInput
	IdempotencyInput
	Body ScheduleRunRequest `required:"false"`
}

// ScheduleInput names a schedule.
type ScheduleInput struct {
	ProjectInput
	Schedule string `path:"schedule"`
}

func (s *server) scheduleRoutes(a huma.API) {
	tags := []string{"schedules"}
	route(s, a, huma.Operation{OperationID: "list-schedules", Method: http.MethodGet, Path: "/projects/{project}/schedules", Tags: tags,
		Summary: "List schedules with their next and last ticks"},
		func(ctx context.Context, in *ProjectInput) (*answer[Page[ScheduleView]], error) {
			return say(s.listSchedules(ctx, *in))
		})
	route(s, a, huma.Operation{OperationID: "apply-schedules", Method: http.MethodPut, Path: "/projects/{project}/schedules", Tags: tags,
		Summary:     "Apply the schedules of a file, all or none",
		Description: "A schedule starts only what is defined: its suite and its judges must have been applied. What it owed by an older definition is dropped."},
		func(ctx context.Context, in *applySuitesInput) (*answer[AppliedSchedules], error) {
			return say(s.applySchedules(ctx, in))
		})
	at := "/projects/{project}/schedules/{schedule}"
	route(s, a, huma.Operation{OperationID: "get-schedule", Method: http.MethodGet, Path: at, Tags: tags,
		Summary: "Show a schedule"},
		func(ctx context.Context, in *ScheduleInput) (*answer[ScheduleView], error) {
			return say(s.schedule(ctx, *in, func(p assay.Project) (assay.Schedule, error) {
				return s.Store.Schedules().Get(ctx, p.ID, in.Schedule)
			}))
		})
	route(s, a, huma.Operation{OperationID: "delete-schedule", Method: http.MethodDelete, Path: at, Tags: tags,
		Summary: "Remove a schedule; its runs stay", DefaultStatus: http.StatusNoContent},
		func(ctx context.Context, in *ScheduleInput) (*struct{}, error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			return nil, s.Store.Schedules().Delete(ctx, p.ID, in.Schedule)
		})
	route(s, a, huma.Operation{OperationID: "pause-schedule", Method: http.MethodPost, Path: at + "/pause", Tags: tags,
		Summary: "Pause a schedule: no tick of it comes due"},
		func(ctx context.Context, in *ScheduleInput) (*answer[ScheduleView], error) {
			return say(s.schedule(ctx, *in, func(p assay.Project) (assay.Schedule, error) {
				return s.Store.Schedules().Pause(ctx, p.ID, in.Schedule, true, nil)
			}))
		})
	route(s, a, huma.Operation{OperationID: "resume-schedule", Method: http.MethodPost, Path: at + "/resume", Tags: tags,
		Summary: "Go on with a schedule; ticks that passed meanwhile are not made up for"},
		func(ctx context.Context, in *ScheduleInput) (*answer[ScheduleView], error) {
			return say(s.schedule(ctx, *in, func(p assay.Project) (assay.Schedule, error) { return s.resumeSchedule(ctx, p, in.Schedule) }))
		})
	route(s, a, huma.Operation{OperationID: "run-schedule", Method: http.MethodPost, Path: at + "/run", Tags: tags,
		Summary:       "Start now what a schedule starts; its ticks stay as they are",
		Description:   "201: a new run. 200: the idempotency key was known, and this is its run. 409 run_conflict: what it starts is active, details name the run.",
		DefaultStatus: http.StatusCreated, Responses: startedResponses[SuiteRun](a, "SuiteRun")},
		func(ctx context.Context, in *runScheduleInput) (*suiteRunAnswer, error) {
			return s.started(ctx)(s.runSchedule(ctx, *in))
		})
}

func (s *server) schedule(ctx context.Context, in ScheduleInput, do func(assay.Project) (assay.Schedule, error)) (v ScheduleView, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return v, err
	}
	sched, err := do(p)
	return ScheduleView{Schedule: sched, Source: sched.Source}, err
}

func (s *server) listSchedules(ctx context.Context, in ProjectInput) (page Page[ScheduleView], err error) {
	p, err := s.project(ctx, in)
	if err != nil {
		return page, err
	}
	list, err := s.Store.Schedules().List(ctx, p.ID)
	views := make([]ScheduleView, len(list))
	for i, sched := range list {
		views[i] = ScheduleView{Schedule: sched}
	}
	return pageOf(views, ""), err
}

// resumeSchedule leaves a schedule alone that is not paused: what it owes, it goes on owing.
func (s *server) resumeSchedule(ctx context.Context, p assay.Project, name string) (assay.Schedule, error) {
	sched, err := s.Store.Schedules().Get(ctx, p.ID, name)
	if err != nil || !sched.Paused {
		return sched, err
	}
	next, err := s.Harnesses.Next(sched.Def, s.Now())
	if err != nil {
		return sched, err
	}
	return s.Store.Schedules().Pause(ctx, p.ID, name, false, next)
}

func (s *server) runSchedule(ctx context.Context, in runScheduleInput) (run assay.Run, replayed bool, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return run, false, err
	}
	once := in.record(ctx, "schedules "+in.Schedule)
	if once != nil { // the schedule may be another by now, or gone
		if run, replayed, err = s.Store.Runs().Replay(ctx, p.ID, *once); err != nil || replayed {
			return run, replayed, err
		}
	}
	sched, err := s.Store.Schedules().Get(ctx, p.ID, in.Schedule)
	if err != nil {
		return run, false, err
	}
	return s.Harnesses.RunNow(ctx, sched, in.Body.By, once)
}

func (s *server) applySchedules(ctx context.Context, in *applySuitesInput) (out AppliedSchedules, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return out, err
	}
	defs, err := s.Harnesses.Read(in.Body)
	if err != nil {
		return out, err
	}
	if len(defs.Schedules) == 0 {
		return out, assay.Errorf(assay.CodeInvalid, "the file defines no schedule").WithHint("docs/SUITES.md shows how one is written")
	}
	for i, sched := range defs.Schedules {
		if err := s.checkSchedule(ctx, p, sched); err != nil {
			return out, err
		}
		if defs.Schedules[i].NextAt, err = s.Harnesses.Next(sched.Def, s.Now()); err != nil {
			return out, inSchedule(sched, err)
		}
	}
	changed, err := s.Store.Schedules().Apply(ctx, p.ID, defs.Schedules, s.Now())
	if err != nil {
		return out, err
	}
	for i, sched := range defs.Schedules {
		stored, err := s.Store.Schedules().Get(ctx, p.ID, sched.Name)
		if err != nil {
			return out, err
		}
		out.Schedules = append(out.Schedules, ScheduleView{Schedule: stored, Source: stored.Source, Changed: &changed[i]})
	}
	for _, suite := range defs.Suites {
		out.Left = append(out.Left, suite.Name)
	}
	return out, nil
}

// checkSchedule finds now what would else be refused at night.
func (s *server) checkSchedule(ctx context.Context, p assay.Project, sched assay.Schedule) error {
	if def := sched.Def.Suite; def != nil {
		suite, err := s.Store.Suites().Get(ctx, p.ID, def.Name)
		if err != nil {
			return inSchedule(sched, err)
		}
		return inSchedule(sched, s.Harnesses.Check(suite, def.Params, assay.ParamScheduled))
	}
	var q engine.GradeRequest
	dec := json.NewDecoder(bytes.NewReader(sched.Def.Grade))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return inSchedule(sched, assay.Errorf(assay.CodeInvalid, "grade: %w", err).WithHint("it holds the fields of a grade request, for instance judges: [resolved]"))
	}
	if q.Session != "" || len(q.Judges) == 0 {
		return inSchedule(sched, assay.Errorf(assay.CodeInvalid, "grade names no judge, or one session").WithHint("a schedule grades what settled since the last time: name judges"))
	}
	q.Since = nil // it may lie ahead
	return inSchedule(sched, s.Engine.CheckGrade(ctx, p, q))
}

func inSchedule(sched assay.Schedule, err error) error {
	return assay.About("schedule "+sched.Name, err)
}
