package compare

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/stats"
)

// pairing are two sides and how their rows stand to each other.
type pairing struct {
	a, b  half
	o     Options
	key   Key
	why   string
	count int64 // pairs: sessions, or cases, that both sides sampled

	strata  []assay.PlannedStratum // A's, by arm, then day
	place   []int                  // of each row of A: its stratum's place; -1 where the plan has none
	partner []int32                // by session: of each row of A, the row of B; -1: none
	trials  [][]int32              // by case: of each of A's cases, the rows of B
	caseOf  []int32                // by case: of each of B's rows, A's number of its case; -1: none
	single  bool                   // by case: no case has several trials on either side
	changed int64                  // sessions on both sides with another content
}

// newPairing places A's rows in its strata.
func newPairing(a, b half, o Options) *pairing {
	p := &pairing{a: a, b: b, o: o, key: o.Key}
	p.strata = slices.Clone(a.chain.Strata)
	slices.SortFunc(p.strata, func(x, y assay.PlannedStratum) int {
		return cmp.Or(cmp.Compare(x.Arm, y.Arm), cmp.Compare(x.Day, y.Day))
	})
	at := map[int32]int{}
	for i, h := range p.strata {
		at[int32(h.Index)] = i
	}
	p.place = make([]int, len(a.e.Rows))
	for i := range a.e.Rows {
		n, ok := at[a.e.Rows[i].Stratum]
		if p.place[i] = n; !ok {
			p.place[i] = -1
		}
	}
	return p
}

// pair finds out what fits, where no key was asked for.
func pair(a, b half, o Options) (*pairing, error) {
	p := newPairing(a, b, o)
	sessions := p.bySession()
	cases := p.byCase()
	switch {
	case p.key != "":
	case 2*sessions >= int64(min(len(a.e.Rows), len(b.e.Rows))) && sessions > 0:
		p.key, p.why = BySession, "both sides graded the same contents"
	case cases > 0:
		p.key, p.why = ByCase, fmt.Sprintf("the sides share %d cases, and %d contents", cases, sessions)
	case sessions > 0:
		p.key, p.why = BySession, "both sides graded some of the same contents"
	default:
		p.key, p.why = ByNone, "the sides share neither contents nor cases"
	}
	switch p.key {
	case BySession:
		p.count = sessions
	case ByCase:
		p.count = cases
		if cases == 0 {
			return nil, assay.Errorf(assay.CodeInvalid, "%s and %s share no case", a.run.ID, b.run.ID).
				WithHint("`assay project set --case-key` says which metadata key is the case; pair by session or none otherwise")
		}
	}
	if p.key == BySession && sessions == 0 {
		return nil, assay.Errorf(assay.CodeInvalid, "%s and %s graded no content in common", a.run.ID, b.run.ID).
			WithHint("the same --seed and frame draw the same sessions; pair by case or none otherwise")
	}
	return p, nil
}

func (p *pairing) bySession() (n int64) {
	contents := make(map[assay.ContentKey]int32, len(p.b.e.Rows))
	sessions := make(map[assay.SessionKey]bool, len(p.b.e.Rows))
	for i := range p.b.e.Rows {
		contents[p.b.e.Rows[i].Content] = int32(i)
		sessions[p.b.e.Rows[i].Session] = true
	}
	p.partner = make([]int32, len(p.a.e.Rows))
	for i := range p.a.e.Rows {
		r := &p.a.e.Rows[i]
		at, ok := contents[r.Content]
		switch {
		case ok:
			p.partner[i] = at
			n++
		case sessions[r.Session]:
			p.changed++
			fallthrough
		default:
			p.partner[i] = -1
		}
	}
	return n
}

func (p *pairing) byCase() (n int64) {
	number := make(map[string]int32, len(p.a.e.Cases))
	for i, name := range p.a.e.Cases {
		number[name] = int32(i)
	}
	p.trials = make([][]int32, len(p.a.e.Cases))
	p.caseOf = make([]int32, len(p.b.e.Rows))
	for i := range p.b.e.Rows {
		p.caseOf[i] = -1
		if c := p.b.e.Rows[i].Case; c >= 0 {
			if at, ok := number[p.b.e.Cases[c]]; ok {
				p.caseOf[i] = at
				p.trials[at] = append(p.trials[at], int32(i))
			}
		}
	}
	mine := make([]int, len(p.a.e.Cases))
	for i := range p.a.e.Rows {
		if c := p.a.e.Rows[i].Case; c >= 0 {
			mine[c]++
		}
	}
	p.single = true
	for c, rows := range p.trials {
		if len(rows) > 0 && mine[c] > 0 {
			n++
			p.single = p.single && len(rows) == 1 && mine[c] == 1
		}
	}
	return n
}

