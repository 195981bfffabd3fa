package grading

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
)

// waiting is an item that has no slot.
type waiting struct {
	item       assay.Item
	unreadable *judge.Reply   // its last answer, when that could not be read
	answered   []assay.Answer // about units, by its attempts so far
	recall     bool           // whether there was such an answer must be read from its attempts
	since      time.Time      // when it became ready; zero: when the loop began
}

// queue holds a run's pending items: those that are ready, in dispatch order, by judge and read page
// by page, those that wait for a time, and suspects that must run alone, which come last.
type queue struct {
	source   func(after int64, limit int) ([]assay.Item, error)
	lanes    []lane // of ready items, by judge: one for each, or what is not read yet is not known to be of any
	ready    int    // items in all lanes
	after    int64
	read     bool // source has no more
	pages    int  // that were read since reopen
	later    later
	suspects []waiting
}

// lane holds the ready items of one judge, in the order in which they go: those that were put back, those
// that have waited for a time or are half answered, those that were read. A closed one gives none: its
// model takes no call just now, or a budget has no room for one. While others go on it fills up; what it
// has no room for is left in its rows, and read when it runs out.
type lane struct {
	back   []waiting // last in, first out
	ripe   []waiting
	items  []waiting
	closed bool
	behind bool // it had no room: of its items beyond after none is in the queue
	after  int64
}

func (l *lane) first() (w *waiting, ok bool) {
	switch {
	case len(l.back) > 0:
		return &l.back[len(l.back)-1], true
	case len(l.ripe) > 0:
		return &l.ripe[0], true
	case len(l.items) > 0:
		return &l.items[0], true
	}
	return nil, false
}

func (l *lane) drop() {
	switch {
	case len(l.back) > 0:
		l.back = l.back[:len(l.back)-1]
	case len(l.ripe) > 0:
		l.ripe = l.ripe[1:]
	default:
		l.items = l.items[1:]
	}
}

const (
	ahead       = 4 * page // items of a lane that are in memory
	pagesAtOnce = 8        // between two calls of reopen: a loop that reads does nothing else
)

// next takes an item that may run now, of a judge whose lane is open. When it gives none and the queue is
// paused, reopen and try again.
func (q *queue) next(now time.Time) (waiting, bool, error) {
	q.ripen(now)
	for q.unread() && q.pages < pagesAtOnce {
		judge, starved := q.starved()
		if !starved && q.open() != nil {
			break
		}
		q.pages++
		var err error
		if starved {
			err = q.catchUp(judge, now)
		} else {
			err = q.readPage(now)
		}
		if err != nil {
			return waiting{}, false, err
		}
	}
	l := q.open()
	if l == nil {
		return waiting{}, false, nil
	}
	first, _ := l.first()
	w := *first
	l.drop()
	q.ready--
	return w, true, nil
}

// unread says that there may be more for an open lane than is in the queue.
func (q *queue) unread() bool {
	_, starved := q.starved()
	return starved || !q.read && !q.shut()
}

// paused says that next read as much as it may at once, and there is more.
func (q *queue) paused() bool { return q.pages >= pagesAtOnce && q.unread() }

// starved is an open lane that has nothing left and is behind.
func (q *queue) starved() (judge int, ok bool) {
	for i := range q.lanes {
		l := &q.lanes[i]
		if _, full := l.first(); l.behind && !l.closed && !full {
			return i, true
		}
	}
	return 0, false
}

// ripen files the items whose time has come.
func (q *queue) ripen(now time.Time) {
	for len(q.later) > 0 && !q.later[0].at().After(now) {
		w := heap.Pop(&q.later).(waiting)
		if w.item.Crashes >= assay.CrashesAlone {
			q.suspect(w)
			continue
		}
		q.line(w, true)
	}
}

// line lets an item that is ready wait for its turn, with those that were begun or behind all.
func (q *queue) line(w waiting, begun bool) {
	l := q.lane(w.item.Judge)
	if begun {
		l.ripe = append(l.ripe, w)
	} else {
		l.items = append(l.items, w)
	}
	q.ready++
}

func (q *queue) readPage(now time.Time) error {
	items, err := q.source(q.after, page)
	if err != nil {
		return err
	}
	q.read = len(items) < page
	for _, it := range items {
		l := q.lane(it.Judge)
		if !l.behind && len(l.items) >= ahead {
			l.behind, l.after = true, q.after
		}
		if q.after = it.Seq; !l.behind {
			q.put(waiting{item: it, recall: it.Attempts > 0}, now)
		}
	}
	return nil
}

// catchUp reads a page of what a lane had no room for.
func (q *queue) catchUp(judge int, now time.Time) error {
	l := q.lane(judge)
	items, err := q.source(l.after, page)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.Seq > q.after {
			break
		}
		if l.after = it.Seq; it.Judge == judge {
			q.put(waiting{item: it, recall: it.Attempts > 0}, now)
		}
	}
	l.behind = len(items) == page && items[page-1].Seq < q.after
	return nil
}

