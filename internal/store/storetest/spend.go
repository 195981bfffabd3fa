package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func testSpending(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"of a run, by what is known of each attempt", testSpend},
		{"a reservation is kept by an attempt that a death cut, and by a late one", testReserved},
		{"calls whose tokens nobody knows", testUnmetered},
		{"a prompt is no call, also when it is cut", testPrompt},
		{"what a budget counts in a window", testCharged},
		{"lines by day, run, judge and model", testLines},
		{"days of a zone", testZones},
		{"sums that are too great", testGreatSums},
		{"what is typical of a judge", testTypical},
		{"nothing", func(w *world) {
			equal(w, "charged", w.charged(at(-1e6), at(1e6)), [2]int64{})
			equal(w, "lines", len(w.lines(store.SpendQuery{Zone: time.UTC})), 0)
			typical, err := w.Spending().Typical(w.ctx, w.project.ID, "nobody")
			w.ok(err)
			equal(w, "typical", typical, store.Typical{})
		}},
	})
}

// spendOf is what a store must sum, told the plain way.
func spendOf(list []assay.Attempt) (s assay.Spend) {
	for _, a := range list {
		charge, known := a.Charge()
		if !a.MayHaveLeft() {
			continue
		}
		one := assay.Spend{Attempts: 1, Usage: a.Usage}
		switch {
		case a.Cost != nil:
			one.Cost = charge
		case known:
			one.Held, one.HeldN = charge, 1
		default:
			one.Unpriced = 1
		}
		if a.Status == assay.AttemptUnknown {
			one.Unknown = 1
		}
		if a.Late {
			one.Late = 1
		}
		if a.Unmetered() {
			one.Unmetered = 1
		}
		s = s.Add(one)
	}
	return s
}

// chargeOf is what a budget must count, and the attempts that have no charge.
func chargeOf(list []assay.Attempt) (sum [2]int64) {
	for _, a := range list {
		if charge, known := a.Charge(); known {
			sum[0] += int64(charge)
		} else {
			sum[1]++
		}
	}
	return sum
}

func (w *world) charged(from, to time.Time) [2]int64 {
	w.Helper()
	sum, unpriced, err := w.Spending().Charged(w.ctx, w.project.ID, from, to)
	w.ok(err)
	return [2]int64{int64(sum), unpriced}
}

func (w *world) lines(q store.SpendQuery) []assay.SpendLine {
	w.Helper()
	q.Project = w.project.ID
	list, err := w.Spending().Lines(w.ctx, q)
	w.ok(err)
	return list
}

// all are the attempts of all items of runs.
func (w *world) all(runs ...assay.RunID) (list []assay.Attempt) {
	w.Helper()
	for _, run := range runs {
		for _, item := range w.items(run) {
			list = append(list, w.attempts(run, item.Seq)...)
		}
	}
	return list
}

// priced opens an attempt and closes it with a cost, nil for one that is not known.
func priced(a assay.Attempt, reserved, cost *assay.USD) assay.Attempt {
	a.Reserved = reserved
	a = closed(a, assay.ClassNone)
	if a.Cost = cost; cost == nil {
		a.Usage = assay.Usage{}
	}
	return a
}

func usd(n int64) *assay.USD { return ptr(assay.USD(n)) }

func testSpend(w *world) {
	f := w.grading(w.newRun(), w.fill(7))
	free := opened(f, 7, 1)
	free.Reserved = nil
	w.open(f, 1, 2, 3, 4, 5)
	w.commit(f, store.Batch{Open: []assay.Attempt{free}})
	stayed := opened(f, 4, 1) // its call never left, so it cost nothing
	stayed.Status, stayed.Class, stayed.EndedAt = assay.AttemptDone, assay.ClassAborted, ptr(at(6))
	unknown := priced(opened(f, 2, 1), usd(1000), nil)
	nothing := priced(opened(f, 5, 1), usd(1000), usd(0))
	w.commit(f, store.Batch{Done: []store.Outcome{
		graded(opened(f, 1, 1), true), {Attempt: unknown, State: assay.ItemPending, Counted: true}, {Attempt: stayed, State: assay.ItemPending},
		{Attempt: nothing, State: assay.ItemPending},
	}})
	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 2, 2)}})
	w.commit(f, store.Batch{Done: []store.Outcome{graded(opened(f, 2, 2), true)}})
	unpriced := priced(opened(f, 6, 1), nil, nil)
	w.ok(w.Items().Late(w.ctx, []assay.Attempt{unpriced}))
	want := assay.Spend{
		Attempts: 7, Late: 1, Usage: assay.Usage{Known: true, Input: 300, Cached: 30, CacheWrite: 9, Output: 60, Reasoning: 15},
		Cost: 600, Held: 2000, HeldN: 2, Unpriced: 2, Unmetered: 2, // held: 2, which told no usage, and 3, which is in flight; unpriced: 6 and 7; unmetered: 2 and 6
	}
	equal(w, "spend", w.spend(f.Run), want)
	equal(w, "spend, told the plain way", spendOf(w.all(f.Run)), want)
}

