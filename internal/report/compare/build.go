package compare

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/extract"
	"assay/internal/report/gate"
	"assay/internal/stats"
	"assay/internal/store"
)

// half is one side's rows.
type half struct {
	run   assay.Run
	chain extract.Chain
	judge int
	e     *extract.Extract
}

// Build compares two runs of one project.
func Build(ctx context.Context, s store.Store, a, b assay.Run, o Options) (Comparison, error) {
	p, err := load(ctx, s, a, b, &o)
	if err != nil {
		return Comparison{}, err
	}
	noise, err := measured(ctx, s, p.a)
	if err != nil {
		return Comparison{}, err
	}
	return p.compose(noise)
}

// load reads both sides and pairs them.
func load(ctx context.Context, s store.Store, a, b assay.Run, o *Options) (*pairing, error) {
	if err := o.check(a, b); err != nil {
		return nil, err
	}
	ha, err := halfOf(ctx, s, a, o.JudgeA, "--judge-a")
	if err != nil {
		return nil, err
	}
	if o.JudgeB == "" && slices.ContainsFunc(b.Spec.Judges, func(j assay.RunJudge) bool { return j.Name == ha.e.Judge.Name }) {
		o.JudgeB = ha.e.Judge.Name
	}
	hb, err := halfOf(ctx, s, b, o.JudgeB, "--judge-b")
	if err != nil {
		return nil, err
	}
	if a.ID == b.ID && ha.judge == hb.judge {
		return nil, assay.Errorf(assay.CodeInvalid, "%s is compared with itself", a.ID).WithHint("name another run, or two judges of this one")
	}
	return pair(ha, hb, *o)
}

func (o *Options) check(a, b assay.Run) error {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	o.Primary = cmp.Or(o.Primary, assay.CriterionPass)
	switch {
	case !(o.Confidence > 0 && o.Confidence < 1):
		return assay.Errorf(assay.CodeInvalid, "confidence %v is out of range", o.Confidence).WithHint("use a share between 0 and 1, for instance 0.95")
	case o.Key != "" && o.Key != BySession && o.Key != ByCase && o.Key != ByNone:
		return assay.Errorf(assay.CodeInvalid, "runs cannot be paired by %q", o.Key).WithHint("use session, case or none")
	case a.ProjectID != b.ProjectID:
		return assay.Errorf(assay.CodeInvalid, "%s is of project %s and %s of project %s", a.ID, a.Project, b.ID, b.Project).WithHint("compare runs of one project")
	}
	for _, g := range o.Gates {
		if g.Metric != gate.Drop && g.Metric != gate.Coverage && g.Metric != gate.Errors {
			return assay.Errorf(assay.CodeInvalid, "gate %q: a comparison has no %s", g.Text, g.Metric).
				WithHint("a comparison has drop, coverage and errors; `assay report --fail-if` has rate and lift")
		}
	}
	for _, r := range [...]assay.Run{a, b} {
		if r.Kind != assay.RunGrade && r.Kind != assay.RunSingle {
			return assay.Errorf(assay.CodeInvalid, "run %s is of kind %s and has no verdicts of a judge to compare", r.ID, r.Kind).WithHint("`assay runs cases %s` lists its cases", r.ID)
		}
	}
	return nil
}

func halfOf(ctx context.Context, s store.Store, run assay.Run, judge, flag string) (h half, err error) {
	h.run = run
	names := make([]string, len(run.Spec.Judges))
	for i, j := range run.Spec.Judges {
		names[i] = j.Name
	}
	switch h.judge = slices.Index(names, judge); {
	case judge == "" && len(names) == 1:
		h.judge = 0
	case judge == "":
		return h, assay.Errorf(assay.CodeInvalid, "run %s has several judges: %s", run.ID, strings.Join(names, ", ")).WithHint("name one with %s", flag)
	case h.judge < 0:
		return h, assay.Errorf(assay.CodeInvalid, "run %s has no judge %q", run.ID, judge).WithHint("it has %s; name one with %s", strings.Join(names, ", "), flag)
	}
	if h.chain, err = extract.ChainOf(ctx, s, run); err != nil {
		return h, err
	}
	h.e, err = extract.Load(ctx, s, h.chain, h.judge)
	return h, err
}

