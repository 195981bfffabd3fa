package assay

import (
	"regexp"
	"time"
)

// ProjectID is the row number of a project. People name projects; only rows use the number.
type ProjectID int64

// Project is a tenant: everything belongs to one.
type Project struct {
	ID        ProjectID
	Name      string
	Settings  Settings
	Rekeying  bool // arms, days or cases are being recomputed after a change of Settings; planning waits
	CreatedAt time.Time
}

// Settings are what a person may change about a project. A run keeps the ones it was planned with.
type Settings struct {
	ArmKey      string        `json:"arm_key"`                    // metadata key of the first turn; "" makes every session untagged
	ArmType     ArmType       `json:"arm_type"`                   // what that key holds
	CaseKey     string        `json:"case_key"`                   // metadata key of the task a session attempts; "" means none
	Zone        string        `json:"zone"`                       // IANA name, e.g. Europe/Berlin; days are calendar days there
	Settle      time.Duration `json:"settle"`                     // quiet time before an imported session is eligible, ns in JSON
	PerStratum  int           `json:"per_stratum"`                // default n per stratum
	Concurrency int           `json:"concurrency"`                // default judge calls in flight per run, at least 1
	OneGradeRun bool          `json:"one_grade_run"`              // at most one active grade run in the project, whatever its judges
	MonthBudget *USD          `json:"month_budget_usd,omitempty"` // hard: of all runs of the project in one calendar month of its zone
}

// Location is the zone in which days and months of the project are; UTC where this machine does not know
// its name.
func (s Settings) Location() *time.Location {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// DefaultSettings are those of a new project.
func DefaultSettings() Settings {
	return Settings{ArmKey: "arm", ArmType: ArmString, CaseKey: "case", Zone: "UTC", Settle: 10 * time.Minute, PerStratum: 200, Concurrency: 10}
}

// MaxConcurrency bounds what one run may have in flight; above it the operating system's sockets
// and the provider give out before the engine does.
const MaxConcurrency = 10_000

var projectName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$`)

// ValidProjectName says whether name can name a project.
func ValidProjectName(name string) error {
	if projectName.MatchString(name) {
		return nil
	}
	return Errorf(CodeInvalid, "project name %q is not valid", name).
		WithHint("use 1 to 64 characters: a-z, 0-9, dot, dash, underscore; begin and end with a letter or a digit")
}

// Validate checks s whole and says which field is wrong.
func (s Settings) Validate() error {
	if s.ArmType != ArmBool && s.ArmType != ArmString {
		return Errorf(CodeInvalid, "arm_type %q is not known", s.ArmType).WithHint("use bool or string")
	}
	if _, err := Zone(s.Zone); err != nil {
		return Errorf(CodeInvalid, "zone %q is not a known time zone", s.Zone).WithHint("use an IANA name such as UTC or Europe/Berlin")
	}
	if s.Settle < 0 {
		return Errorf(CodeInvalid, "settling time %s is negative", s.Settle).WithHint("use 0 or more, for instance 10m")
	}
	if s.PerStratum < 1 {
		return Errorf(CodeInvalid, "per_stratum %d is less than 1", s.PerStratum).WithHint("it is the number of sessions to grade per day and arm")
	}
	if s.MonthBudget != nil {
		if err := s.MonthBudget.Validate(); err != nil {
			return err
		}
	}
	return ValidConcurrency(s.Concurrency)
}

// ValidConcurrency refuses 0 because a run that may call nobody would wait for ever while it looks alive.
func ValidConcurrency(n int) error {
	if n >= 1 && n <= MaxConcurrency {
		return nil
	}
	return Errorf(CodeInvalid, "concurrency %d is out of range", n).
		WithHint("use 1 to %d; a run with 0 would never end: use `assay pause` to stop calls", MaxConcurrency)
}
