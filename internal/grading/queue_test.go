package grading

import (
	"slices"
	"sort"
	"testing"
	"time"

	"assay/internal/assay"
)

func source(items ...assay.Item) func(int64, int) ([]assay.Item, error) {
	return func(after int64, limit int) (out []assay.Item, _ error) {
		for _, it := range items {
			if it.Seq > after && len(out) < limit {
				out = append(out, it)
			}
		}
		return out, nil
	}
}

func order(t *testing.T, q *queue, now time.Time) (seqs []int64) {
	t.Helper()
	for {
		w, ok, err := q.next(now)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return seqs
		}
		seqs = append(seqs, w.item.Seq)
	}
}

func TestQueueOrder(t *testing.T) {
	soon := noon.Add(time.Second)
	q := &queue{source: source(
		assay.Item{Seq: 1},
		assay.Item{Seq: 2, NotBefore: &soon},
		assay.Item{Seq: 3, Crashes: 2, Alone: 1},
		assay.Item{Seq: 4, Crashes: 3},
		assay.Item{Seq: 5, Crashes: 1},
	)}
	if got := order(t, q, noon); len(got) != 2 || got[0] != 1 || got[1] != 5 {
		t.Errorf("ready now: %v, want 1 and 5", got)
	}
	if got := order(t, q, soon); len(got) != 1 || got[0] != 2 {
		t.Errorf("ready a second later: %v, want 2", got)
	}
	if !q.onlyAlone(soon) {
		t.Error("only suspects are left")
	}
	for _, want := range []int64{4, 3} { // least often alone at a crash first
		if w, ok := q.nextAlone(); !ok || w.item.Seq != want {
			t.Errorf("alone: %d, want %d", w.item.Seq, want)
		}
	}
	if !q.empty() {
		t.Error("the queue is not empty")
	}
}

func TestQueueReadsPageByPage(t *testing.T) {
	var items []assay.Item
	for i := range 2*page + 7 {
		items = append(items, assay.Item{Seq: int64(i + 1)})
	}
	q := &queue{source: source(items...)}
	if got := order(t, q, noon); len(got) != len(items) || got[len(got)-1] != int64(len(items)) {
		t.Errorf("read %d items, want %d", len(got), len(items))
	}
}

// What was begun goes before what was not: put back, waited for, half answered.
func TestWhatWasBegunGoesFirst(t *testing.T) {
	soon := noon.Add(time.Second)
	q := &queue{source: source(
		assay.Item{Seq: 1}, assay.Item{Seq: 2, NotBefore: &soon}, assay.Item{Seq: 3}, assay.Item{Seq: 4}, assay.Item{Seq: 5},
	)}
	first, _, _ := q.next(noon)
	second, _, _ := q.next(noon)
	third, _, _ := q.next(noon)
	first.answered = []assay.Answer{{Unit: "u1"}}
	q.put(first, noon)
	q.putBack(third)
	q.putBack(second)
	if got := order(t, q, soon); !slices.Equal(got, []int64{3, 4, 1, 2, 5}) {
		t.Errorf("%v", got)
	}
}

// A closed lane gives nothing, also of what has waited for a time, and nothing of it is waited for.
func TestAClosedLaneGivesNothing(t *testing.T) {
	soon := noon.Add(time.Second)
	q := &queue{source: source(
		assay.Item{Seq: 1, Judge: 0}, assay.Item{Seq: 2, Judge: 0, NotBefore: &soon}, assay.Item{Seq: 3, Judge: 1}, assay.Item{Seq: 4, Judge: 0, Crashes: 2},
	)}
	if _, err := q.peek(noon); err != nil {
		t.Fatal(err)
	}
	q.close(0)
	if at, ok := q.wakes(); ok {
		t.Errorf("waits until %s", at)
	}
	if got := order(t, q, soon); !slices.Equal(got, []int64{3}) || q.soon(soon.Add(time.Hour)) || q.onlyAlone(soon) {
		t.Errorf("%v", got)
	}
	q.reopen()
	if got := order(t, q, soon); !slices.Equal(got, []int64{2, 1}) || !q.onlyAlone(soon) {
		t.Errorf("%v", got)
	}
}

// A judge whose lane is closed holds no other, however many items wait in it: what its lane has no room
// for is read when it is open again. Nothing is given twice or left out, and memory stays bounded.
func TestAClosedLaneHoldsNoOther(t *testing.T) {
	const sessions = 2*ahead + 7
	soon := noon.Add(time.Second)
	var items []assay.Item
	for i := range int64(sessions) {
		items = append(items, assay.Item{Seq: 2*i + 1, Judge: 0}, assay.Item{Seq: 2*i + 2, Judge: 1})
	}
	items[2*(ahead+5)].NotBefore = &soon
	items[2*(ahead+9)].Crashes = assay.CrashesAlone
	q := &queue{lanes: make([]lane, 2), source: rows(items)}
	drain := func(closed ...int) (seqs []int64) {
		for {
			q.reopen()
			for _, judge := range closed {
				q.close(judge)
			}
			got := order(t, q, noon)
			if seqs = append(seqs, got...); len(got) == 0 && !q.paused() {
				return seqs
			}
			if n := len(q.lanes[0].items); n > ahead {
				t.Fatalf("%d items of a closed lane are in memory", n)
			}
		}
	}
	every := func(first int64, but ...int64) (seqs []int64) {
		for seq := first; seq <= 2*sessions; seq += 2 {
			if !slices.Contains(but, seq) {
				seqs = append(seqs, seq)
			}
		}
		return seqs
	}
	if got := drain(0); !slices.Equal(got, every(2)) {
		t.Errorf("beside a closed lane %d of %d came", len(got), sessions)
	}
	if q.empty() || q.onlyAlone(noon) || q.soon(soon) {
		t.Error("the open lane is done, and the closed one not")
	}
	waits, suspect := items[2*(ahead+5)].Seq, items[2*(ahead+9)].Seq
	if got := drain(); !slices.Equal(got, every(1, waits, suspect)) {
		t.Errorf("of the lane that was closed %d of %d came", len(got), sessions)
	}
	if got := order(t, q, soon); !slices.Equal(got, []int64{waits}) || !q.onlyAlone(soon) {
		t.Errorf("at last: %v", got)
	}
	if w, ok := q.nextAlone(); !ok || w.item.Seq != suspect || !q.empty() {
		t.Errorf("alone: %d", w.item.Seq)
	}
}

// What is pending may begin with pages of one judge alone, after the others went ahead.
func TestAClosedLaneIsReadPast(t *testing.T) {
	var items []assay.Item
	for i := range int64(page + 1) {
		items = append(items, assay.Item{Seq: i + 1})
	}
	items[page].Judge = 1
	q := &queue{lanes: make([]lane, 2), source: rows(items)}
	if w, ok, err := q.next(noon); !ok || err != nil {
		t.Fatal(err)
	} else {
		q.putBack(w)
	}
	q.close(0)
	if got := order(t, q, noon); !slices.Equal(got, []int64{page + 1}) {
		t.Errorf("%v", got)
	}
}

// rows are items in the order of their numbers, as a store gives them.
func rows(items []assay.Item) func(int64, int) ([]assay.Item, error) {
	return func(after int64, limit int) ([]assay.Item, error) {
		from := sort.Search(len(items), func(i int) bool { return items[i].Seq > after })
		return items[from:min(from+limit, len(items))], nil
	}
}
