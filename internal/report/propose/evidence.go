package propose

import (
	"context"
	"fmt"
	"math"

	"github.com/dustin/go-humanize"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/store"
)

// Evidence is what is known of the strata before they are sampled.
type Evidence struct {
	Strata []Stratum
	Judge  string // whose rate it is, of several the one whose is nearest to one half
	// Seen and Hits are what that judge graded before outside of these strata, where it graded nothing in them.
	Seen, Hits int64
	// Alike is the correlation of two sessions of one user, where Alikes says that something tells.
	Alike  float64
	Alikes bool
}

// recent bounds how many runs of the project are looked at, and alike how many of a judge version are read.
const (
	recent  = 100
	nearest = 5
)

// Before reads what the judges of a spec answered in runs that ended, over strata of the same days and arms.
func Before(ctx context.Context, s extract.Source, project assay.ProjectID, spec assay.GradeSpec, strata []assay.PlannedStratum) (Evidence, error) {
	runs, _, err := s.Runs().List(ctx, store.RunQuery{Project: project, Kind: assay.RunGrade, States: ended()}, store.Page{Limit: recent})
	if err != nil {
		return Evidence{}, err
	}
	var found Evidence
	for i, j := range spec.Judges {
		e, err := beforeOf(ctx, s, runs, spec, j, strata)
		if err != nil {
			return Evidence{}, err
		}
		if i == 0 || math.Abs(e.pooled()-0.5) < math.Abs(found.pooled()-0.5) {
			found = e
		}
	}
	return found, nil
}

func ended() []assay.RunState {
	return []assay.RunState{assay.RunCompleted, assay.RunFailed, assay.RunCancelled, assay.RunStateLost}
}

// beforeOf is what one judge answered. Runs of one frame share verdicts, so of each stratum only the run that
// answered most of it counts, of equal ones the newest.
func beforeOf(ctx context.Context, s extract.Source, runs []assay.Run, spec assay.GradeSpec, j assay.RunJudge, strata []assay.PlannedStratum) (Evidence, error) {
	e := Evidence{Judge: j.Name, Strata: make([]Stratum, len(strata))}
	at := make(map[assay.Stratum]int, len(strata))
	for i, h := range strata {
		e.Strata[i] = Stratum{Stratum: h.Stratum, Eligible: h.Eligible}
		at[h.Stratum] = i
	}
	done := map[assay.RunID]bool{} // runs of chains that were read
	read := 0
	var most int64
	for _, run := range runs {
		judge := judgeOf(run, j.Version)
		if judge < 0 || done[run.ID] || !sameStrata(run.Spec.Settings, spec.Settings) {
			continue
		}
		if read++; read > nearest {
			break
		}
		c, err := extract.ChainOf(ctx, s, run)
		if err != nil {
			return e, err
		}
		for _, r := range c.Runs {
			done[r.ID] = true
		}
		x, err := extract.Load(ctx, s, c, judge)
		if err != nil {
			return e, err
		}
		t := tally(x, c.Strata)
		for i, h := range c.Strata {
			if k, ok := at[h.Stratum]; ok && t.seen[i] > e.Strata[k].Seen {
				e.Strata[k].Seen, e.Strata[k].Hits = t.seen[i], t.hits[i]
			}
		}
		if all := sum(t.seen); all > most {
			most, e.Seen, e.Hits = all, all, sum(t.hits)
			e.Alike, e.Alikes = t.alike()
		}
	}
	for _, h := range e.Strata {
		if h.Seen > 0 {
			e.Seen, e.Hits = 0, 0
			break
		}
	}
	return e, nil
}

func judgeOf(run assay.Run, version assay.Hash) int {
	for i, j := range run.Spec.Judges {
		if j.Version == version {
			return i
		}
	}
	return -1
}

// sameStrata says whether days and arms of two runs mean the same.
func sameStrata(a, b assay.Settings) bool {
	return a.Zone == b.Zone && a.ArmKey == b.ArmKey && a.ArmType == b.ArmType
}

