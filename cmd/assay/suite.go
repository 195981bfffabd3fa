package main

import (
	"io"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

type suiteCmd struct {
	Apply  suiteApplyCmd  `cmd:"" help:"Store the suites of a file."`
	List   suiteListCmd   `cmd:"" help:"List suites and how they stand."`
	Show   suiteShowCmd   `cmd:"" help:"Show a suite: definition, newest runs, schedules."`
	Run    suiteRunCmd    `cmd:"" help:"Start a suite's harness and follow it to its end."`
	Delete suiteDeleteCmd `cmd:"" help:"Delete a suite; its runs stay."`
}

type suiteApplyCmd struct {
	Files []string `arg:"" name:"file" help:"YAML files; - is standard input."`
}

func (suiteApplyCmd) Help() string {
	return `A suite names a command that Assay may start: its arguments, parameters, environment, limits and result files. What is wrong is said with its line, and then nothing of the file is stored. Runs keep the definition that they were started with. Schedules in the file are left for "assay schedule apply".

Example:

    assay suite apply assay.yaml`
}

func (c *suiteApplyCmd) Run(a *app) error {
	_, err := applyDefinitions(a, c.Files, func(d *door, name string, file api.DefinitionFile) error {
		out, err := d.ApplySuites(a.ctx, a.Project, file)
		if err != nil {
			return err
		}
		for _, v := range out.Suites {
			if err := a.printSuiteApplied(v); err != nil {
				return err
			}
		}
		if n := len(out.Left); n > 0 {
			a.say("%s: `assay schedule apply %s` applies %s too: %s", name, name, count(int64(n), "schedule"), strings.Join(out.Left, ", "))
		}
		return nil
	})
	return err
}

func (a *app) printSuiteApplied(v api.SuiteView) error {
	if a.JSON {
		return a.printLine(v)
	}
	what := "unchanged, version"
	switch {
	case v.Changed == nil || !*v.Changed:
	case v.Previous == v.Version:
		what = "changed, and what it runs is not: still version"
	default:
		what = "now version"
	}
	a.print("suite %s is %s %s: %s\n", v.Name, what, shortHash(v.Version), assay.ShellLine(v.Def.Command))
	return nil
}

type suiteListCmd struct{}

func (suiteListCmd) Help() string { return "Example:\n\n    assay suite list" }

func (c *suiteListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	suites, err := d.Suites(a.ctx, a.Project)
	if err != nil {
		return err
	}
	t := newTable(a.out, "SUITE", "STATE", "RUN", "RESULT", "STARTED", "TOOK", "WHY", "DESCRIPTION")
	for _, v := range suites {
		if a.JSON {
			if err := a.printLine(v); err != nil {
				return err
			}
			continue
		}
		run, result, started, took, why := "-", "-", "-", "-", ""
		if r := v.Newest; r != nil {
			run, result, started, took = r.ID.String(), resultCell(*r), moment(r.StartedAt, time.UTC), tookText(r.Run)
			why = because(api.RunView{RunRow: *r})
		}
		t.row(v.Name, standing(v), run, result, started, took, short(why, 50), short(v.Def.Description, 60))
	}
	if a.JSON {
		return nil
	}
	if len(suites) == 0 {
		a.say("no suite is applied: `assay suite apply FILE` does it, docs/SUITES.md shows how one is written")
	}
	return t.end()
}

// standing is how a suite stands: as its newest run does, or idle where it never ran.
func standing(v api.SuiteView) string {
	if v.Newest == nil {
		return v.State
	}
	return phase(api.RunView{RunRow: *v.Newest})
}

// tookText is how long a run took, or takes so far.
func tookText(r assay.Run) string {
	switch {
	case r.StartedAt == nil:
		return "-"
	case r.EndedAt == nil:
		return span(time.Since(*r.StartedAt)) + " so far"
	}
	return span(r.EndedAt.Sub(*r.StartedAt))
}

type suiteShowCmd struct {
	Name string `arg:"" help:"Name of the suite."`
}

func (suiteShowCmd) Help() string {
	return `Prints the definition as YAML as it was applied, with state, newest runs and schedules as comments before it.

Example:

    assay suite show nightly`
}

func (c *suiteShowCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	v, err := d.Suite(a.ctx, a.Project, c.Name)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(v)
	}
	a.print("# suite %s, version %s, applied %s\n# state %s\n", v.Name, string(v.Version), moment(&v.UpdatedAt, time.UTC), standing(v))
	for _, r := range v.Runs {
		a.print("# %s %s", r.ID.String(), phase(api.RunView{RunRow: r}))
		if why := because(api.RunView{RunRow: r}); why != "" {
			a.print(": %s", why)
		}
		a.print(" (created %s)\n", moment(&r.CreatedAt, time.UTC))
	}
	if len(v.Schedules) > 0 {
		a.print("# schedules %s\n", strings.Join(v.Schedules, ", "))
	}
	a.print("# folder %s\n", v.Def.Dir)
	_, err = io.WriteString(a.out, v.Source)
	return err
}

type suiteDeleteCmd struct {
	Name string `arg:"" help:"Name of the suite."`
}

func (suiteDeleteCmd) Help() string {
	return `Nothing of the name can be started any more. Its runs stay, with the definition that each was started with. Refused while a run of it is active or a schedule starts it.

Example:

    assay suite delete nightly`
}

func (c *suiteDeleteCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	if err := d.DeleteSuite(a.ctx, a.Project, c.Name); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(map[string]string{"deleted": c.Name})
	}
	a.print("suite %s is deleted; its runs stay: `assay runs --suite %s`\n", c.Name, c.Name)
	return nil
}
