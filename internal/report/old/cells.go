package old

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"assay/internal/assay"
	"assay/internal/stats"
)

// cells are the counts per stratum that estimates are made of. Strata are in order of arm, then
// day, so that neighbours in a line are adjacent days of one arm.
type cells struct {
	f      facts
	strata []assay.PlannedStratum
}

func newCells(f facts) cells {
	c := cells{f: f, strata: slices.Clone(f.strata)}
	slices.SortFunc(c.strata, func(a, b assay.PlannedStratum) int {
		return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Day, b.Day))
	})
	return c
}

// count is what one stratum gave for one measure.
type count struct {
	observed, domain int64
	sum              float64
}

func (c cells) judge(i int, j assay.RunJudge, v assay.JudgeVersion) Judge {
	out := Judge{Name: j.Name, Version: j.Version, Kind: v.Kind, Criteria: []Criterion{}, Strata: c.verdicts(i)}
	graded := map[int]count{}
	for n, s := range out.Strata {
		graded[c.f.strata[n].Index] = count{observed: s.Graded}
	}
	out.Coverage = stats.Coverage(c.inputs(graded)).Pointer()
	out.Criteria = append(out.Criteria, c.pass(out.Strata, v))
	for _, k := range v.Criteria {
		if k.Name != assay.CriterionPass {
			out.Criteria = append(out.Criteria, c.criterion(i, k))
		}
	}
	for n := range out.Criteria {
		out.Criteria[n].Noise = c.noise(i, out.Criteria[n].Name, out.Criteria[n].Type)
	}
	c.markCut(&out)
	return out
}

// markCut puts the share of verdicts on cut transcripts beside every rate.
func (c cells) markCut(j *Judge) {
	for _, s := range j.Strata {
		j.Cut += s.Cut
	}
	if j.Cut == 0 {
		return
	}
	share := func(in func(Stratum) bool) *float64 {
		var cut, graded int64
		for _, s := range j.Strata {
			if in(s) {
				cut, graded = cut+s.Cut, graded+s.Graded
			}
		}
		if cut == 0 {
			return nil
		}
		x := float64(cut) / float64(graded)
		return &x
	}
	for _, k := range j.Criteria {
		for n := range k.Measures {
			m := &k.Measures[n]
			m.Overall.Cut = share(func(Stratum) bool { return true })
			for p := range m.ByArm {
				m.ByArm[p].Estimate.Cut = share(func(s Stratum) bool { return s.Arm == m.ByArm[p].Name })
			}
			for p := range m.ByDay {
				m.ByDay[p].Estimate.Cut = share(func(s Stratum) bool { return s.Day == m.ByDay[p].Name })
			}
		}
	}
}

// verdicts counts a judge's verdicts per stratum, in the order of facts: of a session that was graded
// several times the first one only. Numbers are then exactly those of a run that grades once, which
// adopts these very verdicts. A mean over the repeats would rest on more gradings, but levels and
// coverage would change with their number, and with which of them were lost.
func (c cells) verdicts(judge int) []Stratum {
	out := make([]Stratum, len(c.f.strata))
	at := map[int]int{}
	var size int64
	for n, h := range c.f.strata {
		at[h.Index] = n
		size += h.Eligible
	}
	for n, h := range c.f.strata {
		out[n] = Stratum{Stratum: h.Stratum, Eligible: h.Eligible, Sampled: h.Sampled}
		if size > 0 {
			out[n].Weight = float64(h.Eligible) / float64(size)
		}
	}
	for _, t := range c.f.estimate {
		n, ok := at[t.Stratum]
		if !ok || t.Judge != judge || t.Repeat != 0 || t.State != assay.ItemGraded {
			continue
		}
		out[n].Graded += t.N
		if t.Cut {
			out[n].Cut += t.N
		}
		switch {
		case t.Pass == nil:
			out[n].Undecided += t.N
		case *t.Pass:
			out[n].Passed += t.N
		}
	}
	return out
}

// pass is the level of the judge's own rule. Where the rule is undefined because a question does
// not apply, the session is outside of what the rate speaks about; where the judge may also have
// abstained, nobody knows which it was, and the verdict counts as missing.
func (c cells) pass(strata []Stratum, v assay.JudgeVersion) Criterion {
	abstains := mayAbstain(v)
	per := map[int]count{}
	for i, s := range strata {
		n := count{observed: s.Graded, domain: s.Graded - s.Undecided, sum: float64(s.Passed)}
		if abstains {
			n.observed = n.domain
		}
		per[c.f.strata[i].Index] = n
	}
	m := c.measure(per, share)
	m.Kind = KindRate
	return Criterion{Name: assay.CriterionPass, Type: assay.Boolean, Measures: []Measure{m}}
}

func (c cells) criterion(judge int, k assay.Criterion) Criterion {
	out := Criterion{Name: k.Name, Type: k.Type, Measures: []Measure{}}
	add := func(kind MeasureKind, value string, of func(string) float64, l limits) {
		m := c.measure(c.answers(judge, k.Name, of), l)
		m.Kind, m.Value = kind, value
		out.Measures = append(out.Measures, m)
	}
	switch k.Type {
	case assay.Boolean:
		add(KindRate, "", isJSON("true"), share)
	case assay.Number:
		add(KindMean, "", number, numberLimits(k))
	default:
		for _, value := range k.Values {
			quoted, _ := json.Marshal(value) // a string always has a JSON form
			add(KindShare, value, isJSON(string(quoted)), share)
		}
	}
	return out
}

// answers counts a criterion's findings; an abstention is no answer.
func (c cells) answers(judge int, criterion string, of func(value string) float64) map[int]count {
	per := map[int]count{}
	for _, t := range c.f.findings {
		if t.Judge != judge || t.Criterion != criterion || t.Abstained {
			continue
		}
		n := per[t.Stratum]
		n.observed += t.N
		if t.Applies {
			n.domain += t.N
			n.sum += of(t.Value) * float64(t.N)
		}
		per[t.Stratum] = n
	}
	return per
}

func isJSON(want string) func(string) float64 {
	return func(value string) float64 {
		if value == want {
			return 1
		}
		return 0
	}
}

func number(value string) float64 {
	x, _ := strconv.ParseFloat(value, 64) // judge checked the type before it stored the answer
	return x
}
