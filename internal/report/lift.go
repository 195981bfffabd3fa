package report

import (
	"cmp"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// armSizes are the eligible sessions of each arm, without the untagged, by name.
func (v *view) armSizes() (arms []ArmCount, untagged, all int64) {
	sizes := map[string]int64{}
	for _, h := range v.strata {
		all += h.Eligible
		if h.Arm == assay.Untagged {
			untagged += h.Eligible
			continue
		}
		sizes[h.Arm] += h.Eligible
	}
	for arm, n := range sizes {
		if n > 0 {
			arms = append(arms, ArmCount{Arm: arm, Eligible: n})
		}
	}
	slices.SortFunc(arms, func(a, b ArmCount) int { return cmp.Compare(a.Arm, b.Arm) })
	return arms, untagged, all
}

// checkArms refuses what names an arm that the frame does not have, and shares that leave one out: a slip of the pen
// would be taken for what was meant.
func (v *view) checkArms() error {
	arms, _, _ := v.armSizes()
	var names []string
	for _, a := range arms {
		names = append(names, a.Arm)
	}
	has := "it has " + strings.Join(names, ", ")
	if len(names) == 0 {
		has = "its sessions are all untagged: `assay project set` says which metadata key is the arm"
	}
	for arm := range v.o.Shares {
		if !slices.Contains(names, arm) {
			return assay.Errorf(assay.CodeInvalid, "there is no arm %q in the frame of this run", arm).WithHint("%s", has)
		}
	}
	for _, arm := range names {
		if _, ok := v.o.Shares[arm]; v.o.Shares != nil && !ok {
			return assay.Errorf(assay.CodeInvalid, "the shares do not say how many sessions of arm %q were meant", arm).WithHint("give a share for each arm, above 0")
		}
	}
	if v.o.Control != "" && !slices.Contains(names, v.o.Control) {
		return assay.Errorf(assay.CodeInvalid, "there is no arm %q in the frame of this run that could be the control", v.o.Control).WithHint("%s", has)
	}
	return nil
}

// control is the arm that the others are against; "" where there are no two arms.
func (v *view) control() string {
	arms, _, _ := v.armSizes()
	if len(arms) < 2 {
		return ""
	}
	for _, want := range [...]string{v.o.Control, assay.Control} {
		if slices.ContainsFunc(arms, func(a ArmCount) bool { return a.Arm == want }) {
			return want
		}
	}
	return slices.MaxFunc(arms, func(a, b ArmCount) int {
		return cmp.Or(cmp.Compare(a.Eligible, b.Eligible), cmp.Compare(b.Arm, a.Arm))
	}).Arm
}

// lifts are those of a question that is answered with yes or no.
func (v *view) lifts(s side, a answers) []Lift {
	control := v.control()
	if control == "" {
		return nil
	}
	arms, _, _ := v.armSizes()
	all := v.inputs(s, a, nil)
	var out []Lift
	for _, arm := range arms {
		if arm.Arm == control {
			continue
		}
		l := Lift{Kind: KindRate, Arm: arm.Arm, Control: control}
		var place []liftPlace
		l.days, place = v.days(all, arm.Arm, control)
		l.cells = s.liftCells(a, place)
		got := stats.Lift(l.days, l.cells, v.o.Confidence)
		l.p = got.P
		l.Lift = number.DifferenceOf(got.Difference)
		l.Lift.Low, l.Lift.High = v.liftBounds(all, place, len(l.days))
		l.Days, l.Dropped = got.Days, got.Dropped
		out = append(out, l)
	}
	return out
}

func (v *view) lift(days []stats.Both, cells []stats.ArmCell, confidence float64) number.Difference {
	return number.DifferenceOf(stats.Lift(days, cells, confidence).Difference)
}

// liftPlace is where a stratum stands in a lift, if it does.
type liftPlace struct {
	in        bool
	day       int
	treatment bool
}

// days are the counts of two arms by day.
func (v *view) days(all []stats.Stratum, arm, control string) (days []stats.Both, place []liftPlace) {
	place = make([]liftPlace, len(v.strata))
	at := map[string]int{}
	for _, day := range v.names(func(h assay.PlannedStratum) string { return h.Day }) {
		at[day] = len(days)
		days = append(days, stats.Both{Label: day})
	}
	used := make([]bool, len(days))
	for i, h := range v.strata {
		if h.Arm != arm && h.Arm != control {
			continue
		}
		d := at[h.Day]
		used[d] = true
		place[i] = liftPlace{true, d, h.Arm == arm}
		side := stats.Arm{Size: h.Eligible, Observed: all[i].Domain, Hits: int64(all[i].Sum)}
		if h.Arm == arm {
			days[d].Treatment = side
		} else {
			days[d].Control = side
		}
	}
	return onlyUsed(days, used, place)
}

// onlyUsed leaves out days of other arms only.
func onlyUsed(days []stats.Both, used []bool, place []liftPlace) ([]stats.Both, []liftPlace) {
	to := make([]int, len(days))
	var kept []stats.Both
	for i, d := range days {
		if to[i] = len(kept); used[i] {
			kept = append(kept, d)
		}
	}
	for i, p := range place {
		p.day = to[p.day]
		place[i] = p
	}
	return kept, place
}

// liftCells are what users' rows gave, in order of user, arm and day, as byUser is.
func (s side) liftCells(a answers, place []liftPlace) []stats.ArmCell {
	cells := make([]stats.ArmCell, 0, len(s.byUser))
	for _, i := range s.byUser {
		p := place[s.place[i]]
		if !p.in || !a.applies[i] {
			continue
		}
		user := int(s.e.Rows[i].User)
		if n := len(cells); n == 0 || cells[n-1].User != user || cells[n-1].Day != p.day || cells[n-1].Treatment != p.treatment {
			cells = append(cells, stats.ArmCell{User: user, Day: p.day, Treatment: p.treatment})
		}
		c := &cells[len(cells)-1]
		c.Observed++
		c.Hits += int64(a.x[i])
	}
	return cells
}

// liftBounds are the lifts were everything missing worst for the arm and best for the control, and the other way
// round, over the days that count.
func (v *view) liftBounds(all []stats.Stratum, place []liftPlace, days int) (low, high *float64) {
	type rates struct {
		n           float64
		least, most float64
		ok          bool
	}
	arms, controls := make([]rates, days), make([]rates, days)
	for i := range all {
		p := place[i]
		if !p.in {
			continue
		}
		h := all[i]
		missing := float64(h.Drawn - h.Observed)
		r := rates{n: float64(h.Size), ok: h.Domain > 0}
		if d := float64(h.Domain) + missing; d > 0 {
			r.least, r.most = h.Sum/d, (h.Sum+missing)/d
		}
		if p.treatment {
			arms[p.day] = r
		} else {
			controls[p.day] = r
		}
	}
	var weights, least, most float64
	for d := range days {
		t, c := arms[d], controls[d]
		if !t.ok || !c.ok {
			continue
		}
		w := t.n * c.n / (t.n + c.n)
		weights, least, most = weights+w, least+w*(t.least-c.most), most+w*(t.most-c.least)
	}
	if weights == 0 {
		return nil, nil
	}
	return new(least / weights), new(most / weights)
}