func testReserved(w *world) {
	f := w.grading(w.newRun(), w.fill(2))
	a := opened(f, 1, 1)
	a.Reserved = usd(12_345_678_901)
	w.commit(f, store.Batch{Open: []assay.Attempt{a, opened(f, 2, 1)}})
	equal(w, "in flight", w.spend(f.Run), assay.Spend{Attempts: 2, Held: 12_345_679_901, HeldN: 2})
	w.takeUp(f.Run, f.Epoch, true)
	equal(w, "cut", w.spend(f.Run), assay.Spend{Attempts: 2, Unknown: 2, Held: 12_345_679_901, HeldN: 2})

	// The late driver says nothing of the reservation, and knows no cost.
	a.Reserved = nil
	late := priced(a, nil, nil)
	w.ok(w.Items().Late(w.ctx, []assay.Attempt{late}))
	late.Late, late.Reserved = true, usd(12_345_678_901)
	equal(w, "the late attempt", w.attempts(f.Run, 1), []assay.Attempt{late})
	equal(w, "late", w.spend(f.Run), assay.Spend{Attempts: 2, Unknown: 1, Late: 1, Held: 12_345_679_901, HeldN: 2, Unmetered: 1})
}

func testUnmetered(w *world) {
	f := w.grading(w.newRun(), w.fill(6))
	var b store.Batch
	for seq := int64(1); seq <= 6; seq++ {
		a := opened(f, seq, 1)
		if a.Seen = hashOf("seen"); seq == 6 {
			a.Seen = "" // rules, or a program
		}
		b.Open = append(b.Open, a)
	}
	w.commit(f, b)
	equal(w, "an open one", w.attempts(f.Run, 1), b.Open[:1])
	unmetered := func(when string, want int64) {
		w.Helper()
		equal(w, when, []int64{w.spend(f.Run).Unmetered, w.lines(store.SpendQuery{Zone: time.UTC})[0].Spend.Unmetered, spendOf(w.all(f.Run)).Unmetered}, []int64{want, want, want})
	}
	unmetered("in flight", 5)
	silent := priced(b.Open[1], usd(1000), nil)
	refused := priced(b.Open[2], usd(1000), usd(0))
	refused.Usage, refused.HTTPStatus = assay.Usage{}, 429
	stayed := b.Open[3]
	stayed.Status, stayed.Class, stayed.EndedAt = assay.AttemptDone, assay.ClassAborted, ptr(at(6))
	program := priced(b.Open[5], nil, nil)
	program.Seen = ""
	w.commit(f, store.Batch{Done: []store.Outcome{
		graded(b.Open[0], true), {Attempt: silent, State: assay.ItemPending}, {Attempt: refused, State: assay.ItemPending},
		{Attempt: stayed, State: assay.ItemPending}, {Attempt: program, State: assay.ItemPending},
	}})
	w.takeUp(f.Run, f.Epoch, true)
	w.commit(store.Fence{Run: f.Run, Epoch: f.Epoch + 1}, store.Batch{})
	equal(w, "one that was cut", w.attempts(f.Run, 5)[0].Seen, hashOf("seen"))
	var tokens int64
	for _, line := range w.lines(store.SpendQuery{Zone: time.UTC}) {
		tokens += line.Spend.Unmetered
	}
	equal(w, "one that told no usage and one that was cut", []int64{w.spend(f.Run).Unmetered, tokens, spendOf(w.all(f.Run)).Unmetered}, []int64{2, 2, 2})
}

