package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/assay"
	"assay/internal/store"
)

// testModel drives one run by random steps and compares it with a model of a few lines after each:
// what a state is, what is in flight, what was answered and what was spent.
func testModel(t *testing.T, open opener) {
	s := open(t)
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, s)
		m := newModel(w, r, rapid.IntRange(1, 12).Draw(r, "items"))
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			m.step()
			m.compare()
		}
		m.compareMoney()
	})
}

type modelItem struct {
	state    assay.ItemState
	attempts []assay.Attempt
	counted  int
	crashes  int
	cut      bool
	answers  []assay.Answer // of units so far; of a graded item all
}

type model struct {
	w      *world
	r      *rapid.T
	f      store.Fence
	old    []store.Fence // claims that are over
	items  []modelItem
	stalls int
	budget *assay.USD
}

func newModel(w *world, r *rapid.T, n int) *model {
	m := &model{w: w, r: r, f: w.grading(w.newRun(), w.fill(n)), items: make([]modelItem, n)}
	for i := range m.items {
		m.items[i].state = assay.ItemPending
	}
	return m
}

// open says whether the item's last attempt is open at the present epoch.
func (m *model) open(i int) bool {
	a := m.last(i)
	return a != nil && a.Status == assay.AttemptOpen && a.Epoch == m.f.Epoch
}

func (m *model) last(i int) *assay.Attempt {
	list := m.items[i].attempts
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}

