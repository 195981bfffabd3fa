package gate

import (
	"fmt"
	"strconv"

	"assay/internal/report/number"
	"assay/internal/stats"
)

// Decide fails the gate where the whole interval lies on its side of the limit, and passes it where none of it does.
// Between these it is inconclusive, with the n that would decide.
func Decide(g Gate, s Subject) Outcome {
	o := Outcome{Gate: g, Value: s.Value.Pointer(), Decision: Inconclusive}
	if !s.Value.Ok() {
		o.Sentence = fmt.Sprintf("inconclusive: there is no %s, %s", g.name(), number.Why(s.Value.Absent))
		return o
	}
	if s.Fact {
		o.Decision = Pass
		if g.holds(s.Value.X) {
			o.Decision = Fail
		}
		o.Sentence = fmt.Sprintf("%s: %s is %s", o.Decision, g.name(), short(s.Value.X))
		return o
	}
	if !s.Interval.Ok() {
		o.Sentence = fmt.Sprintf("inconclusive: %s is %s and has no interval, %s", g.name(), short(s.Value.X), number.Why(s.Interval.Absent))
		return o
	}
	low, high := s.Interval.Low, s.Interval.High
	o.Low, o.High = &low, &high
	is := fmt.Sprintf("%s is %s (%s to %s, %s)", g.name(), short(s.Value.X), short(low), short(high), number.Level(s.Interval.Confidence))
	switch {
	case g.holds(low) && g.holds(high):
		o.Decision = Fail
		o.Sentence = "fail: " + is
	case !g.holds(low) && !g.holds(high):
		o.Decision = Pass
		o.Sentence = "pass: " + is
	default:
		o.Sentence = "inconclusive: " + is + ", and " + short(g.Limit) + " lies within" + o.needs(s)
	}
	return o
}

// needs fills in the n that would decide and says it.
func (o *Outcome) needs(s Subject) string {
	half := (s.Interval.High - s.Interval.Low) / 2
	distance := s.Value.X - o.Limit
	if distance < 0 {
		distance = -distance
	}
	n := stats.SizeToDecide(distance, stats.ErrorOf(half, s.Interval.Confidence), s.Sampled, s.Interval.Confidence)
	if !n.Ok() || n.X > 1e12 {
		return "; no number of sessions would decide while it stands so near to the limit"
	}
	o.Needs = new(int64(n.X))
	return fmt.Sprintf("; about %s would decide if it stayed there, %s are there", number.Whole(*o.Needs), number.Whole(int64(s.Sampled)))
}

// name is the metric with its criterion where that is not pass.
func (g Gate) name() string {
	if g.Criterion == "pass" || g.Criterion == "" || g.Metric == Coverage || g.Metric == Errors {
		return string(g.Metric)
	}
	return string(g.Metric) + " of " + g.Criterion
}

func (g Gate) holds(x float64) bool {
	switch g.Op {
	case ">":
		return x > g.Limit
	case ">=":
		return x >= g.Limit
	case "<":
		return x < g.Limit
	}
	return x <= g.Limit
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// Overall is fail where any failed, else inconclusive where any was, else pass; pass without gates.
func Overall(outcomes []Outcome) Decision {
	all := Pass
	for _, o := range outcomes {
		switch {
		case o.Decision == Fail:
			return Fail
		case o.Decision == Inconclusive:
			all = Inconclusive
		}
	}
	return all
}
