package old

import (
	"fmt"
	"slices"

	"assay/internal/assay"
)

// compose turns rows into a report. It is pure.
func compose(f facts) Report {
	head := f.chain[0]
	r := Report{
		Run: header(f.chain), Unit: string(assay.UnitSession), Target: TargetWindow,
		Covers: f.covers, Counts: counts(f), Excluded: f.chain[len(f.chain)-1].Left,
		Judges: []Judge{}, Spend: spend(f),
	}
	c := newCells(f)
	for i, j := range head.Spec.Judges {
		r.Judges = append(r.Judges, c.judge(i, j, f.versions[i]))
	}
	r.Notes = notes(f, r)
	return r
}

func header(chain []assay.Run) Header {
	run := chain[0]
	h := Header{
		ID: run.ID, Project: run.Project, Kind: run.Kind, State: run.State, Phase: run.Phase,
		Reason: run.Reason, Sentence: run.Sentence, Partial: run.Partial, Cancelling: run.Cancelling(),
		Frame: run.Spec.Frame, Seed: run.Spec.Seed, PerStratum: run.Spec.PerStratum, Repeats: run.Spec.Repeats,
		AsOf: chain[len(chain)-1].AsOf, Zone: run.Spec.Settings.Zone, ArmKey: run.Spec.Settings.ArmKey,
	}
	for _, r := range chain[1:] {
		h.Retries = append(h.Retries, r.ID)
	}
	return h
}

func counts(f facts) Counts {
	c := Counts{Strata: len(f.strata), InFlight: f.live.InFlight}
	for _, h := range f.strata {
		c.Eligible += h.Eligible
		c.Sampled += h.Sampled
	}
	for _, t := range f.tally {
		c.Total += t.N
		switch t.State {
		case assay.ItemGraded:
			c.Graded += t.N
			if t.Reused {
				c.Reused += t.N
			}
		case assay.ItemErrored:
			c.Errored += t.N
			c.count(t.Class, t.N)
		case assay.ItemUngradable:
			c.Ungradable += t.N
			c.count(t.Class, t.N)
		case assay.ItemCancelled:
			c.Cancelled += t.N
		case assay.ItemAbandoned:
			c.Abandoned += t.N
		case assay.ItemPending:
			c.Pending += t.N
		}
	}
	if c.Graded > 0 {
		share := float64(c.Reused) / float64(c.Graded)
		c.ReusedShare = &share
	}
	return c
}

func (c *Counts) count(class assay.Class, n int64) {
	if c.ByClass == nil {
		c.ByClass = map[assay.Class]int64{}
	}
	c.ByClass[class] += n
}

func spend(f facts) (s Spend) {
	var all assay.Spend
	for _, r := range f.spend {
		all = all.Add(r)
	}
	s = Spend{Attempts: all.Attempts, Lost: all.Unknown, Late: all.Late, Usage: all.Usage, Known: all.Cost, Held: all.Held, HeldN: all.HeldN, Unpriced: all.Unpriced, Unmetered: all.Unmetered}
	if head := f.chain[0]; head.Budget != nil {
		s.Budget, s.Left = head.Budget, f.spend[0].Left(head.Budget)
	}
	if !slices.ContainsFunc(f.versions, func(v assay.JudgeVersion) bool { return v.Kind != assay.JudgeRules }) {
		s.Known, s.Held, s.HeldN, s.Unpriced = 0, 0, 0, 0 // rules call nobody: that price is known
	}
	if s.Unpriced == 0 && s.HeldN == 0 {
		s.Cost = &s.Known
	}
	return s
}

func notes(f facts, r Report) []string {
	var out []string
	head := f.chain[0]
	switch {
	case r.Covers.Complete:
	case len(f.chain) > 1:
		out = append(out, fmt.Sprintf("Run %s retries what did not end well in %s and has not ended: its verdicts are not in the numbers yet.", head.ID, f.chain[1].ID))
	case r.Covers.Through == 0:
		out = append(out, "No completed beginning of the sample yet, so there are no numbers.")
	default:
		out = append(out, fmt.Sprintf("Run %s has not ended. The numbers cover items 1 to %d of %d in dispatch order, all of which have ended; what ended after those is left out, because what ends first favours short sessions. Coverage and bounds count the rest as missing.", head.ID, r.Covers.Through, r.Covers.Of))
	}
	if head.Partial {
		out = append(out, "Partial: this run was ended early, the rest of its items were abandoned.")
	}
	if lost := r.Counts.Cancelled + r.Counts.Abandoned; lost > 0 {
		out = append(out, fmt.Sprintf("%s items were cancelled or abandoned; coverage and bounds count them as missing.", whole(lost)))
	}
	if slices.ContainsFunc(r.Judges, func(j Judge) bool { return j.Cut > 0 }) {
		out = append(out, CutLegend)
	}
	if r.Run.Repeats > 1 {
		out = append(out, fmt.Sprintf("Every session was graded %d times. The tables of rates and means take the first grading of each, so that they say what one grading would have said; only items and spend count every grading.", r.Run.Repeats), NoiseLegend)
	}
	return append(out, PointOnly)
}
