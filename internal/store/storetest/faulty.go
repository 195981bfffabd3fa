package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Faulty is a store that fails on purpose: for tests of what stands above it. Both hooks get the
// call's name, such as "Items.Commit"; nil hooks do nothing.
type Faulty struct {
	store.Store
	// Before may return an error in place of the call, which is not made then.
	Before func(call string) error
	// After may return an error in place of the answer of a call that succeeded: a commit whose answer
	// was lost on the way.
	After func(call string) error
}

// Unavailable is what a store that is away answers.
func Unavailable() error {
	return assay.Errorf(assay.CodeUnavailable, "the store is away (a fault of the test)").WithHint("try again")
}

// Nth fails the nth call of that name, counted from 1, and no other; name "" counts every call.
func Nth(n int64, name string, err error) func(call string) error {
	var calls atomic.Int64
	return func(call string) error {
		if (name == "" || name == call) && calls.Add(1) == n {
			return err
		}
		return nil
	}
}

// During fails every call while down says so: a database that is away for a time.
func During(down *atomic.Bool, err error) func(call string) error {
	return func(string) error {
		if down.Load() {
			return err
		}
		return nil
	}
}

// call wraps one call that answers with a value and an error.
func call[T any](f *Faulty, name string, made func() (T, error)) (T, error) {
	var none T
	if f.Before != nil {
		if err := f.Before(name); err != nil {
			return none, err
		}
	}
	v, err := made()
	if err == nil && f.After != nil {
		if err := f.After(name); err != nil {
			return none, err
		}
	}
	return v, err
}

func do(f *Faulty, name string, made func() error) error {
	_, err := call(f, name, func() (struct{}, error) { return struct{}{}, made() })
	return err
}

func (f *Faulty) Sessions() store.Sessions   { return faultySessions{f.Store.Sessions(), f} }
func (f *Faulty) Bodies() store.Bodies       { return faultyBodies{f.Store.Bodies(), f} }
func (f *Faulty) Runs() store.Runs           { return faultyRuns{f.Store.Runs(), f} }
func (f *Faulty) Plans() store.Plans         { return faultyPlans{f.Store.Plans(), f} }
func (f *Faulty) Items() store.Items         { return faultyItems{f.Store.Items(), f} }
func (f *Faulty) Models() store.Models       { return faultyModels{f.Store.Models(), f} }
func (f *Faulty) Spending() store.Spending   { return faultySpending{f.Store.Spending(), f} }
func (f *Faulty) Suites() store.Suites       { return faultySuites{f.Store.Suites(), f} }
func (f *Faulty) Harnesses() store.Harnesses { return faultyHarnesses{f.Store.Harnesses(), f} }
func (f *Faulty) Schedules() store.Schedules { return faultySchedules{f.Store.Schedules(), f} }

type faultySessions struct {
	store.Sessions
	f *Faulty
}

func (s faultySessions) Put(ctx context.Context, p assay.ProjectID, importID int64, batch []store.NewSession, now time.Time) ([]store.PutResult, error) {
	return call(s.f, "Sessions.Put", func() ([]store.PutResult, error) { return s.Sessions.Put(ctx, p, importID, batch, now) })
}

func (s faultySessions) Get(ctx context.Context, p assay.ProjectID, user, id string) (assay.Head, error) {
	return call(s.f, "Sessions.Get", func() (assay.Head, error) { return s.Sessions.Get(ctx, p, user, id) })
}

func (s faultySessions) Scan(ctx context.Context, p assay.ProjectID, q store.SessionQuery, each func(*store.FrameRow) error) error {
	return do(s.f, "Sessions.Scan", func() error { return s.Sessions.Scan(ctx, p, q, each) })
}

func (s faultySessions) Rekey(ctx context.Context, p assay.ProjectID, after assay.SessionKey, limit int, each func(*assay.Head)) (assay.SessionKey, error) {
	return call(s.f, "Sessions.Rekey", func() (assay.SessionKey, error) { return s.Sessions.Rekey(ctx, p, after, limit, each) })
}

type faultyBodies struct {
	store.Bodies
	f *Faulty
}

