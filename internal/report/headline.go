package report

import (
	"fmt"
	"strings"

	"assay/internal/report/number"
)

// headline says first what the report found. An assignment that did not go as meant takes its place: nothing about
// arms can be trusted then.
func headline(r *Report) string {
	if r.Assignment != nil && r.Assignment.Mismatch {
		return mismatchText(r.Assignment)
	}
	if !r.Covers.Complete && r.Covers.Through == 0 {
		return "Nothing is known yet."
	}
	var parts []string
	for i := range r.Judges {
		j := &r.Judges[i]
		if len(j.Criteria) == 0 || len(j.Criteria[0].Measures) == 0 {
			continue
		}
		parts = append(parts, j.Name+": "+levelText(j.Criteria[0].Measures[0].Overall)+".")
		if i == 0 {
			for _, l := range j.Criteria[0].Lifts {
				parts = append(parts, liftText(l))
			}
		}
	}
	return strings.Join(parts, " ")
}

func levelText(n number.Number) string {
	of := fmt.Sprintf("%s of %s sessions graded", number.Whole(n.Answered), number.Whole(n.N))
	switch {
	case n.Value == nil:
		return "no rate, " + number.Why(n.Absent) + " (" + of + ")"
	case n.Interval == nil:
		return fmt.Sprintf("%s passed; no interval, %s (%s)", number.Percent(*n.Value), number.Why(n.IntervalAbsent), of)
	case n.Interval.Low == n.Interval.High:
		return fmt.Sprintf("%s passed, exactly: all %s sessions are graded", number.Percent(*n.Value), number.Whole(n.N))
	}
	return fmt.Sprintf("%s passed (%s, %s), %s", number.Percent(*n.Value), n.Interval.Between(number.Percent), number.Level(n.Interval.Confidence), of)
}

func liftText(l Lift) string {
	d := l.Lift
	switch {
	case d.Value == nil:
		return fmt.Sprintf("No lift of %s over %s: %s.", l.Arm, l.Control, number.Why(d.Absent))
	case d.Interval == nil:
		return fmt.Sprintf("%s less %s: %s points; no interval, %s.", l.Arm, l.Control, number.Points(*d.Value), number.Why(d.IntervalAbsent))
	}
	said := "chance alone may explain it"
	if d.Interval.Low > 0 || d.Interval.High < 0 {
		said = "more than chance explains"
	}
	return fmt.Sprintf("%s less %s: %s points (%s), %s.", l.Arm, l.Control, number.Points(*d.Value), d.Interval.Between(number.Points), said)
}

func mismatchText(a *Assignment) string {
	var parts []string
	for _, arm := range a.Arms {
		text := fmt.Sprintf("%s %s", arm.Arm, number.Percent(arm.Share))
		if arm.Meant != nil {
			text += " where " + number.Percent(*arm.Meant) + " was meant"
		}
		parts = append(parts, text)
	}
	return "Sessions did not go to the arms as meant: " + strings.Join(parts, ", ") +
		fmt.Sprintf(" (P %.2g). Something sorts them, so no lift can be trusted. If these shares were meant, say so: --shares treatment=5,control=95, or --shares any where they changed over time.", *a.P)
}
