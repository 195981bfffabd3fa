package check

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/number"
	"assay/internal/stats"
	"assay/internal/store"
)

// checker is a run's verdicts of one judge on one question, and what people said of the same contents.
type checker struct {
	project  assay.Project
	o        Options
	run      assay.Run
	chain    extract.Chain
	e        *extract.Extract
	at       int // of the question's column
	question string
	rows     map[assay.ContentKey]int32 // graded ones
	graded   int64
	strata   []assay.PlannedStratum
	place    map[int32]int
	truths   []truth
	undrawn  int64                       // graded sessions that a draw whose labels are used could not draw
	ratings  map[int32]map[string]string // by row and rater: what they said
	out      Check
}

// Build checks a judge of a project.
func Build(ctx context.Context, s store.Store, p assay.Project, judge string, o Options) (Check, error) {
	c, err := load(ctx, s, p, judge, o)
	if err != nil {
		return Check{}, err
	}
	var elsewhere *checker
	if o.From != nil {
		from := o
		from.Run, from.From, from.Version = o.From, nil, ""
		if elsewhere, err = load(ctx, s, p, judge, from); err != nil {
			return Check{}, err
		}
	}
	c.compose(elsewhere)
	if err := c.disagreements(ctx, s, mostShown); err != nil {
		return Check{}, err
	}
	return c.out, nil
}

func load(ctx context.Context, s store.Store, p assay.Project, judge string, o Options) (*checker, error) {
	o.Criterion = cmp.Or(o.Criterion, assay.CriterionPass)
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		return nil, assay.Errorf(assay.CodeInvalid, "confidence %v is out of range", o.Confidence).WithHint("use a share between 0 and 1, for instance 0.95")
	}
	c := &checker{project: p, o: o, rows: map[assay.ContentKey]int32{}, place: map[int32]int{}, ratings: map[int32]map[string]string{}}
	at, err := c.find(ctx, s, judge)
	if err != nil {
		return nil, err
	}
	if c.chain, err = extract.ChainOf(ctx, s, c.run); err != nil {
		return nil, err
	}
	if c.e, err = extract.Load(ctx, s, c.chain, at); err != nil {
		return nil, err
	}
	if err := c.ask(); err != nil {
		return nil, err
	}
	if err := c.count(ctx, s); err != nil {
		return nil, err
	}
	return c, c.weigh(ctx, s)
}