func (b faultyBodies) Get(ctx context.Context, key assay.ContentKey) ([]byte, assay.Hash, error) {
	var hash assay.Hash
	body, err := call(b.f, "Bodies.Get", func() (body []byte, err error) {
		body, hash, err = b.Bodies.Get(ctx, key)
		return body, err
	})
	return body, hash, err
}

func (b faultyBodies) Load(ctx context.Context, keys []assay.ContentKey, limit int) (map[assay.ContentKey]store.Body, error) {
	return call(b.f, "Bodies.Load", func() (map[assay.ContentKey]store.Body, error) { return b.Bodies.Load(ctx, keys, limit) })
}

func (b faultyBodies) Seen(ctx context.Context, p assay.ProjectID, hash assay.Hash) ([]byte, error) {
	return call(b.f, "Bodies.Seen", func() ([]byte, error) { return b.Bodies.Seen(ctx, p, hash) })
}

type faultyRuns struct {
	store.Runs
	f *Faulty
}

func (r faultyRuns) Create(ctx context.Context, n store.NewRun) (assay.Run, bool, error) {
	var replayed bool
	run, err := call(r.f, "Runs.Create", func() (run assay.Run, err error) {
		run, replayed, err = r.Runs.Create(ctx, n)
		return run, err
	})
	return run, replayed, err
}

func (r faultyRuns) Replay(ctx context.Context, p assay.ProjectID, idem store.Idempotency) (assay.Run, bool, error) {
	var found bool
	run, err := call(r.f, "Runs.Replay", func() (run assay.Run, err error) {
		run, found, err = r.Runs.Replay(ctx, p, idem)
		return run, err
	})
	return run, found && err == nil, err
}

func (r faultyRuns) Get(ctx context.Context, id assay.RunID) (assay.Run, error) {
	return call(r.f, "Runs.Get", func() (assay.Run, error) { return r.Runs.Get(ctx, id) })
}

func (r faultyRuns) Ask(ctx context.Context, id assay.RunID, ask store.Ask, by string, now time.Time) (assay.Run, error) {
	return call(r.f, "Runs.Ask", func() (assay.Run, error) { return r.Runs.Ask(ctx, id, ask, by, now) })
}

func (r faultyRuns) SetBudget(ctx context.Context, id assay.RunID, budget *assay.USD) (assay.Run, error) {
	return call(r.f, "Runs.SetBudget", func() (assay.Run, error) { return r.Runs.SetBudget(ctx, id, budget) })
}

func (r faultyRuns) Change(ctx context.Context, id assay.RunID, c store.Change) (assay.Run, error) {
	return call(r.f, "Runs.Change", func() (assay.Run, error) { return r.Runs.Change(ctx, id, c) })
}

func (r faultyRuns) TakeUp(ctx context.Context, id assay.RunID, epoch int64, dead bool, now time.Time) (assay.Run, error) {
	return call(r.f, "Runs.TakeUp", func() (assay.Run, error) { return r.Runs.TakeUp(ctx, id, epoch, dead, now) })
}

func (r faultyRuns) Waiting(ctx context.Context, now time.Time) ([]assay.Run, error) {
	return call(r.f, "Runs.Waiting", func() ([]assay.Run, error) { return r.Runs.Waiting(ctx, now) })
}

func (r faultyRuns) Beat(ctx context.Context, f store.Fence, now time.Time) (assay.RunControl, error) {
	return call(r.f, "Runs.Beat", func() (assay.RunControl, error) { return r.Runs.Beat(ctx, f, now) })
}

func (r faultyRuns) Control(ctx context.Context, f store.Fence) (assay.RunControl, error) {
	return call(r.f, "Runs.Control", func() (assay.RunControl, error) { return r.Runs.Control(ctx, f) })
}

type faultyPlans struct {
	store.Plans
	f *Faulty
}

func (p faultyPlans) Reset(ctx context.Context, f store.Fence) error {
	return do(p.f, "Plans.Reset", func() error { return p.Plans.Reset(ctx, f) })
}

func (p faultyPlans) PutStrata(ctx context.Context, f store.Fence, strata []assay.PlannedStratum, sampled int64, left assay.Excluded) error {
	return do(p.f, "Plans.PutStrata", func() error { return p.Plans.PutStrata(ctx, f, strata, sampled, left) })
}

func (p faultyPlans) PutItems(ctx context.Context, f store.Fence, items []assay.Item, now time.Time) error {
	return do(p.f, "Plans.PutItems", func() error { return p.Plans.PutItems(ctx, f, items, now) })
}

