package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/grading"
	"assay/internal/judge"
	"assay/internal/report"
	"assay/internal/report/compare"
	"assay/internal/stats"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// critic answers two questions, with some of both answers in every stratum.
type critic struct{ asked atomic.Uint64 }

func (c *critic) Ask(context.Context, judge.Question) judge.Reply {
	now := time.Now().UTC()
	h := c.asked.Add(1) * 0x9E3779B97F4A7C15
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	solved, polite := h%100 < 85, h>>32%100 < 97
	pass := solved && polite
	reason := "a tool confirmed it"
	if !solved {
		reason = fmt.Sprintf("no tool confirmed it (%d)", h%50)
	}
	return judge.Reply{CallAt: now, EndedAt: now, Answers: []assay.Answer{{Pass: &pass, Findings: []assay.Finding{
		{Criterion: "solved", Applies: true, Value: json.RawMessage(fmt.Sprint(solved)), Reason: reason},
		{Criterion: "polite", Applies: true, Value: json.RawMessage(fmt.Sprint(polite))},
	}}}}
}

func (*critic) NeedsBody() bool { return false }
func (*critic) Close() error    { return nil }

// reportVerdicts is how many verdicts a run of the report part has.
const reportVerdicts = 200_000

// reports grades reportVerdicts of Sessions sessions twice, and lets another process report and compare.
func reports(ctx context.Context, o options) ([]figure, error) {
	if err := fillReports(ctx, o); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-role", "reportread", "-dir", o.Dir, "-sessions", fmt.Sprint(o.Sessions))
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var out []figure
	for line := range bytes.Lines(raw) {
		var f figure
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func fillReports(ctx context.Context, o options) error {
	s, err := sqlite.Open(ctx, o.Dir)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := s.Projects().Create(ctx, "default", assay.DefaultSettings(), time.Now())
	if err != nil {
		return err
	}
	if err := fillSessions(ctx, s, p, o.Sessions); err != nil {
		return err
	}
	for _, id := range []assay.Hash{"first", "second"} {
		v := assay.JudgeVersion{ID: id, Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: []byte("{}"), CreatedAt: time.Now(),
			Criteria: []assay.Criterion{{Name: "solved", Type: assay.Boolean}, {Name: "polite", Type: assay.Boolean}}}
		if _, err := s.Judges().Apply(ctx, p.ID, assay.Judge{Name: "critic", Version: v.ID}, v, time.Now()); err != nil {
			return err
		}
		if err := gradeBy(ctx, s, p, &critic{}); err != nil {
			return err
		}
	}
	return nil
}

func gradeBy(ctx context.Context, s store.Store, p assay.Project, c *critic) error {
	now := func() time.Time { return time.Now().UTC() }
	grader := grading.New(grading.Options{Store: s, Now: now, Build: func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return c, nil }})
	d := local.New(local.Options{Store: s, Now: now, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: grader}})
	e := engine.New(s, grader, nil, d.Wake, now)
	cap, limit := (reportVerdicts+41)/42, 512
	run, _, err := e.Grade(ctx, p, engine.GradeRequest{Judges: []string{"critic"}, PerStratum: &cap, Concurrency: &limit}, nil)
	if err != nil {
		return err
	}
	_, err = rateOf(ctx, s, d, run.ID)
	return err
}

// reportRead reports and compares what reports made, in a process of its own.
func reportRead(ctx context.Context, o options) ([]figure, error) {
	s, err := sqlite.Open(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	first, err := s.Runs().Get(ctx, 1)
	if err != nil {
		return nil, err
	}
	second, err := s.Runs().Get(ctx, 2)
	if err != nil {
		return nil, err
	}
	work := fmt.Sprintf("report of %d verdicts on two questions in %d sessions (SQLite)", reportVerdicts, o.Sessions)
	var out []figure
	add := func(what, reach string, times int, f func() error) error {
		began := time.Now()
		var took []float64
		for range times {
			at := time.Now()
			if err := f(); err != nil {
				return err
			}
			took = append(took, float64(time.Since(at).Milliseconds()))
		}
		out = append(out, figure{Work: what, Reach: reach, Got: fmt.Sprintf("%.0f ms (median of %d)", median(took), times), RSS: peakRSS("self"), Seconds: time.Since(began).Seconds()})
		return nil
	}
	build := func(run assay.Run, target stats.Target) func() error {
		return func() error {
			_, err := report.Build(ctx, s, run, report.Options{Target: target})
			return err
		}
	}
	for _, step := range []struct {
		what, reach string
		times       int
		f           func() error
	}{
		{work + ", the first one", "3 s", 1, build(first, stats.Window)},
		{work + ", warm, window", "300 ms", 5, build(first, stats.Window)},
		{work + ", warm, process", "300 ms", 5, build(first, stats.Process)},
		{"the first report of a second such run", "3 s", 1, build(second, stats.Window)},
		{fmt.Sprintf("comparison of two such runs, paired by session: %d pairs, 3 x 45 drops", reportVerdicts), "5 s", 3, func() error {
			_, err := compare.Build(ctx, s, first, second, compare.Options{})
			return err
		}},
	} {
		if err := add(step.what, step.reach, step.times, step.f); err != nil {
			return nil, err
		}
	}
	return out, nil
}
