package grading

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/filter"
	"assay/internal/judge"
	"assay/internal/store"
)

// MaxRepeats bounds how often one session is graded in one run.
const MaxRepeats = 100

// Resolve checks a request whole and fills in the project's defaults. Built-in judges that the run
// names are stored, so that the run's driver finds their version by its hash.
func (g *Grader) Resolve(ctx context.Context, p assay.Project, q engine.GradeRequest, now time.Time) (store.NewRun, error) {
	r, err := g.resolve(ctx, p, q, now)
	if err != nil {
		return store.NewRun{}, err
	}
	if len(r.spec.Sizes) > 0 {
		d, err := g.draw(ctx, p.ID, r.spec, now, func() error { return ctx.Err() })
		if err != nil {
			return store.NewRun{}, err
		}
		if err := knownSizes(r.spec, d.strata); err != nil {
			return store.NewRun{}, err
		}
	}
	for _, b := range r.builtins {
		if _, err := g.o.Store.Judges().Apply(ctx, p.ID, b.judge, b.version, now); err != nil {
			return store.NewRun{}, err
		}
	}
	n := store.NewRun{
		Project: p.ID, Kind: assay.RunGrade, Spec: r.spec, Concurrency: r.concurrency, Budget: q.Budget, By: q.By,
		AsOf: now, Now: now, Sentence: "accepted: waits for a driver",
	}
	if q.Session != "" {
		n.Kind = assay.RunSingle
		n.Keys = []string{assay.KeySingle(r.spec.Judges[0].Version, r.head.ContentHash)}
		return n, nil
	}
	n.Keys = gradeKeys(r.spec)
	return n, nil
}

func gradeKeys(spec assay.GradeSpec) (keys []string) {
	for _, j := range spec.Judges {
		keys = append(keys, assay.KeyGrade(j.Name))
	}
	if spec.Settings.OneGradeRun {
		keys = append(keys, assay.KeyGradeAny)
	}
	return keys
}

type resolved struct {
	spec        assay.GradeSpec
	concurrency int
	head        assay.Head           // kind single
	kinds       []assay.JudgeKind    // by judge
	versions    []assay.JudgeVersion // likewise
	unpriced    []string             // judges of which nobody knows what a call can cost
	builtins    []builtin
}

type builtin struct {
	judge   assay.Judge
	version assay.JudgeVersion
}

func (g *Grader) resolve(ctx context.Context, p assay.Project, q engine.GradeRequest, now time.Time) (resolved, error) {
	r := resolved{concurrency: p.Settings.Concurrency}
	if p.Rekeying {
		return r, assay.Errorf(assay.CodeUnavailable, "project %s is recomputing arms and days after a change of its settings", p.Name).
			WithHint("try again in a moment")
	}
	r.spec = assay.GradeSpec{
		Frame: assay.Frame{From: q.From, To: q.To, Filter: q.Filter, Set: q.Set, Labelled: q.Labelled, Undated: q.Undated, Since: q.Since, Session: q.Session},
		Seed:  engine.DefaultSeed, PerStratum: p.Settings.PerStratum, Repeats: max(q.Repeats, 1),
		Force: q.Force || q.Repeats > 1, Settings: p.Settings, Unpriced: q.Unpriced,
	}
	if q.Seed != nil {
		r.spec.Seed = *q.Seed
	}
	if q.PerStratum != nil {
		r.spec.PerStratum = *q.PerStratum
	}
	if q.Sizes != nil {
		r.spec.PerStratum, r.spec.Sizes = 0, sortSizes(q.Sizes)
	}
	if q.Concurrency != nil {
		r.concurrency = *q.Concurrency
	}
	if err := checkNumbers(q, r); err != nil {
		return r, err
	}
	if err := g.checkFrame(ctx, p, q, now); err != nil {
		return r, err
	}
	if err := g.resolveJudges(ctx, p, q, &r); err != nil {
		return r, err
	}
	if err := checkBudget(p, q, r); err != nil {
		return r, err
	}
	return r, g.resolveSession(ctx, p, q, &r)
}

func checkNumbers(q engine.GradeRequest, r resolved) error {
	if err := checkSizes(q); err != nil {
		return err
	}
	if q.Sizes == nil && r.spec.PerStratum < 1 {
		return assay.Errorf(assay.CodeInvalid, "per_stratum %d is less than 1", r.spec.PerStratum).
			WithHint("it is the number of sessions to grade per day and arm")
	}
	if q.Repeats < 0 || q.Repeats > MaxRepeats {
		return assay.Errorf(assay.CodeInvalid, "repeats %d is out of range", q.Repeats).WithHint("use 1 to %d", MaxRepeats)
	}
	return assay.ValidConcurrency(r.concurrency)
}