func (p faultyPlans) Finish(ctx context.Context, f store.Fence, want int64, now time.Time) error {
	return do(p.f, "Plans.Finish", func() error { return p.Plans.Finish(ctx, f, want, now) })
}

func (p faultyPlans) Reusable(ctx context.Context, project assay.ProjectID, version assay.Hash, repeat int, contents []assay.ContentKey, since time.Time) (map[assay.ContentKey]store.Reuse, error) {
	return call(p.f, "Plans.Reusable", func() (map[assay.ContentKey]store.Reuse, error) {
		return p.Plans.Reusable(ctx, project, version, repeat, contents, since)
	})
}

type faultyItems struct {
	store.Items
	f *Faulty
}

func (i faultyItems) Commit(ctx context.Context, f store.Fence, b store.Batch) (assay.RunControl, error) {
	return call(i.f, "Items.Commit", func() (assay.RunControl, error) { return i.Items.Commit(ctx, f, b) })
}

func (i faultyItems) Late(ctx context.Context, attempts []assay.Attempt) error {
	return do(i.f, "Items.Late", func() error { return i.Items.Late(ctx, attempts) })
}

func (i faultyItems) Pending(ctx context.Context, run assay.RunID, after int64, limit int) ([]assay.Item, error) {
	return call(i.f, "Items.Pending", func() ([]assay.Item, error) { return i.Items.Pending(ctx, run, after, limit) })
}

func (i faultyItems) EndRest(ctx context.Context, f store.Fence, to assay.ItemState, limit int, now time.Time) (int64, error) {
	return call(i.f, "Items.EndRest", func() (int64, error) { return i.Items.EndRest(ctx, f, to, limit, now) })
}

func (i faultyItems) Counts(ctx context.Context, run assay.RunID, now time.Time) (assay.Counts, error) {
	return call(i.f, "Items.Counts", func() (assay.Counts, error) { return i.Items.Counts(ctx, run, now) })
}

func (i faultyItems) Spend(ctx context.Context, run assay.RunID) (assay.Spend, error) {
	return call(i.f, "Items.Spend", func() (assay.Spend, error) { return i.Items.Spend(ctx, run) })
}

func (i faultyItems) Answers(ctx context.Context, run assay.RunID, seq int64) ([]assay.Answer, error) {
	return call(i.f, "Items.Answers", func() ([]assay.Answer, error) { return i.Items.Answers(ctx, run, seq) })
}

func (i faultyItems) Attempts(ctx context.Context, run assay.RunID, seq int64) ([]assay.Attempt, error) {
	return call(i.f, "Items.Attempts", func() ([]assay.Attempt, error) { return i.Items.Attempts(ctx, run, seq) })
}

type faultyModels struct {
	store.Models
	f *Faulty
}

func (m faultyModels) List(ctx context.Context) ([]assay.Model, error) {
	return call(m.f, "Models.List", func() ([]assay.Model, error) { return m.Models.List(ctx) })
}

func (m faultyModels) Put(ctx context.Context, key assay.ModelKey, s assay.ModelSettings, now time.Time) error {
	return do(m.f, "Models.Put", func() error { return m.Models.Put(ctx, key, s, now) })
}

type faultySpending struct {
	store.Spending
	f *Faulty
}

func (s faultySpending) Charged(ctx context.Context, p assay.ProjectID, from, to time.Time) (assay.USD, int64, error) {
	var unpriced int64
	charged, err := call(s.f, "Spending.Charged", func() (charged assay.USD, err error) {
		charged, unpriced, err = s.Spending.Charged(ctx, p, from, to)
		return charged, err
	})
	return charged, unpriced, err
}

func (s faultySpending) Lines(ctx context.Context, q store.SpendQuery) ([]assay.SpendLine, error) {
	return call(s.f, "Spending.Lines", func() ([]assay.SpendLine, error) { return s.Spending.Lines(ctx, q) })
}

func (s faultySpending) Typical(ctx context.Context, p assay.ProjectID, version assay.Hash) (store.Typical, error) {
	return call(s.f, "Spending.Typical", func() (store.Typical, error) { return s.Spending.Typical(ctx, p, version) })
}
