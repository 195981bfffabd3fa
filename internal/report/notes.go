package report

import (
	"fmt"
	"slices"

	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// notes are what a reader must know beside what stands at each number and at the head.
func (v *view) notes(r *Report) (out []string) {
	if v.o.Target == stats.Process {
		out = append(out, "These numbers speak of traffic like this, on days like these; they say nothing of next week.")
	}
	if lost := r.Counts.Cancelled + r.Counts.Abandoned; lost > 0 {
		out = append(out, fmt.Sprintf("%s items were cancelled or abandoned; coverage and bounds count them as missing.", number.Whole(lost)))
	}
	if r.Run.Repeats > 1 {
		out = append(out, fmt.Sprintf("Every session was graded %d times. Rates and means take the first grading of each, so that they say what one grading would have said; only items and spend count every grading.", r.Run.Repeats))
	}
	if slices.ContainsFunc(r.Judges, func(j Judge) bool {
		return slices.ContainsFunc(j.Criteria, func(k Criterion) bool { return k.Type == assay.Number })
	}) {
		out = append(out, "Intervals of means are too narrow where scores lean far to one side and most sessions lie on a day of which few were graded.")
	}
	for _, s := range v.sides {
		for _, p := range [...]struct {
			names []string
			what  string
		}{{s.e.Agents, "agent versions"}, {s.e.Sources, "sources"}} {
			if len(p.names) > mostParts {
				out = append(out, fmt.Sprintf("%s: of %d %s the %d with the most sessions are shown.", s.e.Judge.Name, len(p.names), p.what, mostParts))
			}
		}
	}
	if r.Assignment != nil && r.Assignment.Untagged != nil && *r.Assignment.Untagged > 0 {
		out = append(out, fmt.Sprintf("%s of the sessions have no arm; they are in no lift.", number.Percent(*r.Assignment.Untagged)))
	}
	return out
}
