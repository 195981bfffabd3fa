package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// Harnesses is what the API asks about suites, schedules and the output of their runs.
type Harnesses interface {
	// Read reads a file of definitions.
	Read(f DefinitionFile) (Definitions, error)
	// Launchable says what keeps suites from being launched here and now: a program that is not there, a folder
	// that cannot be read.
	Launchable(suites []assay.Suite) error
	// Check says whether a suite takes parameters.
	Check(s assay.Suite, params map[string]json.RawMessage, source assay.ParamSource) error
	// Next is a schedule's first tick after a time; nil: never.
	Next(def assay.ScheduleDef, after time.Time) (*time.Time, error)
	// RunNow starts for a person what a schedule starts, beside its ticks. replayed: the idempotency key was known,
	// and this is its run.
	RunNow(ctx context.Context, s assay.Schedule, by string, once *store.Idempotency) (run assay.Run, replayed bool, err error)
	// LogDir is the folder of a run's output in this process's data folder.
	LogDir(run assay.RunID) string
	// RunDir is the folder of all that is kept of a run there.
	RunDir(run assay.RunID) string
	// Leaving notes durably which folders there are of a project's runs, before their rows go, and RemoveLeft
	// removes those whose rows are gone.
	Leaving(ctx context.Context, project assay.ProjectID) error
	RemoveLeft(ctx context.Context)
}

// DefinitionFile is a file of definitions to be applied.
type DefinitionFile struct {
	Source string `json:"source" doc:"the definitions, as YAML text"`
	File   string `json:"file,omitempty" doc:"where the file lies on the server's machine: relative folders begin beside it, and errors name it"`
}

// Definitions are what a file defines.
type Definitions struct {
	Suites    []assay.Suite
	Schedules []assay.Schedule
}

// IdleState is the state of a suite that never ran.
const IdleState = "idle"

// SuiteView is a suite with how it stands.
type SuiteView struct {
	assay.Suite
	State     string     `json:"state" doc:"of its newest run; idle where it never ran"`
	Newest    *RunRow    `json:"newest,omitempty"`
	Source    string     `json:"source,omitempty" doc:"the definition as it was applied; only when one suite is asked for"`
	Runs      []RunRow   `json:"runs,omitempty" doc:"newest first, the last ten; only when one suite is asked for"`
	Schedules []string   `json:"schedules,omitempty" doc:"that start it; only when one suite is asked for"`
	Previous  assay.Hash `json:"previous_version,omitempty" doc:"in the answer to apply: the version before, where there was one"`
	Changed   *bool      `json:"changed,omitempty" doc:"in the answer to apply: whether the definition changed"`
}

// AppliedSuites is the answer to apply.
type AppliedSuites struct {
	Suites []SuiteView `json:"suites" nullable:"false"`
	Left   []string    `json:"left,omitempty" doc:"schedules in the file, which are applied as schedules"`
}

// SuiteRun is the answer to a request that starts a suite or external run.
type SuiteRun struct {
	RunView
	Replayed bool `json:"replayed,omitempty" doc:"the idempotency key was known: this is the run that it made"`
}

type applySuitesInput struct {
	ProjectInput
	Body DefinitionFile
}

// SuiteInput names a suite.
type SuiteInput struct {
	ProjectInput
	Suite string `path:"suite"`
}

type runSuiteInput struct {
	SuiteInput
	IdempotencyInput
	Body engine.SuiteRequest `required:"false"`
}

// suiteRunAnswer is 201 for a new run and 200 for one that existed.
type suiteRunAnswer struct {
	Status int
	Body   SuiteRun
}

