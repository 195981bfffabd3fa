package main

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	says "assay/internal/report/number"
	"assay/internal/report/print"
	"assay/internal/report/propose"
	"assay/internal/stats"
)

// marginFlags ask for what a sample should reach, in place of its n.
type marginFlags struct {
	Margin    *float64 `placeholder:"HALF" group:"sample" help:"In place of -n: as many sessions as a report needs for this half width of the interval of the pass rate; 0.02 is two points to either side. Proposes n for each day and arm."`
	ForBudget *dollars `placeholder:"USD" group:"sample" help:"In place of -n: as many sessions as are expected to cost this much. It bounds the sample; --budget bounds the run."`
	Split     string   `placeholder:"SPLIT" group:"sample" help:"How sessions are spread over days and arms: equal, proportional or neyman. Default: the best of them."`
	Target    string   `placeholder:"TARGET" group:"sample" help:"What the margin is of: window, these sessions, or process, what the agent does on traffic like this. Default: window."`
	Expect    *float64 `placeholder:"RATE" group:"sample" help:"The pass rate that is expected. Default: what these judges said before of these days and arms, else 0.5."`
}

// asked says whether sizes are to be proposed.
func (f marginFlags) asked() bool { return f.Margin != nil || f.ForBudget != nil }

// check refuses flags that do not go together.
func (f marginFlags) check(s sampleFlags) error {
	if !f.asked() {
		if f.Split != "" || f.Target != "" || f.Expect != nil {
			return misuse("--split, --target and --expect go with --margin or --for-budget")
		}
		return nil
	}
	if f.Margin != nil && f.ForBudget != nil {
		return misuse("--margin and --for-budget are given").WithHint("give one: n follows from either")
	}
	if s.PerStratum != nil {
		return misuse("-n is given, and a margin or budget that n should follow from").WithHint("leave one of them out")
	}
	if f.Margin != nil && !(*f.Margin > 0 && *f.Margin < 0.5) {
		return misuse("--margin %v is out of range", *f.Margin).WithHint("it is half the width of the interval of a rate, above 0 and below 0.5: 0.02 is two points to either side")
	}
	if f.Expect != nil && !(*f.Expect >= 0 && *f.Expect <= 1) {
		return misuse("--expect %v is out of range", *f.Expect).WithHint("it is the share that passes, 0 to 1")
	}
	if f.Target != "" && f.Target != string(stats.Window) && f.Target != string(stats.Process) {
		return misuse("there is no target %q", f.Target).WithHint("use window or process")
	}
	if _, err := propose.ParseSplit(f.Split); err != nil {
		return misuse("there is no split %q", f.Split).WithHint("use equal, proportional or neyman")
	}
	return nil
}

// propose plans for a margin or a budget.
func (a *app) propose(d *door, q engine.GradeRequest, f marginFlags) (api.Plan, error) {
	ask := api.PlanRequest{GradeRequest: q, ForBudget: amount(f.ForBudget), Split: propose.Split(f.Split), Target: stats.Target(f.Target), Expect: f.Expect}
	if f.Margin != nil {
		ask.Margin = *f.Margin
	}
	return d.Propose(a.ctx, a.Project, ask)
}

// sized is a request by the sizes of the proposal that was asked for, or the best, and says what it is expected to
// give and cost.
func (a *app) sized(d *door, q engine.GradeRequest, f marginFlags) (engine.GradeRequest, error) {
	p, err := a.propose(d, q, f)
	if err != nil {
		return q, a.inEmptyProject(d, err)
	}
	if p.Proposals == nil {
		return q, assay.Errorf(assay.CodeInternal, "the server proposes no sizes").WithHint("is it of an older version? `assay doctor --server` says which")
	}
	one, err := p.Proposals.Pick(propose.Split(f.Split))
	if err != nil {
		return q, err
	}
	q.Sizes = one.Sizes
	a.say("sample: %s; split %s; %s is expected, %s", one.Words, one.Split, says.Percent(p.Proposals.Expected), p.Proposals.Basis)
	return q, nil
}

// printProposals prints what could be graded, above the plan of the chosen one.
func (a *app) printProposals(p api.Plan) error {
	if p.Proposals == nil {
		return nil
	}
	if err := print.Proposals(a.out, *p.Proposals, a.width()); err != nil {
		return err
	}
	switch p.Proposals.Chosen {
	case "":
		a.print("\nNone of them can be graded; by the project's n per day and arm:\n\n")
	default:
		a.print("\nBy the %s split, which `assay grade` takes with the same flags:\n\n", p.Proposals.Chosen)
	}
	return nil
}

// sayUnsampled says which strata have no session in a sample.
func (a *app) sayUnsampled(p api.Plan) {
	var strata, sessions int64
	for _, h := range p.Strata {
		if h.Sampled == 0 {
			strata, sessions = strata+1, sessions+h.Eligible
		}
	}
	if strata > 0 {
		a.print("not sampled: %s of %s; a report counts them with a neighbour of the same arm, or has no number\n", count(sessions, "session"), strataText(strata))
	}
}

// sizesText is how many sessions of each day and arm a run samples.
func sizesText(spec assay.GradeSpec) string {
	if len(spec.Sizes) == 0 {
		return fmt.Sprintf("up to %d per day and arm", spec.PerStratum)
	}
	return "an n of its own for each of " + strataText(int64(len(spec.Sizes)))
}

func strataText(n int64) string {
	if n == 1 {
		return "1 stratum"
	}
	return humanize.Comma(n) + " strata"
}