func (m *model) step() {
	switch rapid.SampledFrom([]string{"commit", "commit", "commit", "commit", "commit", "death", "stale", "rest", "budget"}).Draw(m.r, "step") {
	case "commit":
		m.commit()
	case "death":
		m.old = append(m.old, m.f)
		m.f = m.w.takeUp(m.f.Run, m.f.Epoch, true)
		m.stalls++
		for i := range m.items {
			if a := m.last(i); a != nil && a.Status == assay.AttemptOpen {
				if a.Status = assay.AttemptUnknown; a.Class != assay.ClassPrompt {
					a.Class = assay.ClassUnknown
				}
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
	case "budget":
		m.budget = m.amount("budget")
		_, err := m.w.Runs().SetBudget(m.w.ctx, m.f.Run, m.budget)
		m.w.ok(err)
	}
}

// amount may be unknown.
func (m *model) amount(what string) *assay.USD {
	if rapid.IntRange(0, 3).Draw(m.r, what+" unknown") == 0 {
		return nil
	}
	return usd(rapid.Int64Range(0, 5e9).Draw(m.r, what))
}

// commit closes some of what is open and opens some of what is pending. The batch may come twice.
func (m *model) commit() {
	b := store.Batch{Now: at(7)}
	for i := range m.items {
		item, seq := &m.items[i], int64(i+1)
		switch {
		case m.open(i) && rapid.Bool().Draw(m.r, "close"):
			b.Done = append(b.Done, m.close(i))
		case item.state == assay.ItemPending && !m.open(i) && rapid.Bool().Draw(m.r, "open"):
			a := opened(m.f, seq, len(item.attempts)+1)
			a.Reserved = m.amount("reserved")
			a.OpenedAt = at(rapid.IntRange(0, 200_000).Draw(m.r, "opened at"))
			switch rapid.IntRange(0, 4).Draw(m.r, "sort") {
			case 0:
				a.Class = assay.ClassPrompt
			case 1, 2:
				a.Seen = hashOf("seen")
			}
			item.attempts = append(item.attempts, a)
			b.Open = append(b.Open, a)
		case item.state == assay.ItemPending && rapid.IntRange(0, 9).Draw(m.r, "end") == 0:
			item.state, m.stalls = assay.ItemCancelled, 0
			b.End = append(b.End, store.EndItem{Seq: seq, State: assay.ItemCancelled})
		}
	}
	for range rapid.IntRange(1, 2).Draw(m.r, "times") {
		equal(m.r, "budget as the driver reads it", m.w.commit(m.f, b).Budget, m.budget)
	}
}

// close ends an item's open attempt in one of the ways that exist.
func (m *model) close(i int) store.Outcome {
	item := &m.items[i]
	class := m.last(i).Class
	a := closed(*m.last(i), assay.ClassNone)
	a.Model = rapid.SampledFrom([]string{"", "m1", "m2"}).Draw(m.r, "model")
	if a.Cost = m.amount("cost"); a.Cost == nil {
		a.Usage = assay.Usage{}
	}
	o := store.Outcome{State: assay.ItemPending, Counted: rapid.Bool().Draw(m.r, "counted")}
	name := fmt.Sprint("t", len(item.attempts))
	unit := assay.Answer{Unit: name, Findings: []assay.Finding{{Criterion: "c", Value: []byte("1"), Applies: true}}}
	switch rapid.SampledFrom([]string{"graded", "part", "part", "fault", "errored", "no call"}).Draw(m.r, "outcome") {
	case "graded":
		o.State, o.Pass, o.Cut = assay.ItemGraded, ptr(true), rapid.Bool().Draw(m.r, "cut")
		o.Answers = []assay.Answer{unit, {Pass: ptr(true), Findings: []assay.Finding{{Criterion: "c", Applies: true}}}}
	case "part":
		o.Answers = []assay.Answer{unit, {Unit: name + "m0"}}
	case "fault":
		a.Class = assay.ClassNetwork
	case "errored":
		a.Class, o.State, o.Class = assay.ClassTimeout, assay.ItemErrored, assay.ClassTimeout
	case "no call":
		a.Class, a.CallAt, a.Cost, a.Usage = assay.ClassAborted, nil, nil, assay.Usage{}
	}
	if class == assay.ClassPrompt && a.CallAt == nil {
		a.Class = class
	}
	o.Attempt = a
	*m.last(i) = a
	if item.state == assay.ItemPending {
		item.answers = append(item.answers, o.Answers...)
		if o.Counted {
			item.counted++
		}
		if o.State != assay.ItemPending {
			item.state, item.cut, m.stalls = o.State, o.Cut, 0
		}
	}
	return o
}

// stale lets a driver that lost the run try its batch, and then store it late.
func (m *model) stale() {
	if len(m.old) == 0 {
		return
	}
	f := rapid.SampledFrom(m.old).Draw(m.r, "claim")
	i := rapid.IntRange(0, len(m.items)-1).Draw(m.r, "item")
	a := m.last(i)
	if a == nil || a.Epoch != f.Epoch || a.Status == assay.AttemptOpen {
		return
	}
	_, err := m.w.Items().Commit(m.w.ctx, f, store.Batch{Now: at(9), Done: []store.Outcome{graded(opened(f, a.Seq, a.N), true)}})
	m.w.lost(err)
	late := closed(*a, "")
	late.Reserved = nil // what was stored before the call stays
	m.w.ok(m.w.Items().Late(m.w.ctx, []assay.Attempt{late}))
	if a.Status == assay.AttemptUnknown {
		late.Late, late.Reserved = true, a.Reserved
		*a = late
	}
}

func (m *model) attempts() (all []assay.Attempt) {
	for _, item := range m.items {
		all = append(all, item.attempts...)
	}
	return all
}

func (m *model) compare() {
	var want assay.Counts
	verdicts := 0
	for i, item := range m.items {
		want.Total++
		switch item.state {
		case assay.ItemPending:
			want.Pending++
		case assay.ItemGraded:
			want.Graded++
			want.Passed++ // every answer of the model's passes
			verdicts += len(item.answers)
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
	}
	equal(m.r, "counts", m.w.counts(m.f.Run), want)
	equal(m.r, "spend", m.w.spend(m.f.Run), spendOf(m.attempts()))
	equal(m.r, "verdicts", len(m.w.verdictsOf(m.f.Run)), verdicts)
	run := m.w.get(m.f.Run)
	equal(m.r, "stalls and budget", []any{run.Stalls, run.Budget}, []any{m.stalls, m.budget})
	for i, item := range m.w.items(m.f.Run) {
		mine := m.items[i]
		equal(m.r, fmt.Sprint("item ", item.Seq), []any{item.State, item.Attempts, item.Crashes, item.Counted, item.Cut},
			[]any{mine.state, len(mine.attempts), mine.crashes, mine.counted, mine.cut})
	}
	i := rapid.IntRange(0, len(m.items)-1).Draw(m.r, "asked about")
	var pending []assay.Answer
	if m.items[i].state == assay.ItemPending {
		pending = m.items[i].answers
	}
	equal(m.r, "answers of a pending item", m.w.answers(m.f.Run, int64(i+1)), pending)
}

// compareMoney is what is told of each attempt, of a budget's window and by lines.
func (m *model) compareMoney() {
	var answers [][]assay.Answer
	for i := range m.items {
		equal(m.r, fmt.Sprint("attempts of item ", i+1), m.w.attempts(m.f.Run, int64(i+1)), m.items[i].attempts)
		answers = append(answers, nil)
	}
	for _, v := range m.w.verdictsOf(m.f.Run) {
		answers[v.Seq-1] = append(answers[v.Seq-1], v.Answer)
	}
	for i, item := range m.items {
		if item.state == assay.ItemGraded {
			equal(m.r, fmt.Sprint("verdicts of item ", i+1), answers[i], item.answers)
		}
	}
	from, to := at(rapid.IntRange(0, 200_000).Draw(m.r, "from")), at(rapid.IntRange(0, 200_000).Draw(m.r, "to"))
	in := slices.DeleteFunc(m.attempts(), func(a assay.Attempt) bool { return a.OpenedAt.Before(from) || !a.OpenedAt.Before(to) })
	equal(m.r, "charged", m.w.charged(from, to), chargeOf(in))
	q := store.SpendQuery{Zone: time.FixedZone("", 3600*rapid.IntRange(-12, 12).Draw(m.r, "zone")), From: &from, To: &to}
	equal(m.r, "lines", m.w.lines(q), m.w.linesOf(q, m.f.Run))
	m.w.healthy()
}
