package main

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
)

type projectCmd struct {
	Create projectCreateCmd `cmd:"" help:"Make a project."`
	List   projectListCmd   `cmd:"" help:"List projects."`
	Show   projectShowCmd   `cmd:"" help:"Show a project's settings and totals."`
	Set    projectSetCmd    `cmd:"" help:"Change a project's settings."`
	Delete projectDeleteCmd `cmd:"" help:"Delete a project and all that belongs to it."`
}

// settingsFlags change the settings that are given and leave the others.
type settingsFlags struct {
	ArmKey      *string        `placeholder:"KEY" help:"Metadata key of a session's first turn that names its arm; empty for none."`
	ArmType     *assay.ArmType `placeholder:"TYPE" enum:"bool,string" help:"What that key holds: bool (true is treatment, false control) or string."`
	CaseKey     *string        `placeholder:"KEY" help:"Metadata key of the task that a session attempts; empty for none."`
	Zone        *string        `placeholder:"ZONE" help:"Time zone in which a day is a day, e.g. Europe/Berlin."`
	Settle      *time.Duration `placeholder:"TIME" help:"Quiet time after its last turn before a session may be graded, e.g. 10m."`
	PerStratum  *int           `placeholder:"N" help:"Default sessions per day and arm."`
	Concurrency *int           `placeholder:"N" help:"Default judge calls in flight per run, at least 1."`
	OneGradeRun *bool          `negatable:"" help:"At most one active grade run, whatever its judges."`
	MonthBudget *budgetChange  `placeholder:"USD" help:"Hard budget of all runs of the project in one calendar month, or none."`
}

func (s settingsFlags) patch() api.SettingsPatch {
	return api.SettingsPatch{ArmKey: s.ArmKey, ArmType: s.ArmType, CaseKey: s.CaseKey, Zone: s.Zone, Settle: s.Settle,
		PerStratum: s.PerStratum, Concurrency: s.Concurrency, OneGradeRun: s.OneGradeRun, MonthBudget: change(s.MonthBudget)}
}

type projectCreateCmd struct {
	Name string `arg:"" help:"Name: a-z, 0-9, dot, dash, underscore."`
	settingsFlags
}

func (projectCreateCmd) Help() string {
	return "Example:\n\n    assay project create support --arm-key variant --zone Europe/Berlin"
}

func (c *projectCreateCmd) Run(a *app) error {
	if err := assay.ValidProjectName(c.Name); err != nil {
		return err
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	patch := c.patch()
	p, err := d.CreateProject(a.ctx, c.Name, &patch)
	if err != nil {
		return err
	}
	return a.printProject(p)
}

type projectListCmd struct{}

func (projectListCmd) Help() string { return "Example:\n\n    assay project list" }

func (c *projectListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	projects, err := d.Projects(a.ctx)
	if err != nil {
		return err
	}
	t := newTable(a.out, "PROJECT", "ARM KEY", "CASE KEY", "ZONE", "CREATED")
	for _, p := range projects {
		if a.JSON {
			if err := a.printLine(p); err != nil {
				return err
			}
			continue
		}
		t.row(p.Name, p.Settings.ArmKey, p.Settings.CaseKey, p.Settings.Zone, moment(&p.CreatedAt, time.UTC))
	}
	if a.JSON {
		return nil
	}
	return t.end()
}

type projectShowCmd struct {
	Name string `arg:"" optional:"" help:"Name; without it the project of --project."`
}

func (projectShowCmd) Help() string { return "Example:\n\n    assay project show support" }

func (c *projectShowCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	p, err := d.Project(a.ctx, orProject(a, c.Name))
	if err != nil {
		return err
	}
	return a.printProject(p)
}

type projectSetCmd struct {
	Name string `arg:"" optional:"" help:"Name; without it the project of --project."`
	settingsFlags
}

func (projectSetCmd) Help() string {
	return `Changing the arm key, the case key or the zone computes arms, cases and days of every stored session again, from its first turn; runs keep the settings that they were planned with.

Example:

    assay project set support --arm-key variant --arm-type bool`
}

func (c *projectSetCmd) Run(a *app) error {
	if c.settingsFlags == (settingsFlags{}) {
		return misuse("no setting is given").WithHint("for instance --zone Europe/Berlin")
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	p, err := d.PatchProject(a.ctx, orProject(a, c.Name), c.patch())
	if err != nil {
		return err
	}
	return a.printProject(p)
}

type projectDeleteCmd struct {
	Name string `arg:"" help:"Name."`
	Yes  bool   `help:"Do it; without it the command only says what would go."`
}

func (projectDeleteCmd) Help() string {
	return "Sessions, judges, runs with their output, and verdicts go with it. Refused while a run is active.\n\nExample:\n\n    assay project delete support --yes"
}

func (c *projectDeleteCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	p, err := d.Project(a.ctx, c.Name)
	if err != nil {
		return err
	}
	if !c.Yes {
		return misuse("deleting project %s would remove %s with every verdict on them", p.Name, sessionsOf(p)).WithHint("add --yes to do it")
	}
	if err := d.DeleteProject(a.ctx, c.Name); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(map[string]string{"deleted": c.Name})
	}
	a.print("project %s is deleted\n", c.Name)
	return nil
}

func sessionsOf(p api.Project) string {
	if p.Totals == nil {
		return "its sessions"
	}
	return count(p.Totals.Sessions, "session")
}

func orProject(a *app, name string) string {
	if name == "" {
		return a.Project
	}
	return name
}

func (a *app) printProject(p api.Project) error {
	if a.JSON {
		return a.printJSON(p)
	}
	s := p.Settings
	a.print("project       %s\n", p.Name)
	for _, row := range [][2]string{
		{"arm key", fmt.Sprintf("%s (%s)", orNone(s.ArmKey), s.ArmType)}, {"case key", orNone(s.CaseKey)}, {"zone", s.Zone},
		{"settle", s.Settle.String()}, {"per stratum", humanize.Comma(int64(s.PerStratum))}, {"concurrency", humanize.Comma(int64(s.Concurrency))},
		{"grade runs", gradeRuns(s.OneGradeRun)}, {"month budget", monthBudget(p)},
	} {
		a.print("%-13s %s\n", row[0], row[1])
	}
	if t := p.Totals; t != nil {
		a.print("%-13s %s, %s, %s, %s\n", "holds", count(t.Sessions, "session"), count(t.Contents, "content version"),
			count(t.Labels, "label"), humanize.Bytes(uint64(t.Bytes)))
	}
	return nil
}

func gradeRuns(one bool) string {
	if one {
		return "one at a time"
	}
	return "one at a time per judge"
}

func monthBudget(p api.Project) string {
	switch {
	case p.Settings.MonthBudget == nil:
		return "none"
	case p.Month == nil:
		return "USD " + p.Settings.MonthBudget.String()
	}
	return "USD " + p.Settings.MonthBudget.String() + ": " + monthText(*p.Month)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
