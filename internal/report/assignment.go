package report

import (
	"math"

	"assay/internal/assay"
	"assay/internal/stats"
)

// mismatch is the P below which sessions did not go to arms as meant.
const mismatch = 0.001

// assignment is nil where there are no two arms.
func (v *view) assignment() *Assignment {
	arms, untagged, all := v.armSizes()
	if len(arms) < 2 {
		return nil
	}
	out := &Assignment{Arms: arms, Untagged: new(float64(untagged) / float64(all)), Any: v.o.AnyShares}
	tagged := float64(all - untagged)
	out.Effect = v.designEffect(tagged)
	meant := v.meant(arms)
	counts := make([]int64, len(arms))
	for i := range arms {
		arms[i].Share = float64(arms[i].Eligible) / tagged
		counts[i] = int64(math.Round(float64(arms[i].Eligible) / out.Effect))
		if meant != nil {
			arms[i].Meant = &meant[i]
		}
	}
	if meant == nil {
		return out
	}
	test := stats.SampleRatio(counts, meant)
	out.P, out.Absent = test.P.Pointer(), test.P.Absent
	out.Mismatch = test.P.Ok() && test.P.X < mismatch
	return out
}

// meant are the shares that arms were meant to have; nil where any would do.
func (v *view) meant(arms []ArmCount) []float64 {
	if v.o.AnyShares {
		return nil
	}
	shares := make([]float64, len(arms))
	var all float64
	for i, a := range arms {
		shares[i] = 1
		if v.o.Shares != nil {
			shares[i] = v.o.Shares[a.Arm]
		}
		all += shares[i]
	}
	for i := range shares {
		shares[i] /= all
	}
	return shares
}

// designEffect is how many sessions count as one because sessions of a user go to one arm together: sum n_u^2 /
// sum n_u over all sessions with an arm (Kish, Survey Sampling, 1965, 8.2). Users are known of the sampled ones
// only: of a sample of a share f, sum s_u(s_u - 1)/sum s_u is f times that of all.
func (v *view) designEffect(tagged float64) float64 {
	if len(v.sides) == 0 {
		return 1
	}
	s := v.sides[0]
	var sampled, pairs, n float64
	user := int32(-1)
	end := func() {
		pairs += n * (n - 1)
		sampled, n = sampled+n, 0
	}
	for _, i := range s.byUser {
		if v.strata[s.place[i]].Arm == assay.Untagged {
			continue
		}
		if u := s.e.Rows[i].User; u != user {
			end()
			user = u
		}
		n++
	}
	end()
	if sampled == 0 {
		return 1
	}
	return 1 + pairs/sampled*max(tagged/sampled, 1)
}