func testPrompt(w *world) {
	f := w.grading(w.newRun(), w.fill(3))
	mark := func(seq int64) assay.Attempt {
		a := opened(f, seq, 1)
		a.Class, a.Reserved = assay.ClassPrompt, nil
		return a
	}
	nothing := func(when string) {
		w.Helper()
		equal(w, "spend "+when, w.spend(f.Run), assay.Spend{})
		equal(w, "charged "+when, w.charged(at(-1e6), at(1e6)), [2]int64{})
		equal(w, "lines "+when, len(w.lines(store.SpendQuery{Zone: time.UTC})), 0)
	}
	w.commit(f, store.Batch{Open: []assay.Attempt{mark(1), mark(2)}})
	equal(w, "an open one", w.attempts(f.Run, 1), []assay.Attempt{mark(1)})
	equal(w, "in flight", w.counts(f.Run).InFlight, int64(2))
	nothing("while they are made")
	made := mark(1)
	made.Status, made.EndedAt = assay.AttemptDone, ptr(at(6))
	w.commit(f, store.Batch{Done: []store.Outcome{{Attempt: made, State: assay.ItemPending, Class: assay.ClassPrompt}}})
	equal(w, "one that was made", w.attempts(f.Run, 1), []assay.Attempt{made})
	nothing("when one is made")
	f = w.takeUp(f.Run, f.Epoch, true)
	cut := w.attempts(f.Run, 2)[0]
	equal(w, "one that was cut", []any{cut.Status, cut.Class}, []any{assay.AttemptUnknown, assay.ClassPrompt})
	equal(w, "its item's crashes", w.items(f.Run)[1].Crashes, 1)
	nothing("after a death")
	w.open(f, 3)
	w.takeUp(f.Run, f.Epoch, true)
	equal(w, "beside a call that was cut", w.spend(f.Run), assay.Spend{Attempts: 1, Unknown: 1, Held: 1000, HeldN: 1})
}

// spread makes a run of two judges with attempts all over some days, and a project beside it.
func (w *world) spread() (runs []assay.RunID) {
	w.Helper()
	heads := w.fill(4)
	for day := range 3 {
		n := w.newRun()
		n.Spec.Judges = []assay.RunJudge{{Name: "z", Version: "v1"}, {Name: "a", Version: "v2"}}
		f := w.takeUp(w.create(n).ID, 0, false)
		var items []assay.Item
		for i, h := range heads {
			items = append(items, assay.Item{Seq: int64(i + 1), Session: h.Key, Content: h.Content, Judge: i % 2})
		}
		w.ok(w.Plans().PutItems(w.ctx, f, items, at(3)))
		w.ok(w.Plans().Finish(w.ctx, f, 4, at(3)))
		for try := range 4 {
			var b, done store.Batch
			for seq := int64(1); seq <= 4; seq++ {
				a := opened(f, seq, try+1)
				a.OpenedAt = at(0).Add(time.Duration(day*20+try*7)*time.Hour + time.Duration(seq)*time.Microsecond)
				cost := usd(int64(day+1)*1e9 + seq*10 + int64(try))
				if (int(seq)+try)%3 == 0 {
					cost = nil
				}
				if a.Reserved = usd(5e9 + seq); try == 1 {
					a.Reserved = nil
				}
				b.Open = append(b.Open, a)
				c := priced(a, a.Reserved, cost)
				c.Model = []string{"m2", "m1", ""}[try%3]
				if try == 3 && seq == 4 {
					c.CallAt, c.Cost, c.Usage = nil, nil, assay.Usage{}
				}
				done.Done = append(done.Done, store.Outcome{Attempt: c, State: assay.ItemPending})
			}
			w.commit(f, b)
			if day < 2 || try < 3 {
				w.commit(f, done)
			}
		}
		if day == 0 {
			w.end(f.Run, assay.RunFailed)
		}
		if day == 1 {
			w.takeUp(f.Run, f.Epoch, true)
		}
		runs = append(runs, f.Run)
	}
	return runs
}

func testCharged(w *world) {
	other := newWorld(w.T, w.Store)
	other.spread()
	runs := w.spread()
	all := w.all(runs...)
	in := func(from, to time.Time) (list []assay.Attempt) {
		for _, a := range all {
			if !a.OpenedAt.Before(from) && a.OpenedAt.Before(to) {
				list = append(list, a)
			}
		}
		return list
	}
	equal(w, "all", w.charged(at(-1e6), at(1e6)), chargeOf(all))
	edge := all[0].OpenedAt
	for _, window := range [][2]time.Time{
		{edge, edge.Add(time.Microsecond)}, {edge.Add(-time.Hour), edge}, {edge.Add(time.Microsecond), at(1e6)}, {at(20 * 3600), at(30 * 3600)},
		{at(30 * 3600), at(1e6)}, {at(0), at(0)}, {at(10), at(5)},
	} {
		equal(w, fmt.Sprint("between ", window), w.charged(window[0], window[1]), chargeOf(in(window[0], window[1])))
	}
	before := other.charged(at(-1e6), at(1e6))
	for _, run := range runs[1:] {
		w.end(run, assay.RunCancelled)
	}
	equal(w, "of runs that have ended", w.charged(at(-1e6), at(1e6)), chargeOf(all))
	w.ok(w.Projects().Delete(w.ctx, w.project.ID, nil))
	equal(w, "of a project that is gone", w.charged(at(-1e6), at(1e6)), [2]int64{})
	equal(w, "of the other project", other.charged(at(-1e6), at(1e6)), before)
}

