package grading

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// checkSizes refuses sizes that mean nothing; whether their strata exist only a scan knows (knownSizes).
func checkSizes(q engine.GradeRequest) error {
	if q.Sizes == nil {
		return nil
	}
	switch {
	case q.PerStratum != nil:
		return assay.Errorf(assay.CodeInvalid, "per_stratum and sizes are given").WithHint("sizes name the n of each day and arm: leave out per_stratum")
	case q.Session != "":
		return assay.Errorf(assay.CodeInvalid, "a session and sizes are given").WithHint("leave out sizes: one session is graded whole")
	}
	seen := map[assay.Stratum]bool{}
	var sum int64
	for _, z := range q.Sizes {
		switch {
		case z.N < 0 || z.N > math.MaxInt32:
			return assay.Errorf(assay.CodeInvalid, "size %d of %s is out of range", z.N, stratumName(z.Stratum)).WithHint("use 0 to %d", math.MaxInt32)
		case seen[z.Stratum]:
			return assay.Errorf(assay.CodeInvalid, "sizes name %s twice", stratumName(z.Stratum)).WithHint("name each day and arm once")
		}
		seen[z.Stratum] = true
		sum += z.N
	}
	if sum == 0 {
		return assay.Errorf(assay.CodeInvalid, "sizes ask for no session").WithHint("give n of at least one day and arm, or leave out sizes for per_stratum")
	}
	return nil
}

// sortSizes puts sizes into the order of strata, so that the same request is stored as the same spec.
func sortSizes(sizes []assay.StratumSize) []assay.StratumSize {
	return slices.SortedFunc(slices.Values(sizes), func(a, b assay.StratumSize) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Arm, b.Arm))
	})
}

// knownSizes refuses sizes of strata that the frame does not have: their names are mistaken, and what was meant would
// go without a sample.
func knownSizes(spec assay.GradeSpec, strata []assay.PlannedStratum) error {
	have := make(map[assay.Stratum]bool, len(strata))
	for _, h := range strata {
		have[h.Stratum] = true
	}
	for _, z := range spec.Sizes {
		if !have[z.Stratum] {
			return assay.Errorf(assay.CodeInvalid, "sizes name %s, which has no eligible session in this frame", stratumName(z.Stratum)).
				WithHint("`assay plan` shows the days and arms of the frame")
		}
	}
	return nil
}

// stratumName quotes what may hold anything.
func stratumName(h assay.Stratum) string { return fmt.Sprintf("day %q, arm %q", h.Day, h.Arm) }

// census counts the sessions of each user in each stratum. A nil one counts nothing.
type census struct {
	users  map[string]int
	next   int
	strata map[assay.Stratum]int
	counts map[place]int64
}

type place struct{ stratum, user int }

func newCensus() *census {
	return &census{users: map[string]int{}, strata: map[assay.Stratum]int{}, counts: map[place]int64{}}
}

func (c *census) add(row *store.FrameRow) {
	if c == nil {
		return
	}
	user, ok := c.users[row.UserID]
	if !ok {
		user = c.next
		c.next++
		if row.UserID != assay.UnknownUser {
			c.users[strings.Clone(row.UserID)] = user
		}
	}
	h, ok := c.strata[assay.Stratum{Day: row.Day, Arm: row.Arm}]
	if !ok {
		h = len(c.strata)
		c.strata[assay.Stratum{Day: strings.Clone(row.Day), Arm: strings.Clone(row.Arm)}] = h
	}
	c.counts[place{h, user}]++
}

// in are the counts by the index of the strata that were drawn, sorted.
func (c *census) in(strata []assay.PlannedStratum) []engine.UserCount {
	if c == nil {
		return nil
	}
	number := c.numbered()
	index := make([]int, len(c.strata))
	for i, h := range strata {
		index[c.strata[h.Stratum]] = i
	}
	out := make([]engine.UserCount, 0, len(c.counts))
	for at, n := range c.counts {
		out = append(out, engine.UserCount{Stratum: index[at.stratum], User: number[at.user], N: n})
	}
	slices.SortFunc(out, func(a, b engine.UserCount) int {
		return cmp.Or(cmp.Compare(a.Stratum, b.Stratum), cmp.Compare(a.User, b.User))
	})
	return out
}

// numbered gives users the numbers of their names' order, those that are not known after them: neither the order
// nor the database that sessions come from says who is who.
func (c *census) numbered() []int {
	out := make([]int, c.next)
	for i := range out {
		out[i] = -1
	}
	for i, name := range slices.Sorted(maps.Keys(c.users)) {
		out[c.users[name]] = i
	}
	next := len(c.users)
	for i := range out {
		if out[i] < 0 {
			out[i] = next
			next++
		}
	}
	return out
}
