package storetest

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type faultySuites struct {
	store.Suites
	f *Faulty
}

func (s faultySuites) Apply(ctx context.Context, p assay.ProjectID, list []assay.Suite, now time.Time) ([]bool, error) {
	return call(s.f, "Suites.Apply", func() ([]bool, error) { return s.Suites.Apply(ctx, p, list, now) })
}

func (s faultySuites) Get(ctx context.Context, p assay.ProjectID, name string) (assay.Suite, error) {
	return call(s.f, "Suites.Get", func() (assay.Suite, error) { return s.Suites.Get(ctx, p, name) })
}

func (s faultySuites) Newest(ctx context.Context, p assay.ProjectID) (map[string]assay.Run, error) {
	return call(s.f, "Suites.Newest", func() (map[string]assay.Run, error) { return s.Suites.Newest(ctx, p) })
}

type faultyHarnesses struct {
	store.Harnesses
	f *Faulty
}

func (h faultyHarnesses) Facts(ctx context.Context, run assay.RunID) (assay.Harness, error) {
	return call(h.f, "Harnesses.Facts", func() (assay.Harness, error) { return h.Harnesses.Facts(ctx, run) })
}

func (h faultyHarnesses) Put(ctx context.Context, f store.Fence, facts assay.Harness, advanced bool, now time.Time) (assay.RunControl, error) {
	return call(h.f, "Harnesses.Put", func() (assay.RunControl, error) { return h.Harnesses.Put(ctx, f, facts, advanced, now) })
}

func (h faultyHarnesses) Report(ctx context.Context, run assay.RunID, now time.Time, change func(*assay.Harness, bool) (bool, error)) (assay.Run, error) {
	return call(h.f, "Harnesses.Report", func() (assay.Run, error) { return h.Harnesses.Report(ctx, run, now, change) })
}

func (h faultyHarnesses) ResetCases(ctx context.Context, f store.Fence) error {
	return do(h.f, "Harnesses.ResetCases", func() error { return h.Harnesses.ResetCases(ctx, f) })
}

func (h faultyHarnesses) PutCases(ctx context.Context, f store.Fence, cases []assay.Case, now time.Time) error {
	return do(h.f, "Harnesses.PutCases", func() error { return h.Harnesses.PutCases(ctx, f, cases, now) })
}

func (h faultyHarnesses) AddPoints(ctx context.Context, run assay.RunID, points []store.Point) error {
	return do(h.f, "Harnesses.AddPoints", func() error { return h.Harnesses.AddPoints(ctx, run, points) })
}

type faultySchedules struct {
	store.Schedules
	f *Faulty
}

func (s faultySchedules) Apply(ctx context.Context, p assay.ProjectID, list []assay.Schedule, now time.Time) ([]bool, error) {
	return call(s.f, "Schedules.Apply", func() ([]bool, error) { return s.Schedules.Apply(ctx, p, list, now) })
}

func (s faultySchedules) Get(ctx context.Context, p assay.ProjectID, name string) (assay.Schedule, error) {
	return call(s.f, "Schedules.Get", func() (assay.Schedule, error) { return s.Schedules.Get(ctx, p, name) })
}

func (s faultySchedules) Due(ctx context.Context, now time.Time) ([]assay.Schedule, error) {
	return call(s.f, "Schedules.Due", func() ([]assay.Schedule, error) { return s.Schedules.Due(ctx, now) })
}

func (s faultySchedules) Ticked(ctx context.Context, id int64, owed time.Time, last assay.Tick, next *time.Time) (bool, error) {
	return call(s.f, "Schedules.Ticked", func() (bool, error) { return s.Schedules.Ticked(ctx, id, owed, last, next) })
}
