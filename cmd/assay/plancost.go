package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
)

// printCost says what a judge's calls would take.
func (a *app) printCost(j engine.JudgePreview, repeats int) {
	c := j.Cost
	if c == nil {
		return
	}
	a.print("\n%s asks %s\n", j.Name, c.Model.String())
	a.print("  prompts  %s\n", promptsText(j, int64(max(repeats, 1))))
	switch {
	case noneFits(j, int64(max(repeats, 1))):
		return
	case allTooLong(c):
		a.print("  USD      unknown\n")
		return
	}
	a.print("  tokens   %s\n", planTokens(c))
	a.print("  price    %s\n", perMillion(c.Price))
	a.print("  USD      %s\n", rangeText(c))
	if c.Seconds != nil {
		limits := ""
		if c.Limited {
			limits = " and the limits set for its model"
		}
		a.print("  time     about %s at this judge's pace so far%s\n", span(time.Duration(*c.Seconds*float64(time.Second))), limits)
	}
}

// allTooLong says that every prompt that was made is too long for the model. Of the items whose prompts
// were not made it says nothing.
func allTooLong(c *engine.CostPreview) bool { return c.Prompts > 0 && c.TooLong == c.Prompts }

// noneFits says that no item's prompt fits.
func noneFits(j engine.JudgePreview, repeats int64) bool {
	return allTooLong(j.Cost) && madeAll(j, repeats)
}

// madeAll says that the prompts that were made are all that a run would send.
func madeAll(j engine.JudgePreview, repeats int64) bool {
	return j.Cost.Prompts*repeats >= j.Items-j.Reused
}

func promptsText(j engine.JudgePreview, repeats int64) string {
	c := j.Cost
	text := comma(c.Prompts) + " made"
	if !madeAll(j, repeats) {
		text += ", a random part, scaled up"
	}
	if c.Cut > 0 {
		text += fmt.Sprintf("; %s with a part of the transcript left out", ofPrompts(c.Cut, c.Prompts))
	}
	switch {
	case noneFits(j, repeats):
		text += "; all are too long for the model: every item would end ungradable, without a call and at no cost"
	case allTooLong(c):
		text += "; all that were made are too long for the model: such items end ungradable, at no cost"
	case c.TooLong > 0:
		text += fmt.Sprintf("; %s too long for the model: ungradable, at no cost", ofPrompts(c.TooLong, c.Prompts))
	}
	return text
}

func ofPrompts(n, of int64) string {
	return fmt.Sprintf("%s (%d%%)", comma(n), int64(math.Ceil(100*float64(n)/float64(max(of, 1)))))
}

func planTokens(c *engine.CostPreview) string {
	in := comma(c.Input) + " in"
	if !c.Exact {
		in = "about " + in + " (estimated from the length: no tokenizer for " + c.Model.Model + ")"
	}
	if c.Output == 0 {
		return in + ", out without a bound"
	}
	return in + ", at most " + comma(c.Output) + " out"
}

// rangeText is what the calls cost at least and at most.
func rangeText(c *engine.CostPreview) string {
	if c.Price == nil {
		return "unknown"
	}
	text := atLeast(c.Exact) + orUnknown(c.Least)
	if c.Expected != nil {
		text += ", about " + c.Expected.Short()
	}
	return text + ", at most " + orUnknown(c.Most)
}

func atLeast(exact bool) string {
	if exact {
		return "at least "
	}
	return "estimated at least "
}

// runCost is what a run's calls cost, over its judges.
type runCost struct {
	least, most assay.USD
	unknown     []string // judges of which nobody knows what their calls cost
	known       bool     // of some judge it is known
	bounded     bool     // most holds for those
	exact       bool     // least is counted, not estimated
}

func costOf(p engine.Preview) runCost {
	r, repeats := runCost{bounded: true, exact: true}, int64(max(p.Spec.Repeats, 1))
	for _, j := range p.Judges {
		switch c := j.Cost; {
		case c != nil && allTooLong(c) && !madeAll(j, repeats):
			r.unknown = append(r.unknown, j.Name)
		case j.Calls == 0:
		case c == nil || c.Price == nil || c.Least == nil:
			r.unknown = append(r.unknown, j.Name)
		default:
			r.known, r.least, r.exact = true, r.least+*c.Least, r.exact && c.Exact
			if c.Most == nil {
				r.bounded = false
			} else {
				r.most += *c.Most
			}
		}
	}
	return r
}

// planCost sums over the judges. A judge whose cost is not known makes the sum unknown.
func planCost(p engine.Preview, budget *assay.USD) string {
	r := costOf(p)
	if !r.known && r.unknown == nil {
		return "USD 0.0000"
	}
	text := "USD "
	switch {
	case !r.known:
		text += "unknown"
	case !r.bounded:
		text += atLeast(r.exact) + r.least.Short()
	case r.exact:
		text += r.least.Short() + " to " + r.most.Short()
	default:
		text += "about " + r.least.Short() + " to " + r.most.Short()
	}
	if r.known && r.unknown != nil {
		text += " + unknown for " + strings.Join(r.unknown, ", ")
	}
	text += "; retries come on top of the calls"
	if budget != nil {
		if why := r.within(*budget); why != "" {
			text += "; the budget of USD " + budget.String() + " " + why
		}
	}
	return text
}

// within says why an amount may not be enough, or "" where it is.
func (r runCost) within(left assay.USD) string {
	switch {
	case r.unknown == nil && r.bounded && r.most <= left:
		return ""
	case left == 0:
		return "lets no call leave that may cost anything: the run would pause before the first"
	case r.exact && r.least > left:
		return "does not suffice: the run would pause there"
	}
	return "may not suffice: the run would pause there"
}

// planMonth is what is left of the month's budget, and whether that is enough.
func planMonth(p api.Plan) string {
	m := p.Month
	if m == nil || m.Budget == nil || m.Left == nil {
		return ""
	}
	text := "the month's budget of USD " + m.Budget.String() + " has " + m.Left.Short() + " left"
	why := costOf(p.Preview).within(*m.Left)
	if why == "" {
		return text + ", enough for this run"
	}
	return text + ", which " + why
}
