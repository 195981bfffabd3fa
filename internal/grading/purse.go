package grading

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// purse counts what a budget must count: of one run, or of one project in one calendar month.
//
// Rows are the truth (assay.Attempt.Charge): base is their sum when the purse was opened, carried on by
// what this process commits; pending is what was promised to calls whose rows are not committed yet. The
// owner of a database is the only process that lets calls leave, so that nobody else spends beside it;
// what an owner before it left open is in the rows at its worst case.
type purse struct {
	storing sync.RWMutex // read-held from a commit until its rows are in base; held while base is read

	mu       sync.Mutex
	month    span // zero for a run's
	base     assay.USD
	pending  assay.USD
	unpriced int64 // attempts of which nobody knows what they cost
}

// span is [from, to).
type span struct{ from, to time.Time }

func (s span) has(t time.Time) bool { return s.to.IsZero() || !t.Before(s.from) && t.Before(s.to) }

// promise sets an amount aside for a call, unless that could cross the limit; nil limits nothing.
func (p *purse) promise(amount assay.USD, limit *assay.USD) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if limit != nil && (p.base > *limit || p.pending > *limit-p.base || amount > *limit-p.base-p.pending) {
		return false
	}
	p.pending += amount
	return true
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
			p.count(a, *a.Reserved)
		}
	}
	for i := range b.Done {
		a := &b.Done[i].Attempt
		charge, known := a.Charge()
		if !known {
			p.unpriced++
		}
		if a.Reserved != nil {
			charge -= *a.Reserved
		}
		p.count(a, charge)
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

// load reads the month's rows. Nothing is committed meanwhile.
func (p *purse) load(ctx context.Context, s store.Store, project assay.ProjectID, month span) error {
	p.storing.Lock()
	defer p.storing.Unlock()
	charged, unpriced, err := s.Spending().Charged(ctx, project, month.from, month.to)
	if err != nil {
		return fmt.Errorf("sum the month's spend: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.month, p.base, p.unpriced = month, charged, unpriced
	return nil
}

// monthOf is the calendar month of t in zone.
func monthOf(t time.Time, zone *time.Location) span {
	y, m, _ := t.In(zone).Date()
	from := time.Date(y, m, 1, 0, 0, 0, 0, zone)
	return span{from, from.AddDate(0, 1, 0)}
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