// find is the run whose verdicts are checked: the one that was named, or the newest that ended and has the version.
func (c *checker) find(ctx context.Context, s store.Store, judge string) (at int, err error) {
	if c.o.Run != nil {
		c.run = *c.o.Run
		at = slices.IndexFunc(c.run.Spec.Judges, func(j assay.RunJudge) bool { return j.Name == judge && (c.o.Version == "" || j.Version == c.o.Version) })
		if at < 0 {
			return 0, assay.Errorf(assay.CodeInvalid, "run %s did not ask the judge %q", c.run.ID, judge).WithHint("`assay runs show %s` lists its judges", c.run.ID)
		}
		return at, nil
	}
	version := c.o.Version
	if version == "" {
		j, _, err := s.Judges().Get(ctx, c.project.ID, judge)
		if err != nil {
			return 0, err
		}
		version = j.Version
	}
	q := store.RunQuery{Project: c.project.ID, Kind: assay.RunGrade, States: []assay.RunState{assay.RunCompleted, assay.RunCancelled}}
	for page := (store.Page{Limit: 200}); ; {
		runs, next, err := s.Runs().List(ctx, q, page)
		if err != nil {
			return 0, err
		}
		for _, run := range runs {
			if at := slices.IndexFunc(run.Spec.Judges, func(j assay.RunJudge) bool { return j.Version == version }); at >= 0 {
				c.run = run
				return at, nil
			}
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	return 0, assay.Errorf(assay.CodeNotFound, "no ended run asked the present version of the judge %q", judge).
		WithHint("grade what is labelled first: `assay grade --judge %s --labelled`; or name a run with --run", judge)
}

// ask finds the question's column and the graded rows.
func (c *checker) ask() error {
	var names []string
	c.at = -1
	for i, column := range c.e.Columns {
		names = append(names, column.Criterion.Name)
		if column.Criterion.Name == c.o.Criterion {
			c.at = i
		}
	}
	if c.at < 0 {
		return assay.Errorf(assay.CodeInvalid, "the judge %q has no criterion %q", c.e.Judge.Name, c.o.Criterion).WithHint("it has %s", strings.Join(names, ", "))
	}
	if c.at > 0 {
		c.question = c.column().Criterion.Version()
	}
	c.strata = slices.Clone(c.chain.Strata)
	slices.SortFunc(c.strata, func(a, b assay.PlannedStratum) int {
		return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Day, b.Day))
	})
	for i, h := range c.strata {
		c.place[int32(h.Index)] = i
	}
	for i := range c.e.Rows {
		if _, planned := c.place[c.e.Rows[i].Stratum]; planned && c.column().Answers[i] >= 0 {
			c.rows[c.e.Rows[i].Content] = int32(i)
			c.graded++
		}
	}
	k := c.column().Criterion
	c.out = Check{
		Judge: c.e.Judge.Name, Version: c.e.Judge.Version, Criterion: k.Name, Type: k.Type, Question: k.Question,
		Run: c.run.ID, AsOf: c.chain.Root().AsOf, Target: stats.Window, Slices: []Slice{}, Disagree: []Disagreement{}, Notes: []string{},
	}
	return nil
}

func (c *checker) column() *extract.Column { return &c.e.Columns[c.at] }

func (c *checker) stratumOf(row int32) assay.Stratum {
	return c.strata[c.place[c.e.Rows[row].Stratum]].Stratum
}

// said is a row's answer as a JSON value.
func (c *checker) said(row int32) string {
	column := c.column()
	switch column.Criterion.Type {
	case assay.Boolean:
		if column.Answers[row] == extract.Yes {
			return "true"
		}
		return "false"
	case assay.Number:
		return plain(number.Exactly(column.Numbers[row]))
	}
	return quoted(column.Values[column.Answers[row]])
}

// weight is how many sessions of the frame a labelled one stands for.
func (c *checker) weight(t *truth, answered []int64) float64 {
	at := c.place[c.e.Rows[t.row].Stratum]
	return float64(c.strata[at].Eligible) / float64(answered[at]) / t.probability
}

// answered counts the rows with an answer by stratum.
func (c *checker) answered() []int64 {
	n := make([]int64, len(c.strata))
	for _, row := range c.rows {
		n[c.place[c.e.Rows[row].Stratum]]++
	}
	return n
}

// inputs are the strata with the judge's answers, and users' cells.
func (c *checker) inputs() []stats.Stratum {
	out := make([]stats.Stratum, len(c.strata))
	for i, h := range c.strata {
		out[i] = stats.Stratum{Label: h.Day + "/" + h.Arm, Line: h.Arm, Size: h.Eligible, Drawn: h.Sampled}
		if h.Day == assay.Undated {
			out[i].Line = ""
		}
	}
	lists := make([][]float64, len(out))
	for i := range c.e.Rows {
		at, planned := c.place[c.e.Rows[i].Stratum]
		if !planned || c.column().Answers[i] < 0 {
			continue
		}
		out[at].Observed++
		out[at].Domain++
		lists[at] = append(lists[at], c.x(int32(i)))
	}
	for at, list := range lists {
		slices.Sort(list)
		for _, x := range list {
			out[at].Sum += x
			out[at].Squares += x * x
		}
	}
	return out
}

// x is what a row's answer counts.
func (c *checker) x(row int32) float64 {
	if c.column().Criterion.Type == assay.Number {
		return c.column().Numbers[row]
	}
	return float64(c.column().Answers[row])
}
