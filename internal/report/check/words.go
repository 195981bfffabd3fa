package check

import (
	"fmt"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// headline is what labels say of the judge, in a few sentences.
func (c *checker) headline() string {
	l := c.out.Labels
	if l.Used == 0 {
		return c.nothing()
	}
	how := l.Design
	if l.Blind == l.Used {
		how += "; blind"
	} else if l.Blind > 0 {
		how += fmt.Sprintf("; %s of them blind", number.Whole(l.Blind))
	}
	of := fmt.Sprintf("Of %s labelled sessions (%s)", number.Whole(l.Used), how)
	agrees := c.agreement()
	text := fmt.Sprintf("%s the judge agrees on %s.", of, said(agrees, number.Percent))
	if c.out.Rates == nil {
		return text
	}
	return text + " " + c.out.Rates.Words
}

func (c *checker) agreement() number.Number {
	if c.out.Confusion != nil {
		return c.out.Confusion.Accuracy
	}
	return c.out.Scale.Exact
}

// nothing says why there are no numbers, and what to do.
func (c *checker) nothing() string {
	l := c.out.Labels
	switch {
	case l.Total == 0 && l.Elsewhere == 0:
		return fmt.Sprintf("Nobody has labelled %s of these sessions. `assay label draw --run %s -n 100` chooses some.", c.out.Criterion, c.out.Run)
	case l.Total == 0:
		return fmt.Sprintf("The %s labels of %s are on sessions that %s did not grade. `assay grade --judge %s --labelled` grades them.", number.Whole(l.Elsewhere), c.out.Criterion, c.out.Run, c.out.Judge)
	case l.Unknown > 0:
		return fmt.Sprintf("No label says how likely its session was to be chosen, so nothing can be estimated (no_probability). `assay label draw --run %s -n 100` draws a sample of which it is known.", c.out.Run)
	}
	return fmt.Sprintf("No label of %s may enter an estimate: %s from lists of disagreements, %s used to write the prompt, %s of another wording, %s tied. `assay label draw --run %s -n 100` draws a sample that may.",
		c.out.Criterion, number.Whole(l.Queue), number.Whole(l.Prompt), number.Whole(l.Other), number.Whole(l.Tied), c.out.Run)
}

// said is a number with its interval, or why there is none.
func said(n number.Number, say func(float64) string) string {
	switch {
	case n.Value == nil:
		return "absent: " + number.Why(n.Absent)
	case n.Interval == nil:
		return fmt.Sprintf("%s (no interval, %s)", say(*n.Value), number.Why(n.IntervalAbsent))
	case n.Interval.Low == n.Interval.High:
		return say(*n.Value)
	}
	return fmt.Sprintf("%s (%s)", say(*n.Value), n.Interval.Between(say))
}

// rateWords say what the judge says, and what labels make of it.
func rateWords(r *Rates) string {
	say := number.Percent
	if r.Raw.Value != nil && (r.Raw.Low == nil || *r.Raw.Low < 0 || r.Raw.High == nil || *r.Raw.High > 1) {
		say = number.Plain
	}
	parts := []string{"It says " + said(r.Raw, say)}
	switch {
	case r.Corrected.Value != nil:
		parts = append(parts, "corrected by the labels "+said(r.Corrected, say))
	default:
		parts = append(parts, "no corrected number, "+number.Why(r.Corrected.Absent))
	}
	switch {
	case r.Transported.Value != nil:
		parts = append(parts, "by its errors elsewhere "+said(r.Transported, say)+", if it errs here as there")
	case r.Transported.Absent != stats.NoLabels:
		parts = append(parts, "none by its errors elsewhere, "+number.Why(r.Transported.Absent))
	}
	return strings.Join(parts, "; ") + "."
}

// notes are what a reader must know beside the numbers.
func (c *checker) notes(elsewhere *checker) (out []string) {
	l := c.out.Labels
	if l.Used > 0 {
		out = append(out, "Labels are weighted by how likely their sessions were to be chosen. A judge that is no better than chance adds nothing to the corrected number; it is then that of the labels alone.")
	}
	add := func(n int64, format string) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, number.Whole(n)))
		}
	}
	add(l.Queue, "%s labels come from lists of disagreements and are in no estimate.")
	add(l.Prompt, "%s labels were used to write the judge and are in no estimate.")
	add(l.Unknown, "%s labels do not say how likely their session was to be chosen and are in no estimate; mark them with `assay label mark --use queue` if they were picked.")
	add(l.Apart, "%s labelled sessions were chosen in another way than those of the estimates and are left out.")
	add(l.Other, "%s labels answer another wording of the question.")
	add(l.Tied, "%s sessions are left out because their raters disagree without a majority; a label with --decided settles one.")
	add(c.undrawn, "%s graded sessions of this run were not in the frame that labels were drawn from; the labels are taken to speak for them too.")
	add(l.Elsewhere, "%s labels are on sessions that this run did not grade.")
	if c.column().Criterion.Type == assay.Boolean && elsewhere != nil {
		out = append(out, fmt.Sprintf("Transported: sensitivity and specificity come from labels on %s and are assumed to hold here, which the interval cannot know.", elsewhere.run.ID))
	}
	return out
}
