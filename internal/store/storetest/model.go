package storetest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/assay"
	"assay/internal/store"
)

// testModel drives one run by random steps and compares it with a model of a few lines after each:
// what a state is, what is in flight and what was spent.
func testModel(t *testing.T, open opener) {
	s := open(t)
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, s)
		m := newModel(w, r, rapid.IntRange(1, 12).Draw(r, "items"))
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			m.step()
			m.compare()
		}
	})
}

type modelItem struct {
	state    assay.ItemState
	attempts []assay.AttemptStatus
	crashes  int
	late     int
}

type model struct {
	w      *world
	r      *rapid.T
	f      store.Fence
	old    []store.Fence // claims that are over
	items  []modelItem
	epochs []int64 // of each item's last attempt
	stalls int
}

func newModel(w *world, r *rapid.T, n int) *model {
	m := &model{w: w, r: r, f: w.grading(w.newRun(), w.fill(n)), items: make([]modelItem, n), epochs: make([]int64, n)}
	for i := range m.items {
		m.items[i].state = assay.ItemPending
	}
	return m
}

// open says whether the item's last attempt is open at the present epoch.
func (m *model) open(i int) bool {
	a := m.items[i].attempts
	return len(a) > 0 && a[len(a)-1] == assay.AttemptOpen && m.epochs[i] == m.f.Epoch
}

func (m *model) step() {
	switch rapid.SampledFrom([]string{"commit", "commit", "commit", "commit", "death", "stale", "rest"}).Draw(m.r, "step") {
	case "commit":
		m.commit()
	case "death":
		m.old = append(m.old, m.f)
		m.f = m.w.takeUp(m.f.Run, m.f.Epoch, true)
		m.stalls++
		for i := range m.items {
			a := m.items[i].attempts
			if len(a) > 0 && a[len(a)-1] == assay.AttemptOpen {
				a[len(a)-1] = assay.AttemptUnknown
				m.items[i].crashes++
			}
		}
	case "stale":
		m.stale()
	case "rest":
		n, err := m.w.Items().EndRest(m.w.ctx, m.f, assay.ItemAbandoned, 3, at(8))
		m.w.ok(err)
		for i := range m.items {
			if n > 0 && m.items[i].state == assay.ItemPending && !m.open(i) {
				m.items[i].state = assay.ItemAbandoned
				n--
			}
		}
		if n != 0 {
			m.r.Fatalf("EndRest ended %d items too many", n)
		}
	}
}

// commit closes some of what is open and opens some of what is pending.
func (m *model) commit() {
	var b store.Batch
	b.Now = at(7)
	for i := range m.items {
		item, seq := &m.items[i], int64(i+1)
		n := len(item.attempts)
		switch {
		case m.open(i) && rapid.Bool().Draw(m.r, "close"):
			item.attempts[n-1] = assay.AttemptDone
			o := failed(opened(m.f, seq, n), assay.ItemPending, assay.ClassNetwork)
			switch rapid.IntRange(0, 2).Draw(m.r, "outcome") {
			case 0:
				o = graded(opened(m.f, seq, n), true)
			case 1:
				o = failed(opened(m.f, seq, n), assay.ItemErrored, assay.ClassTimeout)
			}
			b.Done = append(b.Done, o)
			if item.state == assay.ItemPending && o.State != assay.ItemPending {
				item.state, m.stalls = o.State, 0
			}
		case item.state == assay.ItemPending && !m.open(i) && rapid.Bool().Draw(m.r, "open"):
			item.attempts = append(item.attempts, assay.AttemptOpen)
			m.epochs[i] = m.f.Epoch
			b.Open = append(b.Open, opened(m.f, seq, n+1))
		case item.state == assay.ItemPending && rapid.IntRange(0, 9).Draw(m.r, "end") == 0:
			item.state, m.stalls = assay.ItemCancelled, 0
			b.End = append(b.End, store.EndItem{Seq: seq, State: assay.ItemCancelled})
		}
	}
	m.w.commit(m.f, b)
}

// stale lets a driver that lost the run try its batch, and then store it late.
func (m *model) stale() {
	if len(m.old) == 0 {
		return
	}
	f := rapid.SampledFrom(m.old).Draw(m.r, "claim")
	i := rapid.IntRange(0, len(m.items)-1).Draw(m.r, "item")
	item := &m.items[i]
	if len(item.attempts) == 0 || m.epochs[i] != f.Epoch || item.attempts[len(item.attempts)-1] == assay.AttemptOpen {
		return
	}
	n := len(item.attempts)
	_, err := m.w.Items().Commit(m.w.ctx, f, store.Batch{Now: at(9), Done: []store.Outcome{graded(opened(f, int64(i+1), n), true)}})
	m.w.lost(err)
	m.w.ok(m.w.Items().Late(m.w.ctx, []assay.Attempt{closed(opened(f, int64(i+1), n), "")}))
	if item.attempts[n-1] == assay.AttemptUnknown {
		item.attempts[n-1] = assay.AttemptDone
		item.late++
	}
}

func (m *model) compare() {
	var want assay.Counts
	var spend assay.Spend
	verdicts := 0
	for i, item := range m.items {
		want.Total++
		switch item.state {
		case assay.ItemPending:
			want.Pending++
		case assay.ItemGraded:
			want.Graded++
			verdicts++
		case assay.ItemErrored:
			want.Errored++
			want.ByClass = map[assay.Class]int64{assay.ClassTimeout: want.Errored}
		case assay.ItemCancelled:
			want.Cancelled++
		case assay.ItemAbandoned:
			want.Abandoned++
		}
		if m.open(i) {
			want.InFlight++
		}
		for _, status := range item.attempts {
			spend.Attempts++
			switch status {
			case assay.AttemptUnknown:
				spend.Unknown++
			case assay.AttemptDone:
				spend.CostMicros += 300
			}
		}
		spend.Late += int64(item.late)
	}
	equal(m.r, "counts", m.w.counts(m.f.Run), want)
	got, err := m.w.Items().Spend(m.w.ctx, m.f.Run)
	m.w.ok(err)
	equal(m.r, "spend", []int64{got.Attempts, got.Unknown, got.Late, got.CostMicros}, []int64{spend.Attempts, spend.Unknown, spend.Late, spend.CostMicros})
	equal(m.r, "verdicts", len(m.w.verdictsOf(m.f.Run)), verdicts)
	equal(m.r, "stalls", m.w.get(m.f.Run).Stalls, m.stalls)
	for i, item := range m.w.items(m.f.Run) {
		equal(m.r, fmt.Sprint("item ", item.Seq), []any{item.State, item.Attempts, item.Crashes}, []any{m.items[i].state, len(m.items[i].attempts), m.items[i].crashes})
	}
}