// checkBudget refuses a budget that could not be kept: where a price is not known, nobody can say what
// the next call costs.
func checkBudget(p assay.Project, q engine.GradeRequest, r resolved) error {
	if q.Budget == nil && p.Settings.MonthBudget == nil || q.Unpriced || len(r.unpriced) == 0 {
		return nil
	}
	whose := "the run has a budget"
	if q.Budget == nil {
		whose = "project " + p.Name + " has a budget for the month"
	}
	return assay.Errorf(assay.CodeInvalid, "%s, but nobody knows what a call of %s can cost", whose, strings.Join(r.unpriced, " or ")).
		WithHint("give the price with `assay models set`, or allow such calls, uncounted, with --allow-unpriced (allow_unpriced)")
}

// priced says whether the most that a call of j can cost is known.
func (g *Grader) priced(j judge.Judge) bool {
	m, ok := j.(judge.Metered)
	return ok && g.o.Price != nil && g.o.Price(m.Provider(), m.Model()) != nil
}

func unpricedName(name string, j judge.Judge) string {
	if m, ok := j.(judge.Metered); ok {
		return fmt.Sprintf("judge %s (%s)", name, m.Model())
	}
	return "judge " + name
}

func (g *Grader) checkFrame(ctx context.Context, p assay.Project, q engine.GradeRequest, now time.Time) error {
	if q.From != nil && q.To != nil && !q.From.Before(*q.To) {
		return assay.Errorf(assay.CodeInvalid, "the window is empty: from %s is not before to %s", q.From.Format(time.RFC3339), q.To.Format(time.RFC3339)).
			WithHint("`to` is exclusive: for one day give the next day as `to`")
	}
	if q.Since != nil && q.Since.After(now) {
		return assay.Errorf(assay.CodeInvalid, "since %s is later than now: no session can be in the frame", q.Since.Format(time.RFC3339)).
			WithHint("give the moment of an earlier run: its `as of` leaves out what it could grade")
	}
	if q.Filter != "" {
		if _, err := filter.Compile(q.Filter); err != nil {
			return err
		}
	}
	if q.Set != "" {
		if _, err := g.o.Store.Sets().Get(ctx, p.ID, q.Set); err != nil {
			return err
		}
	}
	return nil
}

func (g *Grader) resolveJudges(ctx context.Context, p assay.Project, q engine.GradeRequest, r *resolved) error {
	if len(q.Judges) == 0 {
		return assay.Errorf(assay.CodeInvalid, "no judge is named").WithHint("`assay judge list` shows which there are")
	}
	for i, name := range q.Judges {
		if slices.Contains(q.Judges[:i], name) {
			return assay.Errorf(assay.CodeInvalid, "judge %s is named twice", name).WithHint("name it once; `--repeat` grades each session more than once")
		}
		j, v, err := g.o.Store.Judges().Get(ctx, p.ID, name)
		if assay.CodeOf(err) == assay.CodeNotFound && g.o.Builtin != nil {
			bj, bv, notBuilt := g.o.Builtin(name)
			switch {
			case notBuilt == nil:
				j, v, err = bj, bv, nil
				r.builtins = append(r.builtins, builtin{bj, bv})
			case assay.CodeOf(notBuilt) != assay.CodeNotFound:
				err = notBuilt // it exists, but for instance a variable that it needs is not set
			}
		}
		if err != nil {
			return err
		}
		for _, other := range r.spec.Judges {
			if other.Version == v.ID {
				return assay.Errorf(assay.CodeInvalid, "judges %s and %s are the same version %.12s under two names", other.Name, name, v.ID).
					WithHint("name one of them; `--repeat` measures how steady a judge is")
			}
		}
		// A judge that cannot run here is refused by name before anything is stored or paid.
		built, err := g.o.Build(v, j.Settings)
		if err != nil {
			return err
		}
		if v.Kind != assay.JudgeRules && !g.priced(built) {
			r.unpriced = append(r.unpriced, unpricedName(name, built))
		}
		if err := built.Close(); err != nil {
			return assay.Errorf(assay.CodeInternal, "close judge %s: %w", name, err)
		}
		r.kinds, r.versions = append(r.kinds, v.Kind), append(r.versions, v)
		r.spec.Judges = append(r.spec.Judges, assay.RunJudge{Name: j.Name, Version: v.ID, Settings: j.Settings})
	}
	return nil
}

func (g *Grader) resolveSession(ctx context.Context, p assay.Project, q engine.GradeRequest, r *resolved) error {
	if q.Session == "" {
		return nil
	}
	if len(q.Judges) != 1 {
		return assay.Errorf(assay.CodeInvalid, "%d judges are named for one session", len(q.Judges)).
			WithHint("grade one session with one judge at a time")
	}
	if q.From != nil || q.To != nil || q.Filter != "" || q.Set != "" || q.Labelled || q.Undated || q.Since != nil {
		return assay.Errorf(assay.CodeInvalid, "a session and a frame are given").WithHint("leave out from, to, filter, set, labelled, undated and since")
	}
	user, id, err := assay.ParseSessionName(q.Session)
	if err != nil {
		return err
	}
	r.head, err = g.o.Store.Sessions().Get(ctx, p.ID, user, id)
	return err
}