func (s *server) suiteRoutes(a huma.API) {
	tags := []string{"suites"}
	route(s, a, huma.Operation{OperationID: "list-suites", Method: http.MethodGet, Path: "/projects/{project}/suites", Tags: tags,
		Summary: "List suites with how they stand"},
		func(ctx context.Context, in *ProjectInput) (*answer[Page[SuiteView]], error) {
			return say(s.listSuites(ctx, *in))
		})
	route(s, a, huma.Operation{OperationID: "apply-suites", Method: http.MethodPut, Path: "/projects/{project}/suites", Tags: tags,
		Summary:     "Apply the suites of a file, all or none",
		Description: "Applying an unchanged definition changes nothing, and no run: each keeps the definition that it was started with. Suites run commands: they are taken over the socket only, unless the server was told otherwise."},
		func(ctx context.Context, in *applySuitesInput) (*answer[AppliedSuites], error) {
			return say(s.applySuites(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "get-suite", Method: http.MethodGet, Path: "/projects/{project}/suites/{suite}", Tags: tags,
		Summary: "Show a suite with its definition, its newest runs and its schedules"},
		func(ctx context.Context, in *SuiteInput) (*answer[SuiteView], error) {
			return say(s.getSuite(ctx, *in))
		})
	route(s, a, huma.Operation{OperationID: "delete-suite", Method: http.MethodDelete, Path: "/projects/{project}/suites/{suite}", Tags: tags,
		Summary:       "Remove a suite; its runs stay",
		Description:   "409 state_refused while a run of it is active, or a schedule starts it; the message names them.",
		DefaultStatus: http.StatusNoContent},
		func(ctx context.Context, in *SuiteInput) (*struct{}, error) {
			return nil, s.deleteSuite(ctx, *in)
		})
	route(s, a, huma.Operation{OperationID: "run-suite", Method: http.MethodPost, Path: "/projects/{project}/suites/{suite}/runs", Tags: tags,
		Summary:       "Start a run of a suite",
		Description:   "201: a new run. 200: the idempotency key was known, and this is its run. 409 run_conflict: a run of the suite is active, details name it.",
		DefaultStatus: http.StatusCreated, Responses: startedResponses[SuiteRun](a, "SuiteRun")},
		func(ctx context.Context, in *runSuiteInput) (*suiteRunAnswer, error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			return s.started(ctx)(s.Engine.StartSuite(ctx, p, in.Suite, in.Body, in.record(ctx, "suites "+in.Suite)))
		})
}

// started shows the run that a request made, or made before.
func (s *server) started(ctx context.Context) func(assay.Run, bool, error) (*suiteRunAnswer, error) {
	return func(run assay.Run, replayed bool, err error) (*suiteRunAnswer, error) {
		if err != nil {
			return nil, err
		}
		v, err := s.view(ctx, run)
		if err != nil {
			return nil, err
		}
		out := &suiteRunAnswer{Status: http.StatusCreated, Body: SuiteRun{RunView: v, Replayed: replayed}}
		if replayed {
			out.Status = http.StatusOK
		}
		return out, nil
	}
}

// applySuites reads all of the file before it stores any of it.
func (s *server) applySuites(ctx context.Context, in *applySuitesInput) (out AppliedSuites, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return out, err
	}
	if !commandsAllowed(ctx) {
		return out, assay.Errorf(assay.CodeForbidden, "a suite runs a command, and is not taken over the network").
			WithHint("apply it on the server's machine, where the data folder is, or start the server with --allow-commands")
	}
	defs, err := s.Harnesses.Read(in.Body)
	if err == nil {
		err = s.Harnesses.Launchable(defs.Suites)
	}
	if err != nil {
		return out, err
	}
	if len(defs.Suites) == 0 {
		return out, assay.Errorf(assay.CodeInvalid, "the file defines no suite").WithHint("docs/SUITES.md shows how one is written")
	}
	before, err := s.Store.Suites().List(ctx, p.ID)
	if err != nil {
		return out, err
	}
	previous := map[string]assay.Hash{}
	for _, suite := range before {
		previous[suite.Name] = suite.Version
	}
	changed, err := s.Store.Suites().Apply(ctx, p.ID, defs.Suites, s.Now())
	if err != nil {
		return out, err
	}
	for i, def := range defs.Suites {
		v, err := s.suiteView(ctx, p, def.Name)
		if err != nil {
			return out, err
		}
		v.Changed, v.Previous = &changed[i], previous[def.Name]
		out.Suites = append(out.Suites, v)
	}
	for _, sched := range defs.Schedules {
		out.Left = append(out.Left, sched.Name)
	}
	return out, nil
}

func (s *server) listSuites(ctx context.Context, in ProjectInput) (page Page[SuiteView], err error) {
	p, err := s.project(ctx, in)
	if err != nil {
		return page, err
	}
	suites, err := s.Store.Suites().List(ctx, p.ID)
	if err != nil {
		return page, err
	}
	newest, err := s.Store.Suites().Newest(ctx, p.ID)
	if err != nil {
		return page, err
	}
	views := make([]SuiteView, len(suites))
	var runs []assay.Run
	var of []int // which suite's each is
	for i, suite := range suites {
		views[i] = SuiteView{Suite: suite, State: IdleState}
		if run, ok := newest[suite.Name]; ok {
			runs, of = append(runs, run), append(of, i)
		}
	}
	rows, err := s.rows(ctx, runs)
	if err != nil {
		return page, err
	}
	for i := range rows {
		views[of[i]].State, views[of[i]].Newest = string(rows[i].State), &rows[i]
	}
	return pageOf(views, ""), nil
}

func (s *server) getSuite(ctx context.Context, in SuiteInput) (v SuiteView, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return v, err
	}
	if v, err = s.suiteView(ctx, p, in.Suite); err != nil {
		return v, err
	}
	v.Schedules, err = s.schedulesOf(ctx, p, in.Suite)
	return v, err
}