// linesOf is what Lines must tell, told the plain way.
func (w *world) linesOf(q store.SpendQuery, runs ...assay.RunID) (want []assay.SpendLine) {
	w.Helper()
	type key struct {
		day   string
		run   assay.RunID
		judge int
		model string
	}
	of := map[key][]assay.Attempt{}
	for _, run := range runs {
		judges := map[int64]int{}
		for _, item := range w.items(run) {
			judges[item.Seq] = item.Judge
		}
		for _, a := range w.all(run) {
			if (q.From == nil || !a.OpenedAt.Before(*q.From)) && (q.To == nil || a.OpenedAt.Before(*q.To)) && a.MayHaveLeft() {
				k := key{a.OpenedAt.In(q.Zone).Format(time.DateOnly), run, judges[a.Seq], a.Model}
				of[k] = append(of[k], a)
			}
		}
	}
	for k, list := range of {
		j := w.get(k.run).Spec.Judges[k.judge]
		want = append(want, assay.SpendLine{Day: k.day, Run: k.run, Judge: j.Name, Version: j.Version, Model: k.model, Spend: spendOf(list)})
	}
	slices.SortFunc(want, func(a, b assay.SpendLine) int {
		place := func(l assay.SpendLine) string {
			judge := strings.Index("za", l.Judge) // as the run lists them
			return fmt.Sprintf("%09d %d %s", l.Run, judge, l.Model)
		}
		if a.Day != b.Day {
			return -strings.Compare(a.Day, b.Day)
		}
		return strings.Compare(place(a), place(b))
	})
	return want
}

func testLines(w *world) {
	newWorld(w.T, w.Store).spread()
	runs := w.spread()
	for _, q := range []store.SpendQuery{
		{Zone: time.UTC}, {Zone: time.FixedZone("", -8*3600)}, {Zone: time.UTC, From: ptr(at(8 * 3600))}, {Zone: time.UTC, To: ptr(at(20 * 3600))},
		{Zone: time.UTC, From: ptr(at(20 * 3600)), To: ptr(at(42 * 3600))},
	} {
		equal(w, fmt.Sprintf("lines of %+v", q), w.lines(q), w.linesOf(q, runs...))
		q.Run = runs[1]
		equal(w, fmt.Sprintf("lines of %+v", q), w.lines(q), w.linesOf(q, runs[1]))
	}
	if n := len(w.lines(store.SpendQuery{Zone: time.UTC})); n < 12 {
		w.Errorf("%d lines are too few to tell anything", n)
	}
	other := newWorld(w.T, w.Store)
	equal(w, "a run of another project", len(other.lines(store.SpendQuery{Zone: time.UTC, Run: runs[0]})), 0)
	var sum assay.Spend
	for _, line := range w.lines(store.SpendQuery{Zone: time.UTC}) {
		sum = sum.Add(line.Spend)
	}
	equal(w, "the sum of all lines", sum, w.spend(runs[0]).Add(w.spend(runs[1])).Add(w.spend(runs[2])))
}

func testZones(w *world) {
	type opening struct {
		zone, at string
		day      string
	}
	openings := []opening{
		{"Asia/Kathmandu", "2026-03-01T18:14:59.999999Z", "2026-03-01"}, {"Asia/Kathmandu", "2026-03-01T18:15:00Z", "2026-03-02"}, // +05:45
		{"Europe/Berlin", "2026-03-28T22:59:59.999999Z", "2026-03-28"}, {"Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29"}, // winter
		{"Europe/Berlin", "2026-03-29T21:59:59.999999Z", "2026-03-29"}, {"Europe/Berlin", "2026-03-29T22:00:00Z", "2026-03-30"}, // summer
		{"America/St_Johns", "2026-03-01T03:29:59.999999Z", "2026-02-28"}, {"America/St_Johns", "2026-03-01T03:30:00Z", "2026-03-01"}, // -03:30
		{"Pacific/Kiritimati", "2026-03-01T09:59:59.999999Z", "2026-03-01"}, {"Pacific/Kiritimati", "2026-03-01T10:00:00Z", "2026-03-02"}, // +14
	}
	f := w.grading(w.newRun(), w.fill(len(openings)))
	for i, o := range openings {
		a := opened(f, int64(i+1), 1)
		var err error
		a.OpenedAt, err = time.Parse(time.RFC3339Nano, o.at)
		w.ok(err)
		w.commit(f, store.Batch{Open: []assay.Attempt{a}})
	}
	for i, o := range openings {
		zone, err := time.LoadLocation(o.zone)
		w.ok(err)
		opened := w.attempts(f.Run, int64(i+1))[0].OpenedAt
		lines := w.lines(store.SpendQuery{Zone: zone, From: &opened, To: ptr(opened.Add(time.Microsecond))})
		equal(w, fmt.Sprint("lines at ", o.at, " in ", o.zone), []any{len(lines), lines[0].Day, lines[0].Spend.Attempts}, []any{1, o.day, int64(1)})
		equal(w, "all lines in "+o.zone, w.lines(store.SpendQuery{Zone: zone}), w.linesOf(store.SpendQuery{Zone: zone}, f.Run))
	}
}