// measured is the newest run of A's judge version that graded sessions more than once, with how often two gradings
// of one session differed, by criterion; nil where there is none among the project's newest runs.
func measured(ctx context.Context, s store.Store, a half) (*noise, error) {
	q := store.RunQuery{Project: a.run.ProjectID, Kind: assay.RunGrade, States: []assay.RunState{assay.RunCompleted}}
	runs, _, err := s.Runs().List(ctx, q, store.Page{Limit: 500})
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		at := slices.IndexFunc(run.Spec.Judges, func(j assay.RunJudge) bool { return j.Version == a.e.Judge.Version })
		if at < 0 || run.Spec.Repeats < 2 {
			continue
		}
		r, err := report.Build(ctx, s, run, report.Options{})
		if err != nil {
			return nil, err
		}
		n := &noise{run: run.ID, flips: map[string]float64{}}
		for _, k := range r.Judges[at].Criteria {
			if k.Noise != nil && k.Noise.FlipRate != nil {
				n.flips[k.Name] = *k.Noise.FlipRate
			}
		}
		return n, nil
	}
	return nil, nil
}

// noise is how often two gradings of one session differ, by criterion.
type noise struct {
	run   assay.RunID
	flips map[string]float64
}

// compose turns pairs into a comparison. It is pure.
func (p *pairing) compose(n *noise) (Comparison, error) {
	c := Comparison{
		A: p.side(p.a), B: p.side(p.b), Target: stats.Process, Confidence: p.o.Confidence, Seed: p.o.Seed, Differs: p.differs(), Criteria: []Criterion{}, Notes: []string{},
	}
	c.Pairing = Pairing{Key: p.key, Why: p.why, Pairs: p.count, Users: p.users(), LeftOut: p.leftOut()}
	for at := range p.a.e.Columns {
		other := p.other(at)
		if other < 0 {
			c.Unshared = append(c.Unshared, p.a.e.Columns[at].Criterion.Name)
			continue
		}
		c.Criteria = append(c.Criteria, p.criteria(at, other, n)...)
	}
	for at := range p.b.e.Columns {
		if name := p.b.e.Columns[at].Criterion.Name; !slices.Contains(c.Unshared, name) && !slices.ContainsFunc(c.Criteria, func(k Criterion) bool { return k.Name == name }) {
			c.Unshared = append(c.Unshared, name)
		}
	}
	if !slices.ContainsFunc(c.Criteria, func(k Criterion) bool { return k.Name == p.o.Primary }) {
		return c, assay.Errorf(assay.CodeInvalid, "the criterion %q is not on both sides", p.o.Primary).WithHint("both sides have %s", strings.Join(shared(c), ", "))
	}
	p.adjust(&c)
	var err error
	if c.Gates, err = p.gates(&c); err != nil {
		return c, err
	}
	c.Headline = headline(&c)
	c.Notes = append(c.Notes, p.notes(&c)...)
	return c, nil
}

func shared(c Comparison) (names []string) {
	for _, k := range c.Criteria {
		if !slices.Contains(names, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// other is the column of B that answers the question of A's column: of the same name and type; -1 where there is none.
func (p *pairing) other(at int) int {
	k := p.a.e.Columns[at].Criterion
	return slices.IndexFunc(p.b.e.Columns, func(c extract.Column) bool { return c.Criterion.Name == k.Name && c.Criterion.Type == k.Type })
}

func (p *pairing) side(h half) Side {
	out := Side{
		Run: h.run.ID, State: h.run.State, Judge: h.e.Judge.Name, Version: h.e.Judge.Version, Kind: h.e.Version.Kind, AsOf: h.chain.Root().AsOf,
		Covers: h.chain.Covers, Partial: h.run.Partial, AgentVersions: agents(h.e),
	}
	for _, r := range h.chain.Runs[1:] {
		out.Retries = append(out.Retries, r.ID)
	}
	var strata []stats.Stratum
	at := map[int32]int{}
	for _, s := range h.chain.Strata {
		at[int32(s.Index)] = len(strata)
		strata = append(strata, stats.Stratum{Size: s.Eligible, Drawn: s.Sampled})
		out.Eligible, out.Sampled = out.Eligible+s.Eligible, out.Sampled+s.Sampled
	}
	for i := range h.e.Rows {
		if n, ok := at[h.e.Rows[i].Stratum]; ok && h.e.Rows[i].State == assay.ItemGraded {
			strata[n].Observed++
			out.Graded++
		}
	}
	out.Coverage = stats.Coverage(strata).Pointer()
	return out
}

// mostAgents is how many agent versions of a side are named.
const mostAgents = 10

func agents(e *extract.Extract) []string {
	n := make([]int64, len(e.Agents))
	for i := range e.Rows {
		n[e.Rows[i].Agent]++
	}
	order := make([]int, 0, len(n))
	for i := range n {
		if n[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(e.Agents[a], e.Agents[b])) })
	out := []string{}
	for _, i := range order[:min(len(order), mostAgents)] {
		out = append(out, cmp.Or(e.Agents[i], "(none)"))
	}
	return out
}