// schedulesOf names the schedules that start a suite.
func (s *server) schedulesOf(ctx context.Context, p assay.Project, suite string) (names []string, err error) {
	schedules, err := s.Store.Schedules().List(ctx, p.ID)
	for _, sched := range schedules {
		if sched.Def.Suite != nil && sched.Def.Suite.Name == suite {
			names = append(names, sched.Name)
		}
	}
	return names, err
}

// deleteSuite looks before it deletes. What comes between the two does no harm: a run has its own definition,
// and a schedule's tick says that there is no such suite.
func (s *server) deleteSuite(ctx context.Context, in SuiteInput) error {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) *assay.Error {
		e := assay.Errorf(assay.CodeRefused, format, args...)
		e.Message = "suite " + in.Suite + " is not deleted: " + e.Message
		return e
	}
	schedules, err := s.schedulesOf(ctx, p, in.Suite)
	switch {
	case err != nil:
		return err
	case len(schedules) > 0:
		return refuse("schedule %s starts it", strings.Join(schedules, ", ")).
			WithHint("delete the schedule first: `assay schedule delete %s`", schedules[0]).With("schedule", schedules[0])
	}
	active, _, err := s.Store.Runs().List(ctx, store.RunQuery{Project: p.ID, Kind: assay.RunSuite, Suite: in.Suite, States: activeStates()}, store.Page{Limit: 1})
	switch {
	case err != nil:
		return err
	case len(active) > 0:
		return refuse("its run %s is %s", active[0].ID, active[0].State).
			WithHint("wait for it (`assay watch %s`), or end it with `assay cancel %s`", active[0].ID, active[0].ID).With("run", active[0].ID.String())
	}
	return s.Store.Suites().Delete(ctx, p.ID, in.Suite)
}

// suiteRuns is how many runs are shown with a suite.
const suiteRuns = 10

func (s *server) suiteView(ctx context.Context, p assay.Project, name string) (v SuiteView, err error) {
	suite, err := s.Store.Suites().Get(ctx, p.ID, name)
	if err != nil {
		return v, err
	}
	v = SuiteView{Suite: suite, Source: suite.Source, State: IdleState}
	runs, err := s.runsOf(ctx, p, name)
	if err != nil {
		return v, err
	}
	if v.Runs, err = s.rows(ctx, runs); err == nil && len(v.Runs) > 0 {
		v.Newest, v.State = &v.Runs[0], string(v.Runs[0].State)
	}
	return v, err
}

// runsOf are the newest runs of a suite.
func (s *server) runsOf(ctx context.Context, p assay.Project, suite string) ([]assay.Run, error) {
	runs, _, err := s.Store.Runs().List(ctx, store.RunQuery{Project: p.ID, Suite: suite}, store.Page{Limit: suiteRuns})
	return runs, err
}
