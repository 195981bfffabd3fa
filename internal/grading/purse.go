package grading

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// purse counts what a budget must count: of one run, or of one project in one calendar month.
//
// Rows are the truth (assay.Attempt.Charge): base is their sum when the purse was opened, carried on by
// what this process commits; pending is what was promised to calls whose rows are not committed yet. The
// owner of a database is the only process that lets calls leave, so that nobody else spends beside it
// until another owns it (Grader.Begin); what an owner before it left open is in the rows at its worst case.
type purse struct {
	storing sync.RWMutex // read-held from a commit until its rows are in base; held while base is read

	mu      sync.Mutex
	month   span // zero for a run's
	base    assay.USD
	pending assay.USD
	flying  assay.USD // part of base: set aside for calls of this process that have not ended
}

// span is [from, to); the zero span is all time.
type span struct{ from, to time.Time }

func (s span) has(t time.Time) bool { return s.to.IsZero() || !t.Before(s.from) && t.Before(s.to) }

// promise sets an amount aside for a call that is opened at a time, unless that could cross the limit.
func (p *purse) promise(at time.Time, amount assay.USD, limit *assay.USD) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if amount > p.left(at, limit, p.pending) {
		return false
	}
	p.pending += amount
	return true
}

// left is what a limit leaves beside base and an amount; nil limits nothing. Of another month than the
// purse's nothing is known.
func (p *purse) left(at time.Time, limit *assay.USD, beside assay.USD) assay.USD {
	switch {
	case limit == nil:
		return math.MaxInt64
	case !p.month.has(at):
		return -1
	}
	return *limit - p.base - beside
}

// room is what may be promised now, and hope what may be once the calls in flight have ended and cost
// nothing.
func (p *purse) room(at time.Time, limit *assay.USD) assay.USD {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left(at, limit, p.pending)
}

func (p *purse) hope(at time.Time, limit *assay.USD) assay.USD {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left(at, limit, -p.flying)
}

// withdraw takes a promise back.
func (p *purse) withdraw(amount assay.USD) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending -= amount
}

// stored takes in what a commit wrote. Its caller holds storing for reading since before the commit.
func (p *purse) stored(b store.Batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range b.Open {
		if a := &b.Open[i]; a.Reserved != nil {
			p.pending -= *a.Reserved
			p.flying += *a.Reserved
			p.count(a, *a.Reserved)
		}
	}
	for i := range b.Done {
		a := &b.Done[i].Attempt
		charge, _ := a.Charge()
		if a.Reserved != nil {
			p.flying -= *a.Reserved
			charge -= *a.Reserved
		}
		p.count(a, charge)
	}
}

// lost takes in that calls ended of which nothing was stored: they stay counted at their worst case.
func (p *purse) lost(done []store.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range done {
		if r := done[i].Attempt.Reserved; r != nil {
			p.flying -= *r
		}
	}
}

func (p *purse) count(a *assay.Attempt, charge assay.USD) {
	if p.month.has(a.OpenedAt) {
		p.base += charge
	}
}

// spent is what is gone or promised.
func (p *purse) spent() assay.USD {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.base + p.pending
}

// over says that more is gone than a limit that was lowered since.
func (p *purse) over(limit *assay.USD) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return limit != nil && p.base > *limit
}

func (p *purse) spans() span {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.month
}

// load reads the month's rows. Nothing is committed meanwhile.
func (p *purse) load(ctx context.Context, s store.Store, project assay.ProjectID, month span) error {
	p.storing.Lock()
	defer p.storing.Unlock()
	charged, _, err := s.Spending().Charged(ctx, project, month.from, month.to)
	if err != nil {
		return fmt.Errorf("sum the month's spend: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.month, p.base = month, charged
	return nil
}

// monthOf is the calendar month of t in zone. Its ends are in UTC, so that equal spans are ==.
func monthOf(t time.Time, zone *time.Location) span {
	from, to := assay.MonthOf(t, zone)
	return span{from.UTC(), to.UTC()}
}

// purses are those of the projects whose runs this process drives.
type purses struct {
	mu sync.Mutex
	of map[assay.ProjectID]*purse
}

func (p *purses) purse(id assay.ProjectID) *purse {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[assay.ProjectID]*purse{}
	}
	if p.of[id] == nil {
		p.of[id] = &purse{}
	}
	return p.of[id]
}

// forget makes every month be summed anew.
func (p *purses) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of = nil
}
