package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/grading"
	"assay/internal/judge"
	"assay/internal/limit"
	"assay/internal/store/sqlite"
)

// limits times the limiter's decisions: one run alone, and one of twenty that all want calls.
func limits(context.Context, options) ([]figure, error) {
	began := time.Now()
	var got []string
	for _, shares := range []int{1, 20} {
		l := limit.New(time.Now).For(limit.Key{Endpoint: "http://model", Model: "m"})
		mine := make([]*limit.Share, shares)
		for i := range mine {
			mine[i] = l.Join(fmt.Sprint(i))
		}
		const n = 2_000_000
		at := time.Now()
		for i := range n {
			if permit, ok := mine[i%shares].TryTake(2000); ok {
				permit.Done(limit.Outcome{Kind: limit.Answered, Tokens: 1900})
			}
		}
		got = append(got, fmt.Sprintf("%.0f ns with %d", float64(time.Since(at).Nanoseconds())/n, shares))
	}
	return []figure{{
		Work: "limiter: a permit taken and given back, by the number of runs that share the model", Reach: "1000 ns",
		Got: got[0] + ", " + got[1], Seconds: time.Since(began).Seconds(),
	}}, nil
}

// patient is a metered judge whose calls take until the run is cut.
type patient struct{ free }

func (patient) Model() assay.ModelKey { return assay.ModelKey{Endpoint: "http://model", Model: "m"} }
func (patient) Provider() string      { return "" }

func (patient) Draft(judge.Question) judge.Draft {
	return judge.Draft{Load: judge.Load{Input: 100, InputMost: 400, OutputMost: 100}, Asked: 1, Send: func(ctx context.Context) judge.Reply {
		<-ctx.Done()
		return judge.Reply{Class: assay.ClassAborted, CallAt: time.Now(), EndedAt: time.Now()}
	}}
}

// waiting lets 10,000 items wait for a model that takes five calls at a time.
func waiting(ctx context.Context, o options) ([]figure, error) {
	const items = 10_000
	began := time.Now()
	s, err := sqlite.Open(ctx, filepath.Join(o.Dir, "waiting"))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p, err := s.Projects().Create(ctx, "default", assay.DefaultSettings(), time.Now())
	if err != nil {
		return nil, err
	}
	if err := fillSessions(ctx, s, p, items); err != nil {
		return nil, err
	}
	v := assay.JudgeVersion{ID: "patient", Kind: assay.JudgeLLM, Unit: assay.UnitSession, Canonical: []byte("{}"), CreatedAt: time.Now()}
	if _, err := s.Judges().Apply(ctx, p.ID, assay.Judge{Name: "patient", Version: v.ID}, v, time.Now()); err != nil {
		return nil, err
	}
	now := func() time.Time { return time.Now().UTC() }
	registry := limit.New(now)
	registry.Set(limit.Key(patient{}.Model()), limit.Limits{Concurrency: 5})
	grader := grading.New(grading.Options{Store: s, Now: now, Limits: registry,
		Build: func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return patient{}, nil }})
	d := local.New(local.Options{Store: s, Now: now, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: grader}})
	e := engine.New(s, grader, nil, d.Wake, now)
	each, most := items, assay.MaxConcurrency
	run, _, err := e.Grade(ctx, p, engine.GradeRequest{Judges: []string{"patient"}, PerStratum: &each, Concurrency: &most}, nil)
	if err != nil {
		return nil, err
	}
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = d.Run(ctx) }()
	defer func() { cancel(); <-stopped }()
	for inFlight := int64(0); inFlight < 5; time.Sleep(50 * time.Millisecond) {
		c, err := s.Items().Counts(ctx, run.ID, now())
		if err != nil {
			return nil, err
		}
		inFlight = c.InFlight
	}
	time.Sleep(2 * time.Second)
	goroutines := runtime.NumGoroutine() - before
	if _, err := e.Cancel(ctx, run.ID, true); err != nil {
		return nil, err
	}
	return []figure{{
		Work: fmt.Sprintf("%d items that wait for a model with 5 places", items), Reach: "100 MB, no goroutine each",
		Got: fmt.Sprintf("%d goroutines", goroutines), RSS: peakRSS("self"), Seconds: time.Since(began).Seconds(),
	}}, nil
}
