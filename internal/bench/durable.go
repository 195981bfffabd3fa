package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/grading"
	"assay/internal/judge"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// free is a judge that costs nothing and looks at nothing: what is left is the engine and the disk.
type free struct{}

func (free) Ask(context.Context, judge.Question) judge.Reply {
	now := time.Now().UTC()
	pass := true
	return judge.Reply{CallAt: now, EndedAt: now, Answers: []assay.Answer{{
		Pass: &pass, Findings: []assay.Finding{{Criterion: "ok", Applies: true, Value: json.RawMessage("true")}},
	}}}
}

func (free) NeedsBody() bool { return false }
func (free) Close() error    { return nil }

// durable grades Items sessions with the free judge, five times at each limit.
func durable(ctx context.Context, o options) ([]figure, error) {
	var out []figure
	for _, c := range []struct {
		limit int
		bar   string
	}{{64, "18,000/s"}, {512, "32,000/s"}} {
		began := time.Now()
		var rates []float64
		for i := range 5 {
			rate, err := gradeFree(ctx, filepath.Join(o.Dir, fmt.Sprintf("%d-%d", c.limit, i)), o.Items, c.limit)
			if err != nil {
				return nil, err
			}
			rates = append(rates, rate)
		}
		out = append(out, figure{
			Work:  fmt.Sprintf("durable items, free judge, %d items, %d in flight (SQLite)", o.Items, c.limit),
			Reach: c.bar + ", 200 MB", Got: fmt.Sprintf("%.0f/s (median of 5)", median(rates)),
			RSS: peakRSS("self"), Seconds: time.Since(began).Seconds(),
		})
	}
	return out, nil
}

// gradeFree returns items per second of the phase grading.
func gradeFree(ctx context.Context, dir string, items, limit int) (float64, error) {
	defer os.RemoveAll(dir)
	s, err := sqlite.Open(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	p, err := s.Projects().Create(ctx, "default", assay.DefaultSettings(), time.Now())
	if err != nil {
		return 0, err
	}
	if err := fillSessions(ctx, s, p, items); err != nil {
		return 0, err
	}
	v := assay.JudgeVersion{ID: assay.Hash("free"), Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: []byte("{}"), CreatedAt: time.Now()}
	if _, err := s.Judges().Apply(ctx, p.ID, assay.Judge{Name: "free", Version: v.ID}, v, time.Now()); err != nil {
		return 0, err
	}
	now := func() time.Time { return time.Now().UTC() }
	grader := grading.New(grading.Options{
		Store: s, Now: now,
		Build: func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return free{}, nil },
	})
	d := local.New(local.Options{Store: s, Now: now, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: grader}})
	e := engine.New(s, grader, nil, d.Wake, now)
	run, _, err := e.Grade(ctx, p, engine.GradeRequest{Judges: []string{"free"}, PerStratum: &items, Concurrency: &limit}, nil)
	if err != nil {
		return 0, err
	}
	return rateOf(ctx, s, d, run.ID)
}

func rateOf(ctx context.Context, s store.Store, d *local.Dispatcher, id assay.RunID) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = d.Run(ctx) }()
	defer func() { cancel(); <-stopped }()
	var grading time.Time
	for {
		run, err := s.Runs().Get(ctx, id)
		if err != nil {
			return 0, err
		}
		if run.Phase == assay.PhaseGrading && grading.IsZero() {
			grading = time.Now()
		}
		if run.State.Terminal() {
			if run.State != assay.RunCompleted {
				return 0, fmt.Errorf("run ended %s: %s", run.State, run.Sentence)
			}
			return float64(run.Planned) / run.EndedAt.Sub(grading).Seconds(), nil
		}
		time.Sleep(time.Millisecond)
	}
}

// fillSessions stores n small sessions in 14 days and 3 arms.
func fillSessions(ctx context.Context, s store.Store, p assay.Project, n int) error {
	body, hash := store.CompressBody([]byte("{}"))
	batch := make([]store.NewSession, 0, 1000)
	base := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := base.Add(time.Duration(i%14) * 24 * time.Hour)
		batch = append(batch, store.NewSession{Body: body, Head: assay.Head{
			UserID: fmt.Sprintf("u%06d", i%5000), SessionID: fmt.Sprintf("s%07d", i), ContentHash: hash,
			StartedAt: &at, LastTurnAt: &at, SettleFrom: &at, Day: at.Format(time.DateOnly), Arm: []string{"a", "b", "c"}[i%3],
			Turns: 1, Messages: 2, BodyBytes: 2,
		}})
		if len(batch) == cap(batch) || i == n-1 {
			if _, err := s.Sessions().Put(ctx, p.ID, 0, batch, time.Now()); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}
