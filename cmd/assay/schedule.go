package main

import (
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
)

type scheduleCmd struct {
	Apply  scheduleApplyCmd  `cmd:"" help:"Store the schedules of a file."`
	List   scheduleListCmd   `cmd:"" help:"List schedules with their next and last ticks."`
	Show   scheduleShowCmd   `cmd:"" help:"Show a schedule."`
	Pause  schedulePauseCmd  `cmd:"" help:"Keep a schedule from starting anything."`
	Resume scheduleResumeCmd `cmd:"" help:"Let a paused schedule go on with its next tick."`
	RunNow scheduleRunNowCmd `cmd:"" help:"Start now what a schedule starts."`
	Delete scheduleDeleteCmd `cmd:"" help:"Delete a schedule; its runs stay."`
}

type scheduleApplyCmd struct {
	Files []string `arg:"" name:"file" help:"YAML files; - is standard input."`
}

func (scheduleApplyCmd) Help() string {
	return `A schedule starts a suite, or a grade run over what settled since the last one, at the times of a cron line in a zone. It starts only while a process drives runs, for instance "assay serve"; what it owes then is in its catch-up rule. Suites in the file are left for "assay suite apply".

Example:

    assay schedule apply assay.yaml`
}

func (c *scheduleApplyCmd) Run(a *app) error {
	d, err := applyDefinitions(a, c.Files, func(d *door, _ string, file api.DefinitionFile) error {
		out, err := d.ApplySchedules(a.ctx, a.Project, file)
		if err != nil {
			return err
		}
		for _, v := range out.Schedules {
			if err := a.printScheduleApplied(v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.sayUnticked(d)
}

// sayUnticked tells that schedules start nothing at the moment.
func (a *app) sayUnticked(d *door) error {
	o, err := d.Owner(a.ctx)
	if err == nil && !o.Ticking {
		a.say("no server runs: schedules start nothing until `assay serve` does")
	}
	return err
}

func (a *app) printScheduleApplied(v api.ScheduleView) error {
	if a.JSON {
		return a.printLine(v)
	}
	what := "is unchanged"
	if v.Changed != nil && *v.Changed {
		what = "is applied"
	}
	a.print("schedule %s %s: %s, next %s\n", v.Name, what, startsText(v.Def), nextText(v.Schedule))
	return nil
}

// startsText is what a schedule starts.
func startsText(def assay.ScheduleDef) string {
	if def.Suite != nil {
		return "suite " + def.Suite.Name
	}
	return "a grade run"
}

// nextText is a schedule's next tick in its own zone.
func nextText(s assay.Schedule) string {
	if s.Paused {
		return "paused"
	}
	zone, err := time.LoadLocation(s.Def.Zone)
	if err != nil {
		zone = time.UTC
	}
	if s.NextAt != nil && time.Since(*s.NextAt) > time.Second {
		return moment(s.NextAt, zone) + ", still owed"
	}
	return moment(s.NextAt, zone)
}

// lastText is how a schedule's last tick ended.
func lastText(s assay.Schedule) string {
	t := s.Last
	if t == nil {
		return "-"
	}
	zone, err := time.LoadLocation(s.Def.Zone)
	if err != nil {
		zone = time.UTC
	}
	text := moment(&t.At, zone) + " " + string(t.Outcome)
	if t.Run != 0 {
		text += " " + t.Run.String()
	}
	if t.Sentence != "" {
		text += ": " + t.Sentence
	}
	return text
}

type scheduleListCmd struct{}

func (scheduleListCmd) Help() string { return "Example:\n\n    assay schedule list" }

func (c *scheduleListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	list, err := d.Schedules(a.ctx, a.Project)
	if err != nil {
		return err
	}
	t := newTable(a.out, "SCHEDULE", "STARTS", "CRON", "ZONE", "NEXT", "LAST")
	for _, v := range list {
		if a.JSON {
			if err := a.printLine(v); err != nil {
				return err
			}
			continue
		}
		t.row(v.Name, startsText(v.Def), v.Def.Cron, v.Def.Zone, nextText(v.Schedule), short(lastText(v.Schedule), 80))
	}
	if a.JSON {
		return nil
	}
	if err := t.end(); err != nil || len(list) == 0 {
		return err
	}
	return a.sayUnticked(d)
}

// scheduleArg names a schedule.
type scheduleArg struct {
	Name string `arg:"" help:"Name of the schedule."`
}

// do asks for something and prints the schedule as it is then.
func (s scheduleArg) do(a *app, ask func(context.Context, *door) (api.ScheduleView, error)) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	v, err := ask(a.ctx, d)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(v)
	}
	a.print("schedule %s: %s, next %s\n", v.Name, startsText(v.Def), nextText(v.Schedule))
	return nil
}

type scheduleShowCmd struct{ scheduleArg }

func (scheduleShowCmd) Help() string { return "Example:\n\n    assay schedule show nightly" }

func (c *scheduleShowCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	v, err := d.Schedule(a.ctx, a.Project, c.Name)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(v)
	}
	a.print("# schedule %s, applied %s\n# next %s\n# last %s\n", v.Name, moment(&v.UpdatedAt, time.UTC), nextText(v.Schedule), lastText(v.Schedule))
	if _, err = io.WriteString(a.out, strings.TrimRight(v.Source, "\n")+"\n"); err != nil {
		return err
	}
	return a.sayUnticked(d)
}

type schedulePauseCmd struct{ scheduleArg }

func (schedulePauseCmd) Help() string { return "Example:\n\n    assay schedule pause nightly" }

func (c *schedulePauseCmd) Run(a *app) error {
	return c.do(a, func(ctx context.Context, d *door) (api.ScheduleView, error) {
		return d.PauseSchedule(ctx, a.Project, c.Name)
	})
}

type scheduleResumeCmd struct{ scheduleArg }

func (scheduleResumeCmd) Help() string {
	return "Ticks that passed while it was paused are not made up for.\n\nExample:\n\n    assay schedule resume nightly"
}

func (c *scheduleResumeCmd) Run(a *app) error {
	return c.do(a, func(ctx context.Context, d *door) (api.ScheduleView, error) {
		return d.ResumeSchedule(ctx, a.Project, c.Name)
	})
}

type scheduleRunNowCmd struct {
	scheduleArg
	IdempotencyKey string `placeholder:"KEY" help:"Repeating the command with the same key gives the same run again."`
}

func (scheduleRunNowCmd) Help() string {
	return "Its ticks stay as they are.\n\nExample:\n\n    assay schedule run-now nightly"
}

func (c *scheduleRunNowCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	v, err := d.RunSchedule(a.ctx, a.Project, c.Name, who(), cmp.Or(c.IdempotencyKey, client.NewKey()))
	if err != nil {
		return err
	}
	if v.Replayed {
		a.say("%s was accepted before with this key", v.ID)
	}
	if a.JSON {
		return a.printJSON(v)
	}
	a.print("%s\n", v.ID.String())
	return nil
}

type scheduleDeleteCmd struct{ scheduleArg }

func (scheduleDeleteCmd) Help() string { return "Example:\n\n    assay schedule delete nightly" }

func (c *scheduleDeleteCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	if err := d.DeleteSchedule(a.ctx, a.Project, c.Name); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(map[string]string{"deleted": c.Name})
	}
	a.print("schedule %s is deleted\n", c.Name)
	return nil
}
