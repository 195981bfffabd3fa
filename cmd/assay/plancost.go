package main

import (
	"fmt"
	"math"
	"strings"
	"time"

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
	a.print("  tokens   %s\n", planTokens(c))
	a.print("  price    %s\n", perMillion(c.Price))
	a.print("  USD      %s\n", rangeText(c))
	if c.Seconds != nil {
		a.print("  time     about %s at this judge's pace so far\n", span(time.Duration(*c.Seconds*float64(time.Second))))
	}
}

func promptsText(j engine.JudgePreview, repeats int64) string {
	c := j.Cost
	text := comma(c.Prompts) + " made"
	if c.Prompts*repeats < j.Items-j.Reused {
		text += ", a random part, scaled up"
	}
	if c.Cut > 0 {
		text += fmt.Sprintf("; %s with a part of the transcript left out", ofPrompts(c.Cut, c.Prompts))
	}
	if c.TooLong > 0 {
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
		in = "about " + in + " (guessed from the length)"
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
	text := "at least " + orUnknown(c.Least)
	if c.Expected != nil {
		text += ", about " + c.Expected.Short()
	}
	return text + ", at most " + orUnknown(c.Most)
}

// planCost sums over the judges. A judge whose cost is not known makes the sum unknown.
func planCost(p engine.Preview, budget *assay.USD) string {
	var least, most assay.USD
	var unknown []string
	known, bounded := false, true
	for _, j := range p.Judges {
		switch c := j.Cost; {
		case j.Kind == assay.JudgeRules || j.Calls == 0:
		case c == nil || c.Price == nil || c.Least == nil:
			unknown = append(unknown, j.Name)
		default:
			known, least = true, least+*c.Least
			if c.Most == nil {
				bounded = false
			} else {
				most += *c.Most
			}
		}
	}
	if !known && unknown == nil {
		return "USD 0.0000"
	}
	text := "USD "
	switch {
	case !known:
		text += "unknown"
	case bounded:
		text += least.Short() + " to " + most.Short()
	default:
		text += "at least " + least.Short()
	}
	if known && unknown != nil {
		text += " + unknown for " + strings.Join(unknown, ", ")
	}
	text += "; retries come on top of the calls"
	if budget != nil && (unknown != nil || !bounded || most > *budget) {
		text += "; the budget of USD " + budget.String() + " may not suffice: the run would pause there"
	}
	return text
}
