package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// Project is a tenant as clients see it.
type Project struct {
	Name      string         `json:"name"`
	Settings  assay.Settings `json:"settings"`
	Rekeying  bool           `json:"rekeying,omitempty" doc:"arms, days or cases are being recomputed; planning waits"`
	CreatedAt time.Time      `json:"created_at"`
	Totals    *store.Totals  `json:"totals,omitempty" doc:"only when one project is asked for"`
	Month     *MonthSpend    `json:"month,omitempty" doc:"the present month against its budget; only when one project is asked for that has one"`
}

// SettingsPatch changes the settings that it names and leaves the others.
type SettingsPatch struct {
	ArmKey      *string        `json:"arm_key,omitempty" doc:"metadata key of the first turn; empty makes every session untagged"`
	ArmType     *assay.ArmType `json:"arm_type,omitempty" enum:"bool,string" doc:"what that key holds"`
	CaseKey     *string        `json:"case_key,omitempty" doc:"metadata key of the task that a session attempts; empty means none"`
	Zone        *string        `json:"zone,omitempty" doc:"IANA name, e.g. Europe/Berlin"`
	Settle      *time.Duration `json:"settle,omitempty" doc:"quiet time before an imported session is eligible, in nanoseconds"`
	PerStratum  *int           `json:"per_stratum,omitempty" doc:"default sessions per day and arm"`
	Concurrency *int           `json:"concurrency,omitempty" doc:"default judge calls in flight per run, at least 1"`
	OneGradeRun *bool          `json:"one_grade_run,omitempty" doc:"at most one active grade run in the project"`
	MonthBudget Budget         `json:"month_budget_usd,omitzero" doc:"hard budget in US dollars of all runs in one calendar month; null removes it"`
}

// NewProject is the body that makes a project.
type NewProject struct {
	Name     string         `json:"name"`
	Settings *SettingsPatch `json:"settings,omitempty" doc:"what differs from the defaults"`
}

func projectView(p assay.Project) Project {
	return Project{Name: p.Name, Settings: p.Settings, Rekeying: p.Rekeying, CreatedAt: p.CreatedAt}
}

// apply returns s with the patch's fields.
func (c SettingsPatch) apply(s assay.Settings) assay.Settings {
	set(&s.ArmKey, c.ArmKey)
	set(&s.ArmType, c.ArmType)
	set(&s.CaseKey, c.CaseKey)
	set(&s.Zone, c.Zone)
	set(&s.Settle, c.Settle)
	set(&s.PerStratum, c.PerStratum)
	set(&s.Concurrency, c.Concurrency)
	set(&s.OneGradeRun, c.OneGradeRun)
	if c.MonthBudget.Set {
		s.MonthBudget = c.MonthBudget.USD
	}
	return s
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// ProjectInput names a project.
type ProjectInput struct {
	Project string `path:"project" example:"default"`
}

func (s *server) project(ctx context.Context, in ProjectInput) (assay.Project, error) {
	return s.Store.Projects().Get(ctx, in.Project)
}

type createProjectInput struct{ Body NewProject }

type patchProjectInput struct {
	ProjectInput
	Body SettingsPatch
}

func (s *server) projectRoutes(a huma.API) {
	tags := []string{"projects"}
	route(s, a, huma.Operation{OperationID: "list-projects", Method: http.MethodGet, Path: "/projects", Tags: tags,
		Summary: "List projects"},
		func(ctx context.Context, _ *struct{}) (*answer[Page[Project]], error) {
			return say(s.listProjects(ctx))
		})
	route(s, a, huma.Operation{OperationID: "create-project", Method: http.MethodPost, Path: "/projects", Tags: tags,
		Summary: "Make a project", DefaultStatus: http.StatusCreated},
		func(ctx context.Context, in *createProjectInput) (*answer[Project], error) {
			return say(s.createProject(ctx, in.Body))
		})
	route(s, a, huma.Operation{OperationID: "get-project", Method: http.MethodGet, Path: "/projects/{project}", Tags: tags,
		Summary: "Show a project and how much it holds"},
		func(ctx context.Context, in *ProjectInput) (*answer[Project], error) {
			return say(s.getProject(ctx, *in))
		})
	route(s, a, huma.Operation{OperationID: "patch-project", Method: http.MethodPatch, Path: "/projects/{project}", Tags: tags,
		Summary:     "Change settings",
		Description: "A change of arm_key, arm_type, case_key or zone recomputes every session's arm, day and case before it answers; planning waits meanwhile, runs keep the settings they were planned with."},
		func(ctx context.Context, in *patchProjectInput) (*answer[Project], error) {
			return say(s.patchProject(ctx, in.Project, in.Body))
		})
	route(s, a, huma.Operation{OperationID: "delete-project", Method: http.MethodDelete, Path: "/projects/{project}", Tags: tags,
		Summary: "Remove a project and all that belongs to it", DefaultStatus: http.StatusNoContent},
		func(ctx context.Context, in *ProjectInput) (*struct{}, error) {
			p, err := s.project(ctx, *in)
			if err != nil {
				return nil, err
			}
			if err := s.Store.Projects().Delete(ctx, p.ID, s.Harnesses.Leaving); err != nil {
				return nil, err
			}
			s.Harnesses.RemoveLeft(ctx)
			return nil, nil
		})
}

func (s *server) listProjects(ctx context.Context) (Page[Project], error) {
	projects, err := s.Store.Projects().List(ctx)
	views := make([]Project, len(projects))
	for i, p := range projects {
		views[i] = projectView(p)
	}
	return pageOf(views, ""), err
}

func (s *server) createProject(ctx context.Context, n NewProject) (Project, error) {
	if err := assay.ValidProjectName(n.Name); err != nil {
		return Project{}, err
	}
	settings := assay.DefaultSettings()
	if n.Settings != nil {
		settings = n.Settings.apply(settings)
	}
	if err := settings.Validate(); err != nil {
		return Project{}, err
	}
	p, err := s.Store.Projects().Create(ctx, n.Name, settings, s.Now())
	return projectView(p), err
}

func (s *server) getProject(ctx context.Context, in ProjectInput) (Project, error) {
	p, err := s.project(ctx, in)
	if err != nil {
		return Project{}, err
	}
	totals, err := s.Store.Sessions().Count(ctx, p.ID)
	v := projectView(p)
	v.Totals = &totals
	if err == nil && p.Settings.MonthBudget != nil {
		v.Month, err = s.month(ctx, p, s.Now())
	}
	return v, err
}
