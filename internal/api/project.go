package api

import (
	"time"

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
	return s
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