// put files an item by when and how it may run.
func (q *queue) put(w waiting, now time.Time) {
	switch {
	case w.item.NotBefore != nil && w.item.NotBefore.After(now):
		heap.Push(&q.later, w)
	case w.item.Crashes >= assay.CrashesAlone:
		q.suspect(w)
	default:
		q.line(w, len(w.answered) > 0)
	}
}

// putBack returns an item that next or nextAlone gave, to be the next again.
func (q *queue) putBack(w waiting) {
	if w.item.Crashes >= assay.CrashesAlone {
		q.suspect(w)
		return
	}
	l := q.lane(w.item.Judge)
	l.back = append(l.back, w)
	q.ready++
}

func (q *queue) lane(judge int) *lane {
	for len(q.lanes) <= judge {
		q.lanes = append(q.lanes, lane{})
	}
	return &q.lanes[judge]
}

// open is the open lane whose first item comes first, or nil.
func (q *queue) open() (lane *lane) {
	var least int64
	for i := range q.lanes {
		l := &q.lanes[i]
		if l.closed {
			continue
		}
		if w, ok := l.first(); ok && (lane == nil || w.item.Seq < least) {
			lane, least = l, w.item.Seq
		}
	}
	return lane
}

// shut says that every lane is closed, so that reading further would find nothing that may run.
func (q *queue) shut() bool {
	for i := range q.lanes {
		if !q.lanes[i].closed {
			return false
		}
	}
	return len(q.lanes) > 0
}

// close and reopen say whether a judge's items may run.
func (q *queue) close(judge int) { q.lane(judge).closed = true }
func (q *queue) reopen() {
	q.pages = 0
	for i := range q.lanes {
		q.lanes[i].closed = false
	}
}

// suspect keeps suspects in the order in which they run: those that crashed alone least often first,
// so that the innocent are done before the likely culprit runs again.
func (q *queue) suspect(w waiting) {
	i, _ := slices.BinarySearchFunc(q.suspects, w, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(a.item.Alone, b.item.Alone), cmp.Compare(a.item.Seq, b.item.Seq))
	})
	q.suspects = slices.Insert(q.suspects, i, w)
}

// nextAlone takes the first suspect whose lane is open.
func (q *queue) nextAlone() (waiting, bool) {
	for i, w := range q.suspects {
		if !q.lane(w.item.Judge).closed {
			q.suspects = slices.Delete(q.suspects, i, i+1)
			return w, true
		}
	}
	return waiting{}, false
}

// onlyAlone says that suspects are all that could run now.
func (q *queue) onlyAlone(now time.Time) bool {
	return q.known() && q.ready == 0 && q.suspected() && (len(q.later) == 0 || q.later[0].at().After(now))
}

// suspected says that a suspect of an open lane waits to run alone.
func (q *queue) suspected() bool {
	return slices.ContainsFunc(q.suspects, func(w waiting) bool { return !q.lane(w.item.Judge).closed })
}

func (q *queue) empty() bool {
	return q.known() && q.ready == 0 && len(q.later) == 0 && len(q.suspects) == 0
}

// known says that all that is pending is in the queue.
func (q *queue) known() bool {
	return q.read && !slices.ContainsFunc(q.lanes, func(l lane) bool { return l.behind })
}

// due is when the next item of an open lane may run: the zero time is now.
func (q *queue) due() (time.Time, bool) {
	switch {
	case q.open() != nil:
		return time.Time{}, true
	case len(q.later) > 0:
		return q.later[0].at(), true
	}
	return time.Time{}, false
}

// soon says that an item of an open lane may run before t by what the queue knows.
func (q *queue) soon(t time.Time) bool {
	at, ok := q.wakes()
	return q.open() != nil || q.unread() || q.suspected() || ok && at.Before(t)
}

// wakes is the first time that an item of an open lane waits for.
func (q *queue) wakes() (at time.Time, ok bool) {
	for _, w := range q.later {
		if !q.lane(w.item.Judge).closed && (!ok || w.at().Before(at)) {
			at, ok = w.at(), true
		}
	}
	return at, ok
}

// later is a heap of items that wait for a time.
type later []waiting

func (w waiting) at() time.Time { return *w.item.NotBefore }

func (l later) Len() int           { return len(l) }
func (l later) Less(i, j int) bool { return l[i].at().Before(l[j].at()) }
func (l later) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *later) Push(x any)        { *l = append(*l, x.(waiting)) }
func (l *later) Pop() any {
	old := *l
	w := old[len(old)-1]
	*l = old[:len(old)-1]
	return w
}

// restart reads the pending rows again from the first.
func (q *queue) restart() {
	closed := q.lanes
	*q = queue{source: q.source, lanes: make([]lane, len(closed))}
	for i := range closed {
		q.lanes[i].closed = closed[i].closed
	}
}

// peek says whether any item is known, reading a page when none is.
func (q *queue) peek(now time.Time) (bool, error) {
	if !q.read && q.ready == 0 {
		if err := q.readPage(now); err != nil {
			return false, err
		}
	}
	return !q.empty(), nil
}