// rates of several strata and users.
type tallied struct {
	seen, hits []int64
	users      []userTally
}

type userTally struct{ residual, squares, n float64 }

// tally counts passes by stratum, and how those of each user differ from their strata.
func tally(x *extract.Extract, strata []assay.PlannedStratum) tallied {
	t := tallied{seen: make([]int64, len(strata)), hits: make([]int64, len(strata)), users: make([]userTally, len(x.Users))}
	if len(x.Columns) == 0 {
		return t
	}
	place := make(map[int32]int, len(strata))
	for i, h := range strata {
		place[int32(h.Index)] = i
	}
	pass := x.Columns[0].Answers
	each := func(f func(row extract.Row, h int, y int64)) {
		for i, a := range pass {
			if h, ok := place[x.Rows[i].Stratum]; ok && (a == extract.Yes || a == extract.No) {
				f(x.Rows[i], h, int64(a))
			}
		}
	}
	each(func(_ extract.Row, h int, y int64) {
		t.seen[h]++
		t.hits[h] += y
	})
	each(func(row extract.Row, h int, y int64) {
		r := float64(y) - float64(t.hits[h])/float64(t.seen[h])
		u := &t.users[row.User]
		u.residual += r
		u.squares += r * r
		u.n++
	})
	return t
}

// alike is the mean product of the residuals of two sessions of one user over the mean square of all: their
// correlation, from all pairs of one user. Below 20 pairs nothing is known.
func (t tallied) alike() (rho float64, known bool) {
	var pairs, products, squares, n float64
	for _, u := range t.users {
		pairs += u.n * (u.n - 1)
		products += u.residual*u.residual - u.squares
		squares += u.squares
		n += u.n
	}
	if pairs < 2*20 || !(squares > 0) {
		return 0, false
	}
	return min(max(products/pairs/(squares/n), 0), 1), true
}

// pooled is the rate of all that was seen, one half where that is nothing.
func (e Evidence) pooled() float64 {
	seen, hits := e.Seen, e.Hits
	for _, h := range e.Strata {
		seen, hits = seen+h.Seen, hits+h.Hits
	}
	return float64(hits+1) / float64(seen+2)
}

// expected are the rates of the strata: what was seen of each, with its part of one hit and one miss that were not,
// and two sessions more at the rate of all.
func (e Evidence) expected(everywhere *float64) []float64 {
	out := make([]float64, len(e.Strata))
	all := e.pooled()
	var seen int64
	for _, h := range e.Strata {
		seen += h.Seen
	}
	for i, h := range e.Strata {
		if everywhere != nil {
			out[i] = *everywhere
			continue
		}
		part := float64(h.Seen) / float64(max(seen, 1))
		out[i] = (float64(h.Hits) + part + 2*all) / (float64(h.Seen) + 2*part + 2)
	}
	return out
}

// basis says what the expected rates rest on.
func (q Request) basis() string {
	var seen int64
	strata := 0
	for _, h := range q.Strata {
		if seen += h.Seen; h.Seen > 0 {
			strata++
		}
	}
	switch {
	case q.Expect != nil:
		return "as was given"
	case seen > 0 && strata == len(q.Strata):
		return fmt.Sprintf("by %s of these days and arms that %s graded before", sessions(seen), q.Judge)
	case seen > 0:
		return fmt.Sprintf("by %s that %s graded before, in %s of %s days and arms; the others are taken to be like all of those",
			sessions(seen), q.Judge, humanize.Comma(int64(strata)), humanize.Comma(int64(len(q.Strata))))
	case q.Seen > 0:
		return fmt.Sprintf("by %s that %s graded before, none of them of these days and arms", sessions(q.Seen), q.Judge)
	}
	return "since these judges graded nothing before; no rate asks for more, and --expect gives another one"
}
