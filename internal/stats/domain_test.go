package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A part that is not drawn by itself, such as an agent version that is on a few of the days: intervals of its rate hold
// the truth 95 of 100 times or more, also where most strata show none of its sessions.
func TestPartsAreHit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, c := range []struct {
		p, first, later float64 // rate; share of the part on most days, and on the last two
		cap             int
	}{
		{0.5, 0.3, 0.3, 20}, {0.5, 0, 0.6, 20}, {0.9, 0.02, 0.5, 50}, {0.1, 0.3, 0.3, 20}, {0.1, 0, 0.5, 50}, {0.02, 0.5, 0.5, 50}, {0.5, 0.05, 0.05, 50}, {0.9, 0.01, 0.01, 200},
	} {
		for _, target := range []Target{Window, Process} {
			hits, none, width, tries := 0, 0, 0.0, 600
			for range tries {
				truth, strata := drawPart(r, c.p, c.first, c.later, c.cap)
				if target == Process {
					truth = c.p
				}
				i := RateInterval(strata, nil, target, 0.95)
				switch {
				case !i.Ok():
					none++
					continue
				case i.Has(truth):
					hits++
				}
				width += i.Width()
			}
			share := float64(hits) / float64(tries-none)
			t.Logf("%+v, %s: %.3f hits, width %.3f, none %d", c, target, share, width/float64(tries-none), none)
			if share < 0.925 || none > tries/4 {
				t.Errorf("%+v, %s: %.3f hits, none %d of %d times", c, target, share, none, tries)
			}
		}
	}
}

// drawPart makes a population of 14 days, one of them busy, and samples it; truth is the part's rate in it.
func drawPart(r *rand.Rand, p, first, later float64, cap int) (truth float64, strata []Stratum) {
	var all, good float64
	for day := range 14 {
		size := 120
		if day == 9 {
			size = 3000
		}
		share := first
		if day > 11 || day == 9 {
			share = later
		}
		h := Stratum{Label: fmt.Sprint(day), Line: "a", Size: int64(size), Drawn: int64(min(cap, size))}
		for i := range size {
			in, ok := r.Float64() < share, r.Float64() < p
			if in {
				all++
				if ok {
					good++
				}
			}
			if i < int(h.Drawn) { // units come in no order
				h.Observed++
				if in {
					h.Domain++
					if ok {
						h.Sum++
					}
				}
			}
		}
		strata = append(strata, h)
	}
	return good / max(all, 1), strata
}
