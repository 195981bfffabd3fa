package report

import (
	"cmp"
	"slices"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/stats"
)

// view is facts in the order in which they are estimated: strata by arm, then day, so that neighbours in a line are
// adjacent days of one arm.
type view struct {
	f      facts
	o      Options
	strata []assay.PlannedStratum
	at     map[int32]int // place of a stratum by its index
	sides  []side
}

// side is one judge's rows.
type side struct {
	e      *extract.Extract
	place  []int   // of each row: its stratum's place; -1 where the plan has none
	byUser []int32 // rows by user, then place: what cells are made of
}

func newView(f facts, o Options) *view {
	v := &view{f: f, o: o, strata: slices.Clone(f.chain.Strata), at: map[int32]int{}}
	slices.SortFunc(v.strata, func(a, b assay.PlannedStratum) int {
		return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Day, b.Day))
	})
	for i, h := range v.strata {
		v.at[int32(h.Index)] = i
	}
	for _, e := range f.judges {
		v.sides = append(v.sides, v.side(e))
	}
	return v
}

func (v *view) side(e *extract.Extract) side {
	s := side{e: e, place: make([]int, len(e.Rows))}
	begin := make([]int, len(e.Users)+1) // of each user's rows, counted one further
	for i := range e.Rows {
		at, ok := v.at[e.Rows[i].Stratum]
		if s.place[i] = at; !ok {
			s.place[i] = -1
			continue
		}
		begin[e.Rows[i].User+1]++
	}
	for u := range e.Users {
		begin[u+1] += begin[u]
	}
	s.byUser = make([]int32, begin[len(e.Users)])
	next := slices.Clone(begin)
	for i := range e.Rows {
		if s.place[i] >= 0 {
			u := e.Rows[i].User
			s.byUser[next[u]] = int32(i)
			next[u]++
		}
	}
	for u := range e.Users {
		slices.SortStableFunc(s.byUser[begin[u]:begin[u+1]], func(a, b int32) int { return cmp.Compare(s.place[a], s.place[b]) })
	}
	return s
}

// answers says of each row whether it has an answer to a question, whether the question applies to it, and what was
// measured.
type answers struct {
	observed, applies []bool
	x                 []float64
}

func newAnswers(n int) answers {
	return answers{observed: make([]bool, n), applies: make([]bool, n), x: make([]float64, n)}
}

// pass is the judge's own rule. Where it is undefined because a question does not apply, the session is outside of
// what the rate speaks about; where the judge may also have abstained, nobody knows which it was, and the verdict
// counts as missing.
func (s side) pass() answers {
	a := newAnswers(len(s.e.Rows))
	abstains := mayAbstain(s.e.Version)
	for i, got := range s.e.Columns[0].Answers {
		switch got {
		case extract.Yes, extract.No:
			a.observed[i], a.applies[i], a.x[i] = true, true, float64(got)
		case extract.Undefined:
			a.observed[i] = !abstains
		}
	}
	return a
}

func mayAbstain(v assay.JudgeVersion) bool {
	return slices.ContainsFunc(v.Criteria, func(k assay.Criterion) bool { return k.MayAbstain })
}

// column are the answers to a criterion: of a boolean yes is 1, of a number it is itself, and of others the value
// that is asked for is 1. An abstention is no answer.
func (s side) column(at int, value extract.Answer) answers {
	c := &s.e.Columns[at]
	a := newAnswers(len(s.e.Rows))
	for i, got := range c.Answers {
		switch {
		case got == extract.Outside:
			a.observed[i] = true
		case got < 0:
		case c.Criterion.Type == assay.Number:
			a.observed[i], a.applies[i], a.x[i] = true, true, c.Numbers[i]
		default:
			a.observed[i], a.applies[i] = true, true
			if got == value {
				a.x[i] = 1
			}
		}
	}
	return a
}

// inputs are the strata with what was answered in them. With part, only rows of it are in the domain.
func (v *view) inputs(s side, a answers, part func(row int32) bool) []stats.Stratum {
	out := make([]stats.Stratum, len(v.strata))
	for i, h := range v.strata {
		out[i] = stats.Stratum{Label: h.Day + "/" + h.Arm, Line: h.Arm, Size: h.Eligible, Drawn: h.Sampled}
		if h.Day == assay.Undated {
			out[i].Line = "" // no day is adjacent to no day
		}
	}
	sums := make([][]float64, len(out))
	for i, at := range s.place {
		if at < 0 || !a.observed[i] {
			continue
		}
		out[at].Observed++
		if !a.applies[i] || part != nil && !part(int32(i)) {
			continue
		}
		out[at].Domain++
		if x := a.x[i]; x == 0 || x == 1 {
			out[at].Sum += x // whole numbers add up in any order
			out[at].Squares += x
		} else {
			sums[at] = append(sums[at], x)
		}
	}
	for at, list := range sums {
		sum, squares := exact(list)
		out[at].Sum += sum
		out[at].Squares += squares
	}
	return out
}

// exact adds up numbers and their squares in an order of their own, so that the order of rows changes no bit.
func exact(list []float64) (sum, squares float64) {
	slices.Sort(list)
	for _, x := range list {
		sum += x
		squares += x * x
	}
	return sum, squares
}

// cells are what each user's rows gave in each stratum; nil where users do not matter to the target.
func (v *view) cells(s side, a answers, part func(row int32) bool) []stats.Cell {
	if v.o.Target != stats.Process {
		return nil
	}
	cells := make([]stats.Cell, 0, len(s.byUser))
	var list []float64
	flush := func() {
		if list != nil {
			sum, _ := exact(list)
			cells[len(cells)-1].Sum += sum
			list = list[:0]
		}
	}
	for _, i := range s.byUser {
		if !a.applies[i] || part != nil && !part(i) {
			continue
		}
		user, at := int(s.e.Rows[i].User), s.place[i]
		if n := len(cells); n == 0 || cells[n-1].User != user || cells[n-1].Stratum != at {
			flush()
			cells = append(cells, stats.Cell{User: user, Stratum: at})
		}
		c := &cells[len(cells)-1]
		c.Domain++
		if x := a.x[i]; x == 0 || x == 1 {
			c.Sum += x
		} else {
			list = append(list, x)
		}
	}
	flush()
	return cells
}
