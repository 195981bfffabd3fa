package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type runsCmd struct {
	List   runsListCmd   `cmd:"" default:"withargs" help:"List runs, newest first."`
	Show   runsShowCmd   `cmd:"" help:"Show one run: state, counts, spend, sample."`
	Item   runsItemCmd   `cmd:"" help:"Show every call that was made for an item: class, cost, prompt, raw answer."`
	Errors runsErrorsCmd `cmd:"" help:"Show what has no verdict, with the errors and the raw answers."`
	Cases  runsCasesCmd  `cmd:"" help:"List what the result files of a suite's run held."`
	Set    runsSetCmd    `cmd:"" help:"Change a run while it runs."`
}

type runsListCmd struct {
	Limit int      `default:"20" help:"Rows at most; 0 is all."`
	Suite string   `placeholder:"NAME" help:"Only runs of this suite, or of external harnesses of this name."`
	Sched string   `name:"schedule" placeholder:"NAME" help:"Only runs that this schedule started, or that a person started for it."`
	Kind  string   `placeholder:"KIND" enum:"grade,single,suite,external," default:"" help:"Only runs of this kind: grade, single (of one session), suite, external."`
	State []string `placeholder:"STATE" enum:"queued,running,paused,completed,failed,cancelled,lost" help:"Only runs in this state: queued, running, paused, completed, failed, cancelled, lost."`
}

func (runsListCmd) Help() string {
	return "Only looks: it never starts a call, also when runs wait.\n\nExample:\n\n    assay runs --state running --state paused\n    assay runs --suite nightly --limit 5"
}

func (c *runsListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	q := api.RunQuery{Project: a.Project, Suite: c.Suite, Schedule: c.Sched, Kind: assay.RunKind(c.Kind)}
	for _, s := range c.State {
		q.States = append(q.States, assay.RunState(s))
	}
	t := newTable(a.out, "RUN", "KIND", "STATE", "WHAT", "DONE", "RESULT", "TOOK", "CREATED", "BY", "WHY")
	more, err := each(a.ctx, c.Limit,
		func(ctx context.Context, p store.Page) (api.Page[api.RunRow], error) { return d.Runs(ctx, q, p) },
		func(r api.RunRow) error {
			if a.JSON {
				return a.printLine(r)
			}
			t.row(r.ID.String(), string(r.Kind), phase(api.RunView{RunRow: r}), whatCell(r.Run), doneCell(r), resultCell(r), tookText(r.Run),
				moment(&r.CreatedAt, time.UTC), byCell(r.Run), short(because(api.RunView{RunRow: r}), 60))
			return nil
		})
	if err != nil || a.JSON {
		return err
	}
	return a.endTable(t, more)
}

// whatCell names a run's suite, or its judges.
func whatCell(r assay.Run) string {
	if r.Suite != nil {
		return short(r.Suite.Name, judgesWidth)
	}
	return judgesCell(judgeNames(r.Spec.Judges))
}

// resultCell is how what a run is about ended so far: cases as their harness says, sessions as their judges do.
func resultCell(r api.RunRow) string {
	switch c := r.Counts; {
	case r.Cases != nil:
		return r.Cases.Parts()
	case r.Suite != nil || c.Total == 0:
		return "-"
	default:
		return strings.Join(append([]string{humanize.Comma(c.Graded) + " graded"}, restParts(c)...), ", ")
	}
}

// byCell is the person or the schedule that started a run.
func byCell(r assay.Run) string {
	if r.By == "" && r.Suite != nil && r.Suite.Schedule != "" {
		return short("schedule "+r.Suite.Schedule, byWidth)
	}
	return orDash(short(r.By, byWidth))
}

// byWidth is how wide the cell may be that says who started a run.
const byWidth = 24

// doneCell is how far a run is: a harness says it itself, and has no items before its end.
func doneCell(r api.RunRow) string {
	if h := r.Harness; h != nil && r.Counts.Total == 0 {
		if h.Progress == nil {
			return "-"
		}
		return farText(*h.Progress)
	}
	return fmt.Sprintf("%s/%s", humanize.Comma(r.Counts.Total-r.Counts.Pending), humanize.Comma(r.Counts.Total))
}

func judgeNames(judges []assay.RunJudge) []string {
	names := make([]string, len(judges))
	for i, j := range judges {
		names[i] = j.Name
	}
	return names
}

// judgesWidth is how wide the cell of a table may be that names judges.
const judgesWidth = 32

// judgesCell names judges where they fit, and else counts them.
func judgesCell(names []string) string {
	text := strings.Join(names, ",")
	if len(names) > 1 && len([]rune(text)) > judgesWidth {
		return count(int64(len(names)), "judge")
	}
	return short(text, judgesWidth)
}

type runsShowCmd struct {
	runArg
}

func (runsShowCmd) Help() string { return "Example:\n\n    assay runs show r3" }

func (c *runsShowCmd) Run(a *app) error {
	d, id, err := c.open(a, a.look)
	if err != nil {
		return err
	}
	v, err := d.Run(a.ctx, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(v)
	}
	if err := a.printRun(v); err != nil {
		return err
	}
	return a.sayAsleep(d, v)
}

type runsSetCmd struct {
	runArg
	Concurrency *int          `short:"c" placeholder:"N" help:"Judge calls in flight at most. After lowering, no call starts until fewer are in flight."`
	Budget      *budgetChange `placeholder:"USD" help:"Hard budget of the run, or none."`
}

func (runsSetCmd) Help() string {
	return "It takes effect at once, without a restart. A run that paused because its budget was reached goes on with `assay resume`.\n\nExample:\n\n    assay runs set r3 --concurrency 40\n    assay runs set r3 --budget 20"
}

func (c *runsSetCmd) Run(a *app) error {
	patch := api.RunPatch{Concurrency: c.Concurrency, Budget: change(c.Budget)}
	if patch == (api.RunPatch{}) {
		return misuse("nothing is given to set").WithHint("for instance --concurrency 40 or --budget 20")
	}
	if c.Concurrency != nil {
		if err := assay.ValidConcurrency(*c.Concurrency); err != nil {
			return err
		}
	}
	d, id, err := c.open(a, a.look)
	if err != nil {
		return err
	}
	v, err := d.PatchRun(a.ctx, id, patch)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(v)
	}
	if c.Concurrency != nil {
		a.print("%s keeps at most %s in flight\n", v.ID.String(), count(int64(v.Concurrency), "call"))
	}
	if c.Budget != nil {
		a.print("%s has the budget %s\n", v.ID.String(), budgetText(v))
		switch {
		case v.BudgetLeft != nil && *v.BudgetLeft == 0 && !v.State.Terminal():
			a.print("nothing is left of it: the run pauses before its next call that may cost anything\n")
		case v.State == assay.RunPaused && v.Reason == assay.Reason(assay.ClassBudget):
			a.print("it is paused: `assay resume %s` goes on\n", v.ID.String())
		}
	}
	return nil
}
