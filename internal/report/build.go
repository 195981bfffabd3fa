package report

import (
	"cmp"
	"context"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/stats"
	"assay/internal/store"
)

// facts are what a report is made of.
type facts struct {
	chain    extract.Chain
	judges   []*extract.Extract
	noise    map[noiseKey]*noiseCell // of a run that grades sessions more than once
	counts   Counts
	spend    map[int]assay.Spend // by judge
	budgeted assay.Spend         // of the newest run alone
	names    map[assay.ContentKey]store.ExtractName
}

// Build reads what a run and the runs that it retries have found so far.
func Build(ctx context.Context, s store.Store, run assay.Run, o Options) (Report, error) {
	if err := o.check(); err != nil {
		return Report{}, err
	}
	f, err := load(ctx, s, run)
	if err != nil {
		return Report{}, err
	}
	return compose(f, o)
}

// check fills in what is not given.
func (o *Options) check() error {
	o.Target = cmp.Or(o.Target, stats.Window)
	if o.Target != stats.Window && o.Target != stats.Process {
		return assay.Errorf(assay.CodeInvalid, "target %q is not known", o.Target).
			WithHint("window is the level of exactly these sessions, process what the agent does on traffic like this")
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		return assay.Errorf(assay.CodeInvalid, "confidence %v is out of range", o.Confidence).WithHint("use a share between 0 and 1, for instance 0.95")
	}
	for arm, share := range o.Shares {
		if !(share > 0) {
			return assay.Errorf(assay.CodeInvalid, "the share %v of arm %q is not above 0", share, arm).WithHint("give what was meant, for instance treatment=5,control=95")
		}
	}
	for _, g := range o.Gates {
		if err := knows(g); err != nil {
			return err
		}
	}
	return nil
}

func load(ctx context.Context, s store.Store, run assay.Run) (f facts, err error) {
	if f.chain, err = extract.ChainOf(ctx, s, run); err != nil {
		return f, err
	}
	for i := range run.Spec.Judges {
		e, err := extract.Load(ctx, s, f.chain, i)
		if err != nil {
			return f, err
		}
		f.judges = append(f.judges, e)
	}
	if err := f.loadCounts(ctx, s); err != nil {
		return f, err
	}
	if err := f.loadSpend(ctx, s); err != nil {
		return f, err
	}
	if err := f.loadNames(ctx, s); err != nil || run.Spec.Repeats < 2 || f.chain.Nothing() {
		return f, err
	}
	r := newRepeats(f.judges)
	f.noise = r.cells
	return f, s.Verdicts().Regraded(ctx, f.chain.Estimated(), f.chain.Prefix(), r.add)
}

// loadCounts counts items: of a run that has ended the rows of its extracts are all that there are, unless it
// graded sessions more than once.
func (f *facts) loadCounts(ctx context.Context, s store.Store) error {
	head, c := f.chain.Head(), &f.counts
	c.Strata = len(f.chain.Strata)
	for _, h := range f.chain.Strata {
		c.Eligible += h.Eligible
		c.Sampled += h.Sampled
	}
	if f.chain.Covers.Complete && head.Spec.Repeats < 2 {
		for _, e := range f.judges {
			for i := range e.Rows {
				r := &e.Rows[i]
				c.add(r.State, r.Class, r.Reused, 1)
			}
		}
	} else {
		ids := make([]assay.RunID, len(f.chain.Runs))
		for i := range ids {
			ids[i] = f.chain.Runs[i].ID
		}
		tally, err := s.Verdicts().Tally(ctx, ids, 0)
		if err != nil {
			return err
		}
		for _, t := range tally {
			c.add(t.State, t.Class, t.Reused, t.N)
		}
		live, err := s.Items().Counts(ctx, head.ID, head.AsOf) // only InFlight is used, which no clock changes
		if err != nil {
			return err
		}
		c.InFlight = live.InFlight
	}
	if c.Graded > 0 {
		share := float64(c.Reused) / float64(c.Graded)
		c.ReusedShare = &share
	}
	return nil
}

func (c *Counts) add(state assay.ItemState, class assay.Class, reused bool, n int64) {
	c.Total += n
	switch state {
	case assay.ItemGraded:
		c.Graded += n
		if reused {
			c.Reused += n
		}
		return
	case assay.ItemErrored:
		c.Errored += n
	case assay.ItemUngradable:
		c.Ungradable += n
	case assay.ItemCancelled:
		c.Cancelled += n
		return
	case assay.ItemAbandoned:
		c.Abandoned += n
		return
	default:
		c.Pending += n
		return
	}
	if c.ByClass == nil {
		c.ByClass = map[assay.Class]int64{}
	}
	c.ByClass[class] += n
}

// loadNames finds the sessions that are shown as examples.
func (f *facts) loadNames(ctx context.Context, s store.Store) (err error) {
	var shown []assay.ContentKey
	for _, e := range f.judges {
		for _, fails := range e.Fails {
			for _, x := range fails.Examples {
				shown = append(shown, e.Rows[x.Row].Content)
			}
		}
	}
	f.names, err = s.Extracts().Names(ctx, shown)
	return err
}

// compose turns facts into a report. It is pure.
func compose(f facts, o Options) (Report, error) {
	head, root := f.chain.Head(), f.chain.Root()
	r := Report{
		Run: header(f.chain), Unit: string(assay.UnitSession), Target: o.Target, Confidence: o.Confidence,
		Covers: f.chain.Covers, Counts: f.counts, Excluded: root.Left, Judges: []Judge{}, Spend: f.spendOf(), Notes: []string{},
	}
	v := newView(f, o)
	if err := v.checkArms(); err != nil {
		return r, err
	}
	r.Assignment = v.assignment()
	for i := range head.Spec.Judges {
		r.Judges = append(r.Judges, v.judge(i))
	}
	v.adjust(&r)
	outcomes, err := v.gates(&r)
	if err != nil {
		return r, err
	}
	r.Gates = outcomes
	r.Headline = headline(&r)
	r.Notes = append(r.Notes, v.notes(&r)...)
	return r, nil
}

func header(c extract.Chain) Header {
	run := c.Head()
	h := Header{
		ID: run.ID, Project: run.Project, Kind: run.Kind, State: run.State, Phase: run.Phase,
		Reason: run.Reason, Sentence: run.Sentence, Partial: run.Partial, Cancelling: run.Cancelling(),
		Frame: run.Spec.Frame, Seed: run.Spec.Seed, PerStratum: run.Spec.PerStratum, Sized: len(run.Spec.Sizes), Repeats: run.Spec.Repeats,
		AsOf: c.Root().AsOf, Zone: run.Spec.Settings.Zone, ArmKey: run.Spec.Settings.ArmKey,
		By: run.By, StartedAt: run.StartedAt, EndedAt: run.EndedAt,
	}
	for _, r := range c.Runs[1:] {
		h.Retries = append(h.Retries, r.ID)
	}
	return h
}