// users is how many users, or cases, the pairs are of.
func (p *pairing) users() int64 {
	if p.key == ByCase {
		return p.count
	}
	seen := map[int32]bool{}
	for i := range p.a.e.Rows {
		if p.key != BySession || p.partner[i] >= 0 {
			seen[p.a.e.Rows[i].User] = true
		}
	}
	return int64(len(seen))
}

// score is what an answer counts in a measure; ok is false of what cannot be compared.
type score func(e *extract.Extract, at int, row int32) (x float64, ok bool)

// yes scores booleans, and pass.
func yes(e *extract.Extract, at int, row int32) (float64, bool) {
	got := e.Columns[at].Answers[row]
	return float64(max(got, 0)), got >= 0
}

// mean scores numbers.
func mean(e *extract.Extract, at int, row int32) (float64, bool) {
	if e.Columns[at].Answers[row] < 0 {
		return 0, false
	}
	return e.Columns[at].Numbers[row], true
}

// value scores one value of a category or ordinal, which may have another number on either side.
func value(text string) score {
	return func(e *extract.Extract, at int, row int32) (float64, bool) {
		c := &e.Columns[at]
		got := c.Answers[row]
		if got < 0 {
			return 0, false
		}
		if c.Values[got] == text {
			return 1, true
		}
		return 0, true
	}
}

// joint is a row of A with what both sides score. by is its user, or case.
type joint struct {
	row  int32
	at   int
	by   int
	a, b float64
}

// joints are the rows of A that both sides answered, in order of by, then stratum.
func (p *pairing) joints(at, other int, of score) []joint {
	out := make([]joint, 0, len(p.a.e.Rows))
	for i := range p.a.e.Rows {
		row := int32(i)
		a, ok := of(p.a.e, at, row)
		if !ok || p.place[i] < 0 {
			continue
		}
		if b, by, ok := p.across(row, other, of); ok {
			out = append(out, joint{row: row, at: p.place[i], by: by, a: a, b: b})
		}
	}
	sortJoints(out)
	return out
}

func sortJoints(list []joint) {
	slices.SortStableFunc(list, func(x, y joint) int { return cmp.Or(cmp.Compare(x.by, y.by), cmp.Compare(x.at, y.at)) })
}

// across is what B scores for a row of A: its partner's, or the mean over the trials of its case.
func (p *pairing) across(row int32, other int, of score) (x float64, by int, ok bool) {
	r := &p.a.e.Rows[row]
	if p.key == BySession {
		if p.partner[row] < 0 {
			return 0, 0, false
		}
		x, ok = of(p.b.e, other, p.partner[row])
		return x, int(r.User), ok
	}
	if r.Case < 0 {
		return 0, 0, false
	}
	var scores []float64
	for _, t := range p.trials[r.Case] {
		if x, ok := of(p.b.e, other, t); ok {
			scores = append(scores, x)
		}
	}
	if len(scores) == 0 {
		return 0, 0, false
	}
	return exact(scores) / float64(len(scores)), int(r.Case), true
}

// exact adds up numbers in an order of their own, so that the order of rows changes no bit.
func exact(list []float64) (sum float64) {
	slices.Sort(list)
	for _, x := range list {
		sum += x
	}
	return sum
}

// frame are A's strata without answers.
func (p *pairing) frame() []stats.Stratum {
	out := make([]stats.Stratum, len(p.strata))
	for i, h := range p.strata {
		out[i] = stats.Stratum{Label: h.Day + "/" + h.Arm, Line: h.Arm, Size: h.Eligible, Drawn: h.Sampled}
		if h.Day == assay.Undated {
			out[i].Line = "" // no day is adjacent to no day
		}
	}
	return out
}