func testGreatSums(w *world) {
	f := w.grading(w.newRun(), w.fill(4))
	var b store.Batch
	for seq := int64(1); seq <= 3; seq++ {
		a := opened(f, seq, 1)
		a.Reserved = usd(math.MaxInt64)
		b.Open = append(b.Open, a)
	}
	w.commit(f, b)
	equal(w, "held", w.spend(f.Run), assay.Spend{Attempts: 3, Held: math.MaxInt64, HeldN: 3})
	equal(w, "charged", w.charged(at(-1e6), at(1e6)), [2]int64{math.MaxInt64})
	w.ok(w.Items().Late(w.ctx, []assay.Attempt{priced(opened(f, 1, 1), nil, usd(math.MaxInt64-1)), priced(opened(f, 4, 1), nil, usd(1))}))
	equal(w, "cost", w.spend(f.Run).Cost, assay.USD(math.MaxInt64))
	w.ok(w.Items().Late(w.ctx, []assay.Attempt{priced(opened(f, 2, 1), nil, usd(7))}))
	equal(w, "cost that is greater", w.spend(f.Run).Cost, assay.USD(math.MaxInt64))
	equal(w, "lines", w.lines(store.SpendQuery{Zone: time.UTC})[0].Spend.Held, assay.USD(math.MaxInt64))
}

func testTypical(w *world) {
	typical := func(version assay.Hash) store.Typical {
		t, err := w.Spending().Typical(w.ctx, w.project.ID, version)
		w.ok(err)
		return t
	}
	other := newWorld(w.T, w.Store)
	f := other.grading(other.newRun(), other.fill(1))
	other.grade(f, 1)

	heads := w.fill(600)
	n := w.newRun()
	n.Spec.Judges = []assay.RunJudge{{Name: "j", Version: "v1"}, {Name: "k", Version: "v2"}}
	f = w.takeUp(w.create(n).ID, 0, false)
	var items []assay.Item
	for i, h := range heads {
		items = append(items, assay.Item{Seq: int64(i + 1), Session: h.Key, Content: h.Content, Judge: min(i/10, 1)})
	}
	w.ok(w.Plans().PutItems(w.ctx, f, items, at(3)))
	w.ok(w.Plans().Finish(w.ctx, f, 600, at(3)))
	answered := func(seq int64, took time.Duration, output int64) store.Outcome {
		a := closed(opened(f, seq, 1), "")
		a.CallAt, a.EndedAt, a.Usage.Output = ptr(at(10)), ptr(at(10).Add(took)), output
		return store.Outcome{Attempt: a, State: assay.ItemPending}
	}
	silent := answered(3, 2*time.Second, 99) // tells no usage
	silent.Attempt.Usage = assay.Usage{}
	broken := failed(opened(f, 4, 1), assay.ItemPending, assay.ClassMalformed)
	b := store.Batch{Done: []store.Outcome{answered(1, time.Second, 10), answered(2, 3*time.Second, 30), silent, broken}}
	for seq := int64(11); seq <= 600; seq++ { // the newest 500 are of 101 and later
		took := 250 * time.Millisecond
		if seq <= 100 {
			took = time.Hour
		}
		b.Done = append(b.Done, answered(seq, took, 7))
	}
	w.commit(f, b)
	equal(w, "of the first judge", typical("v1"), store.Typical{N: 3, Seconds: 2, Output: 20})
	equal(w, "of the second judge", typical("v2"), store.Typical{N: store.TypicalAttempts, Seconds: 0.25, Output: 7})
	equal(w, "of the other project's", typical("v3"), store.Typical{})
}
