package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"

	"assay/internal/stats"
)

// The bounds of a 95 % interval and of a test at 5 %.
const (
	confidence = 0.95
	leastHits  = 0.93
	mostHits   = 0.99 // where passes and failures of the effective sample are both expected to exceed enough
	enough     = 10
	mostFound  = 0.06
	slack      = 1e-12 // of sums whose order differs
)

// table is one question asked of many kinds of populations.
type table struct {
	name, title, about string
	keys               []string // what a row is
	methods            []method // the first is Assay's
	rows               []row
	tries              int
}

// method is what is tried, and what of it is worth a column.
type method struct {
	name             string
	hit, found, miss bool // hit rate and width; share of tests below 5 %; mean distance of the estimate from the truth
}

type row struct {
	keys  []any
	rate  float64 // expected level of a rate; NaN: there is none, and no bound from above
	null  bool    // there is no effect, so that what is found is false
	quick bool
	why   string // why a bound may be missed
	try   func(r *rand.Rand) []shot
}

// shot is what a method made of one population.
type shot struct {
	interval stats.Interval
	truth    float64
	level    float64
	p        stats.Value
}

func at(truth, level float64, i stats.Interval) shot {
	return shot{interval: i, truth: truth, level: level, p: stats.None(stats.NoInterval)}
}

func tested(truth float64, d stats.Difference) shot {
	return shot{interval: d.Interval, truth: truth, level: d.Level.X, p: d.P}
}

// tally is what a method made of all populations of a row.
type tally struct {
	tries, intervals, hits, tests, found int
	width, size, miss                    float64
}

func (t *tally) add(s shot) {
	t.tries++
	t.miss += math.Abs(s.level - s.truth)
	if s.p.Ok() {
		t.tests++
		if s.p.X < 1-confidence {
			t.found++
		}
	}
	if !s.interval.Ok() {
		return
	}
	t.intervals++
	t.width += s.interval.Width()
	t.size += s.interval.N
	if s.interval.Low <= s.truth+slack && s.truth-slack <= s.interval.High {
		t.hits++
	}
}

func share(k, n int) float64 { return float64(k) / float64(n) }

type result struct {
	row    row
	tables []tally
}

func (t *table) run(tries int, quick bool, seed uint64) []result {
	var results []result
	t.tries = tries
	for _, r := range t.rows {
		if r.quick || !quick {
			results = append(results, result{r, make([]tally, len(t.methods))})
		}
	}
	next, wait := make(chan *result), sync.WaitGroup{}
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for r := range next {
				r.run(t.name, tries, seed)
			}
		})
	}
	for i := range results {
		next <- &results[i]
	}
	close(next)
	wait.Wait()
	return results
}

// again is how many times as many populations a row is drawn anew from that misses a bound: with hundreds of
// rows some do by chance. What is printed is the second draw alone.
const again = 10

// run draws the populations of a row; which they are depends on what the row is, not on where it stands.
func (r *result) run(name string, tries int, seed uint64) {
	r.draw(name, tries, seed)
	if r.verdict() != "" {
		r.tables = make([]tally, len(r.tables))
		r.draw(name+" again", again*tries, seed)
	}
}

func (r *result) draw(name string, tries int, seed uint64) {
	h := fnv.New64a()
	fmt.Fprint(h, name, r.row.keys)
	for i := range tries {
		for m, s := range r.row.try(rand.New(rand.NewPCG(h.Sum64()+seed, uint64(i)))) {
			r.tables[m].add(s)
		}
	}
}

// verdict names the bounds that Assay's method misses, or is "".
func (r result) verdict() string { return r.judge(0, leastHits, mostHits, mostFound) }

// close says whether a row is next to the bounds, and so worth a look.
func (r result) close() bool {
	t := r.tables[0]
	return t.intervals > 0 && share(t.hits, t.intervals) < leastHits+0.01 || r.row.null && t.tests > 0 && share(t.found, t.tests) > mostFound-0.005
}

func (r result) judge(method int, least, most, found float64) string {
	t := r.tables[method]
	var out []string
	if t.intervals > 0 && share(t.hits, t.intervals) < least {
		out = append(out, "hits too seldom")
	}
	if t.width > 0 && share(t.hits, t.intervals) > most { // what is known has no width
		if n := t.size / float64(t.intervals); min(r.row.rate, 1-r.row.rate)*n > enough {
			out = append(out, "wider than needed")
		}
	}
	if r.row.null && t.tests > 0 && share(t.found, t.tests) > found {
		out = append(out, "finds what is not there")
	}
	return strings.Join(out, ", ")
}

func (t table) head() string {
	var heads []string
	heads = append(heads, t.keys...)
	for i, m := range t.methods {
		if m.hit && i == 0 {
			heads = append(heads, "none")
		}
		if m.hit {
			heads = append(heads, m.name+": hits", "width")
		}
		if m.found {
			heads = append(heads, m.name+": p < .05")
		}
		if m.miss {
			heads = append(heads, m.name+": error")
		}
	}
	heads = append(heads, "")
	return "| " + strings.Join(heads, " | ") + " |\n" + strings.Repeat("|---", len(heads)) + "|\n"
}

func (t table) line(r result, verdict string) string {
	var cells []string
	for _, k := range r.row.keys {
		cells = append(cells, fmt.Sprint(k))
	}
	for i, m := range t.methods {
		x := r.tables[i]
		if m.hit && i == 0 {
			cells = append(cells, few(share(x.tries-x.intervals, x.tries)))
		}
		switch {
		case m.hit && x.intervals == 0:
			cells = append(cells, "-", "-")
		case m.hit:
			cells = append(cells, fmt.Sprintf("%.3f", share(x.hits, x.intervals)), fmt.Sprintf("%.4f", x.width/float64(x.intervals)))
		}
		switch {
		case m.found && x.tests == 0:
			cells = append(cells, "-")
		case m.found:
			cells = append(cells, fmt.Sprintf("%.3f", share(x.found, x.tests)))
		}
		if m.miss {
			cells = append(cells, fmt.Sprintf("%.4f", x.miss/float64(x.tries)))
		}
	}
	note := ""
	if verdict != "" {
		note = "**" + verdict + "** " + r.row.why
	} else if x := r.tables[0]; x.tries > t.tries {
		note = fmt.Sprintf("%d tries", x.tries)
	}
	return "| " + strings.Join(append(cells, note), " | ") + " |\n"
}

// few is a share that is mostly 0.
func few(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", x)
}

// sum says the range of hit rates of each method.
func (t table) sum(results []result) string {
	var out []string
	for i, m := range t.methods {
		low, high, found, short, rows := 1.0, 0.0, 0.0, 0, 0
		for _, r := range results {
			x := r.tables[i]
			if r.row.null && m.found && x.tests > 0 {
				found = max(found, share(x.found, x.tests))
			}
			if x.intervals == 0 || !m.hit {
				continue
			}
			rows++
			s := share(x.hits, x.intervals)
			low, high = min(low, s), max(high, s)
			if s < leastHits {
				short++
			}
		}
		text := m.name + ":"
		if m.hit {
			text += fmt.Sprintf(" hits %.3f to %.3f, below %v in %d of %d rows", low, high, leastHits, short, rows)
		}
		if m.found {
			text += fmt.Sprintf(" false findings at most %.3f", found)
		}
		if m.hit || m.found {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ") + "."
}
