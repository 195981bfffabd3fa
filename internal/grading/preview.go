package grading

import (
	"context"
	"math"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// Check says what Resolve would refuse.
func (g *Grader) Check(ctx context.Context, p assay.Project, q engine.GradeRequest, now time.Time) error {
	_, err := g.resolve(ctx, p, q, now)
	return err
}

// Preview draws the sample, looks up what would be reused and makes the prompts. It writes nothing.
func (g *Grader) Preview(ctx context.Context, p assay.Project, q engine.GradeRequest, now time.Time) (engine.Preview, error) {
	r, err := g.resolve(ctx, p, q, now)
	if err != nil {
		return engine.Preview{}, err
	}
	var c *census
	if q.CountUsers {
		c = newCensus()
	}
	d, err := g.drawCounting(ctx, p.ID, r.spec, now, func() error { return ctx.Err() }, c)
	if err == nil {
		err = knownSizes(r.spec, d.strata)
	}
	if err != nil {
		return engine.Preview{}, err
	}
	sampled := int64(len(d.picks))
	out := engine.Preview{
		Spec: r.spec, AsOf: now, Strata: d.strata, Eligible: d.eligible, Sampled: sampled,
		Items: sampled * int64(len(r.spec.Judges)) * int64(r.spec.Repeats), Excluded: d.left, Users: d.users,
	}
	for i, j := range r.spec.Judges {
		asked, err := g.notReused(ctx, p.ID, r.spec, j, d.picks, now)
		if err != nil {
			return engine.Preview{}, err
		}
		items := sampled * int64(r.spec.Repeats)
		fresh := int64(len(asked)) * int64(r.spec.Repeats)
		jp := engine.JudgePreview{Name: j.Name, Kind: r.kinds[i], Version: j.Version, Items: items, Reused: items - fresh, Calls: fresh}
		if jp.Cost, err = g.previewCost(ctx, p.ID, j, r.versions[i], asked, &jp.Calls, r.concurrency); err != nil {
			return engine.Preview{}, err
		}
		if jp.Kind == assay.JudgeRules {
			jp.Calls = 0
		}
		out.Judges = append(out.Judges, jp)
	}
	return out, nil
}

// notReused are the picks that a judge would be asked about.
func (g *Grader) notReused(ctx context.Context, project assay.ProjectID, spec assay.GradeSpec, j assay.RunJudge, picks []pick, now time.Time) ([]pick, error) {
	if !reuses(spec) {
		return picks, nil
	}
	var asked []pick
	for part := range chunks(picks) {
		found, err := g.reusable(ctx, project, j, 0, part, now, time.Time{})
		if err != nil {
			return nil, err
		}
		for _, p := range part {
			if _, ok := found[p.content]; !ok {
				asked = append(asked, p)
			}
		}
	}
	return asked, nil
}

// previewPrompts bounds how many prompts of a judge a preview makes. Picks stand in an order that a hash
// made, so the first ones are a random part.
const previewPrompts = 400

func (g *Grader) previewCost(ctx context.Context, project assay.ProjectID, j assay.RunJudge, v assay.JudgeVersion, asked []pick, calls *int64, concurrency int) (*engine.CostPreview, error) {
	built, err := g.o.Build(v, j.Settings)
	if err != nil {
		return nil, err
	}
	defer built.Close()
	m, ok := judge.Safe(built).(judge.Metered)
	if !ok || *calls == 0 {
		return nil, nil
	}
	c := counted{CostPreview: engine.CostPreview{Model: m.Model(), Exact: true}}
	if err := g.countPrompts(ctx, m, asked[:min(len(asked), previewPrompts)], &c); err != nil {
		return nil, err
	}
	typical, err := g.o.Store.Spending().Typical(ctx, project, v.ID)
	if err != nil {
		return nil, err
	}
	scaled := float64(*calls) / float64(max(c.Prompts, 1))
	c.Input = int64(math.Ceil(float64(c.Input) * scaled))
	c.Output = int64(math.Ceil(float64(c.Output) * scaled))
	c.most = int64(math.Ceil(float64(c.most) * scaled))
	*calls = int64(math.Ceil(float64(c.calls) * scaled))
	if typical.N > 0 {
		limits, err := g.limitsOf(ctx, c.Model)
		if err != nil {
			return nil, err
		}
		var seconds float64
		seconds, c.Limited = takes(typical, *calls, c.Input, concurrency, limits)
		c.Seconds = &seconds
	}
	if g.o.Price != nil {
		c.Price = g.o.Price(m.Provider(), m.Model())
	}
	if c.Price != nil && c.Price.Holds(c.longest) {
		c.priced(*c.Price, typical, *calls)
	}
	return &c.CostPreview, nil
}

// limitsOf are those that a person set for a model.
func (g *Grader) limitsOf(ctx context.Context, key assay.ModelKey) (assay.Limits, error) {
	models, err := g.o.Store.Models().List(ctx)
	for _, m := range models {
		if m.ModelKey == key {
			return m.Settings.Limits, err
		}
	}
	return assay.Limits{}, err
}

// takes is how many seconds calls take together at a pace, and whether limits make it longer.
func takes(pace store.Typical, calls, input int64, concurrency int, l assay.Limits) (seconds float64, limited bool) {
	n := float64(calls)
	took := func(inFlight int) float64 { return pace.Seconds * math.Ceil(n/float64(inFlight)) }
	alone := took(concurrency)
	if seconds = alone; l.Concurrency > 0 {
		seconds = took(min(concurrency, l.Concurrency))
	}
	if l.RequestsPerMinute > 0 {
		seconds = max(seconds, 60*n/l.RequestsPerMinute)
	}
	if l.TokensPerMinute > 0 {
		seconds = max(seconds, 60*(float64(input)+pace.Output*n)/l.TokensPerMinute)
	}
	return seconds, seconds > alone
}

// counted is what some prompts would take, added up.
type counted struct {
	engine.CostPreview
	calls   int64
	most    int64 // tokens of all prompts, at most
	longest int64 // tokens of one prompt, at most
}

// priced says what all calls together would cost at a price that holds for each of them.
func (c *counted) priced(p assay.Price, typical store.Typical, calls int64) {
	p.UpTo = 0 // no call is as long as their sum
	c.Least = least(p, c.Input)
	if c.Output > 0 {
		most := p.Worst(c.most, c.Output)
		c.Most = &most
	}
	if typical.N > 0 {
		c.Expected = p.Cost(assay.Usage{Known: true, Input: c.Input, Output: int64(typical.Output * float64(calls))})
	}
}

// least is what prompts cost at least, whatever of them a cache holds.
func least(p assay.Price, input int64) *assay.USD {
	plain := *p.Cost(assay.Usage{Known: true, Input: input})
	cached := *p.Cost(assay.Usage{Known: true, Input: input, Cached: input})
	written := *p.Cost(assay.Usage{Known: true, Input: input, CacheWrite: input})
	low := min(plain, cached, written)
	return &low
}

// callsFor is how many calls an item takes whose first is d: a judge of turns asks about some at a time.
func callsFor(d judge.Draft) int64 {
	if d.Left <= 0 || d.Asked <= 0 {
		return 1
	}
	return 1 + int64((d.Left+d.Asked-1)/d.Asked)
}

// countPrompts adds up the prompts for some picks.
func (g *Grader) countPrompts(ctx context.Context, m judge.Metered, picks []pick, c *counted) error {
	keys := make([]assay.ContentKey, len(picks))
	for i, p := range picks {
		keys[i] = p.content
	}
	s := g.newShelf(ctx, keys)
	for _, p := range picks {
		session, hash, release, err := g.read(ctx, s, p.content)
		if err == nil {
			if !session.Empty() {
				c.add(m.Draft(judge.Question{Session: session, Content: hash}))
			}
			release()
		} else if again := noBody(ctx, err).Class == assay.ClassAborted; again {
			return err
		}
		c.Prompts++
	}
	return nil
}

func (c *counted) add(d judge.Draft) {
	if d.Ended != nil {
		if d.Ended.Class == assay.ClassContextTooLong {
			c.TooLong++
		}
		return
	}
	calls, input, most, exact := callsFor(d), d.Load.Input, d.Load.InputMost, false
	if d.Load.Count != nil {
		input, most, exact = d.Load.Count()
	}
	c.calls += calls
	c.Input, c.Output, c.Exact = c.Input+calls*input, c.Output+calls*d.Load.OutputMost, c.Exact && exact
	c.most, c.longest = c.most+calls*most, max(c.longest, most)
	if d.Seen.Cut {
		c.Cut++
	}
}
