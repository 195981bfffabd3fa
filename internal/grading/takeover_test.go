package grading

import (
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
	"assay/internal/store/postgres"
	"assay/internal/store/postgres/pgtest"
)

// Two processes of one PostgreSQL own it in turns, and the one that lost it lives on for a moment with calls
// in flight. Of the project's month no more is spent or set aside than its budget: a new owner sums what
// the other spent, also where it owned before.
func TestATakeoverKeepsTheMonth(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	open := func() store.Store {
		s, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	w := newWorld(t, open(), 300)
	w.apply("k", "v2")
	w.month(assay.Dollar, "UTC") // 500 calls
	p := tenth()
	w.serve(p)
	o := w.grader.o
	processes := [2]*Grader{}
	for i := range processes {
		mine := o
		mine.Store, mine.Limits, mine.Gate = open(), nil, nil
		processes[i] = New(mine)
	}
	began, last := utcNow(), func() {}
	var own store.Ownership
	var ids []assay.RunID
	for _, judge := range []string{"j", "k"} {
		ids = append(ids, w.grade(engine.GradeRequest{Judges: []string{judge}, PerStratum: ptr(300), Concurrency: ptr(10)}).ID)
	}
	for turn := range 4 {
		g := processes[turn%2]
		if own != nil {
			if err := own.Release(); err != nil { // as if its connection was cut: the process has not noticed
				t.Fatal(err)
			}
		}
		var err error
		w.eventually(func() bool { // the server notices a moment later that a connection is closed
			own, err = g.o.Store.Owner().TryOwn(t.Context())
			return err != nil || own != nil
		})
		if err != nil {
			t.Fatal("nobody owns: ", err)
		}
		epoch := w.run(ids[0]).Epoch
		stop := w.dispatch(local.New(local.Options{Store: g.o.Store, Now: utcNow, Poll: 20 * time.Millisecond, Grace: own.Grace(),
			Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: g}}))
		w.eventually(func() bool { return w.run(ids[0]).Epoch > epoch })
		last()
		last = stop
		_, before := p.bill()
		w.eventually(func() bool { _, calls := p.bill(); return calls >= before+100 || w.allPaused(ids) })
	}
	w.eventuallyWithin(time.Minute, func() bool { return w.allPaused(ids) })
	last()
	budget := assay.Dollar
	month := monthOf(began, time.UTC)
	if !month.has(utcNow()) {
		budget *= 2 // the month ended meanwhile
	}
	sum, unpriced, err := w.store.Spending().Charged(t.Context(), w.project.ID, month.from, utcNow())
	if err != nil {
		t.Fatal(err)
	}
	if billed, calls := p.bill(); sum > budget || billed > sum || sum < budget-assay.Dollar/100 || unpriced > 0 || calls < 300 {
		t.Errorf("USD %s for %d calls, the rows say %s of %s", billed, calls, sum, budget)
	}
	if err := own.Release(); err != nil {
		t.Error(err)
	}
}

func (w *world) allPaused(ids []assay.RunID) bool {
	for _, id := range ids {
		if run := w.run(id); run.State != assay.RunPaused || run.Reason != assay.Reason(assay.ClassBudget) {
			return false
		}
	}
	return true
}
