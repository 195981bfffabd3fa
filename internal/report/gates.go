package report

import (
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/gate"
	"assay/internal/stats"
)

// knows refuses gates about what a report does not have.
func knows(g gate.Gate) error {
	switch g.Metric {
	case gate.Rate, gate.Lift, gate.Coverage, gate.Errors:
		return nil
	}
	return assay.Errorf(assay.CodeInvalid, "gate %q: a report has no %s", g.Text, g.Metric).
		WithHint("a report has rate, lift, coverage and errors; `assay compare A B --fail-if` has drop")
}

// gates decides about each judge's numbers; a gate that no judge has a number for is an error.
func (v *view) gates(r *Report) (out []gate.Outcome, err error) {
	for _, g := range v.o.Gates {
		found := false
		for i := range r.Judges {
			subjects, ok := v.subjects(i, &r.Judges[i], g)
			found = found || ok
			for _, s := range subjects {
				out = append(out, gate.Decide(g, s))
			}
		}
		if !found {
			return nil, noSubject(r, g)
		}
	}
	return out, nil
}

func noSubject(r *Report, g gate.Gate) error {
	var names []string
	for _, j := range r.Judges {
		for _, k := range j.Criteria {
			if !slices.Contains(names, k.Name) {
				names = append(names, k.Name)
			}
		}
	}
	if g.Metric == gate.Lift && r.Assignment == nil {
		return assay.Errorf(assay.CodeInvalid, "gate %q: there are no two arms in this run", g.Text).WithHint("`assay project set` says which metadata key is the arm")
	}
	return assay.Errorf(assay.CodeInvalid, "gate %q: no judge of run %s has a %s of %s", g.Text, r.Run.ID, g.Metric, g.Criterion).
		WithHint("it has the criteria %s; rates are of those that are answered with yes or no, or with a number", strings.Join(names, ", "))
}

// subjects are the numbers of one judge that a gate is about. Rates are about the process, whatever the report's
// target: a gate asks what the agent does, not what happened in these sessions.
func (v *view) subjects(i int, j *Judge, g gate.Gate) (out []gate.Subject, ok bool) {
	s := v.sides[i]
	at := slices.IndexFunc(j.Criteria, func(k Criterion) bool { return k.Name == g.Criterion })
	if at < 0 {
		return nil, false
	}
	k := &j.Criteria[at]
	switch g.Metric {
	case gate.Coverage, gate.Errors:
		return []gate.Subject{fact(k, g.Metric)}, len(k.Measures) > 0
	case gate.Lift:
		for n := range k.Lifts {
			l := &k.Lifts[n]
			got := stats.Lift(l.days, l.cells, v.o.Confidence)
			out = append(out, gate.Subject{Value: got.Level, Interval: got.Interval, Sampled: float64(k.Measures[0].Overall.Applies), Low: l.Lift.Low, High: l.Lift.High})
		}
		return out, len(out) > 0
	}
	if len(k.Measures) != 1 || k.Measures[0].Kind == KindShare {
		return nil, false
	}
	process := *v
	process.o.Target = stats.Process
	var e *estimator
	switch c := &s.e.Columns[at]; {
	case at == 0:
		e = process.estimator(s, s.pass(), KindRate, share)
	case c.Criterion.Type == assay.Number:
		e = process.estimator(s, s.column(at, 0), KindMean, numberLimits(c.Criterion))
	default:
		e = process.estimator(s, s.column(at, 1), KindRate, share)
	}
	level, interval := e.level(e.all, e.cells)
	return []gate.Subject{{Value: level.Level, Interval: interval, Sampled: float64(level.Domain), Low: level.Low.Pointer(), High: level.High.Pointer()}}, true
}

// fact is a share that has no chance in it.
func fact(k *Criterion, m gate.Metric) gate.Subject {
	s := gate.Subject{Fact: true, Value: stats.None(stats.NothingObserved)}
	if len(k.Measures) == 0 {
		return s
	}
	n := k.Measures[0].Overall
	s.Sampled = float64(n.Sampled)
	if n.Coverage != nil {
		s.Value = stats.Known(*n.Coverage)
		if m == gate.Errors {
			s.Value.X = 1 - s.Value.X
		}
	}
	return s
}
