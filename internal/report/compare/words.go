package compare

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/number"
)

// differs says what is not the same on both sides, the cause before its consequences.
func (p *pairing) differs() (out []Differs) {
	add := func(w What, format string, args ...any) {
		out = append(out, Differs{What: w, Words: fmt.Sprintf(format, args...)})
	}
	a, b := p.a, p.b
	switch {
	case a.e.Judge.Version == b.e.Judge.Version:
	case a.e.Judge.Name != b.e.Judge.Name:
		add(JudgeChanged, "Two judges: %s (%s) in A, %s (%s) in B.", a.e.Judge.Name, short(a.e.Judge.Version), b.e.Judge.Name, short(b.e.Judge.Version))
	default:
		add(JudgeChanged, "The judge changed: %s %s in A, %s %s in B.", a.e.Judge.Name, short(a.e.Judge.Version), b.e.Judge.Name, short(b.e.Judge.Version))
	}
	same := p.sameContents()
	va, vb := agents(a.e), agents(b.e)
	switch {
	case same:
	case !reflect.DeepEqual(sorted(va), sorted(vb)):
		add(AgentChanged, "The agent changed: %s in A, %s in B.", strings.Join(va, ", "), strings.Join(vb, ", "))
	case p.key == ByCase:
		add(AgentChanged, "The agent was tried again: other sessions of the same cases.")
	}
	if !same && p.key != ByCase {
		add(SessionsChanged, "The sessions are not the same: %s in A and %s in B, %s of them on both sides.",
			number.Whole(int64(len(a.e.Rows))), number.Whole(int64(len(b.e.Rows))), number.Whole(p.common()))
	}
	sa, sb := a.chain.Root().Spec, b.chain.Root().Spec
	if sa.PerStratum != sb.PerStratum || sa.Seed != sb.Seed || !reflect.DeepEqual(sa.Sizes, sb.Sizes) {
		add(SampleChanged, "The samples were drawn otherwise: %s in A, %s in B.", drawn(sa), drawn(sb))
	}
	if len(out) == 0 {
		add(NothingChanged, "Nothing differs: the same judge version graded the same contents. What differs is the judge's own noise.")
	}
	return out
}

func drawn(s assay.GradeSpec) string {
	if len(s.Sizes) > 0 {
		return fmt.Sprintf("an n of its own for each of %d strata, seed %q", len(s.Sizes), s.Seed)
	}
	return fmt.Sprintf("at most %d per day and arm, seed %q", s.PerStratum, s.Seed)
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func short(h assay.Hash) string {
	if len(h) > 12 {
		return string(h[:12])
	}
	return string(h)
}

func (p *pairing) common() (n int64) {
	for _, to := range p.partner {
		if to >= 0 {
			n++
		}
	}
	return n
}

func (p *pairing) sameContents() bool {
	return int(p.common()) == len(p.a.e.Rows) && len(p.a.e.Rows) == len(p.b.e.Rows)
}

// headline is what the primary comparison found, after what differs.
func headline(c *Comparison) string {
	var parts []string
	switch {
	case changed(c, JudgeChanged) && changed(c, AgentChanged):
		parts = append(parts, "The judge and the agent changed: nothing tells which of them moved what.")
	case changed(c, JudgeChanged) && c.A.Judge != c.B.Judge:
		parts = append(parts, "Two judges.")
	case changed(c, JudgeChanged):
		parts = append(parts, "The judge changed.")
	case changed(c, AgentChanged):
		parts = append(parts, "The agent changed.")
	case changed(c, NothingChanged):
		parts = append(parts, "Nothing changed but chance.")
	}
	for i := range c.Criteria {
		if k := &c.Criteria[i]; k.Drop.Primary {
			parts = append(parts, dropText(c, k))
		}
	}
	return strings.Join(parts, " ")
}

func changed(c *Comparison, w What) bool {
	return slices.ContainsFunc(c.Differs, func(d Differs) bool { return d.What == w })
}

func dropText(c *Comparison, k *Criterion) string {
	d := k.Drop
	if d.Value == nil {
		text := fmt.Sprintf("No drop of %s: %s.", k.Name, number.Why(d.Absent))
		if slices.ContainsFunc(c.Criteria, func(o Criterion) bool { return o.Drop.Value != nil }) {
			text += " --primary names another question."
		}
		return text
	}
	say, unit := number.Points, " points"
	if k.Kind == "mean" {
		say, unit = number.Plain, ""
	}
	over := map[Key]string{
		BySession: fmt.Sprintf("over %s sessions graded on both sides", number.Whole(k.Pairs)),
		ByCase:    fmt.Sprintf("over %s cases tried on both sides", number.Whole(c.Pairing.Pairs)),
		ByNone:    "between two samples",
	}[c.Pairing.Key]
	moved := "did not move"
	if x := *d.Value; x > 0 {
		moved = "fell by " + say(x) + unit
	} else if x < 0 {
		moved = "rose by " + say(-x) + unit
	}
	moved = strings.ReplaceAll(moved, "by +", "by ")
	if d.Interval == nil {
		return fmt.Sprintf("%s %s %s; no interval, %s.", k.Name, moved, over, number.Why(d.IntervalAbsent))
	}
	said := "chance alone may explain it"
	if d.Interval.Low > 0 || d.Interval.High < 0 {
		said = "more than chance explains"
	}
	text := fmt.Sprintf("%s %s %s (drop %s, %s): %s.", k.Name, moved, over, d.Interval.Between(say), number.Level(d.Interval.Confidence), said)
	if t := k.Table; t != nil {
		text += fmt.Sprintf(" %s regressed, %s fixed.", number.Whole(t.Regressed), number.Whole(t.Fixed))
	}
	return text
}

// expected explains a list of flips by the judge's own noise.
func expected(run assay.RunID, rate float64, k *Criterion) *Expected {
	e := &Expected{Run: run, FlipRate: rate, Flips: rate * float64(k.Pairs), Regressed: rate * float64(k.Pairs) / 2, Fixed: rate * float64(k.Pairs) / 2}
	if k.Table != nil {
		e.Words = fmt.Sprintf("Of %s that regressed about %.0f are expected from grading A's sessions again, and of %s fixed as many: %s flips %s of its verdicts (%s). The interval has this in it already.",
			number.Whole(k.Table.Regressed), e.Regressed, number.Whole(k.Table.Fixed), "the judge of A", number.Percent(rate), run)
	}
	return e
}

// notes are what a reader must know beside what stands at each number and at the head.
func (p *pairing) notes(c *Comparison) (out []string) {
	out = append(out, "A is the baseline: drop = A - B. All numbers are about the process: what would happen on traffic like this. A pair counts as many sessions as A's sample makes it stand for.")
	if len(c.Unshared) > 0 {
		out = append(out, "Not on both sides, or of another type on either: "+strings.Join(c.Unshared, ", ")+".")
	}
	if slices.ContainsFunc(c.Criteria, func(k Criterion) bool { return k.Changed }) {
		out = append(out, "Where the question changed, the difference is also that of the wording.")
	}
	if p.key == ByNone {
		out = append(out, "Nothing is paired: the sides are two samples, and a difference may be that of their sessions.")
	}
	return out
}
