package grading

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/limit"
	"assay/internal/store"
	"assay/internal/store/storetest"
)

// turns counts how often loops go round: each looks at the clock.
type turns struct {
	n    atomic.Int64
	mu   sync.Mutex
	at   time.Time
	same int
}

// watch makes w's grader count, and end the process when a loop goes round and round in one moment.
func (w *world) watch() *turns {
	var c turns
	o := w.grader.o
	o.Limits = limit.New(utcNow)
	o.Now = func() time.Time {
		c.n.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		now := utcNow()
		if c.same++; !now.Equal(c.at) {
			c.at, c.same = now, 0
		}
		if c.same > 300_000 {
			panic("a loop goes round without a rest")
		}
		return now
	}
	w.grader = New(o)
	return &c
}

// during says how many times a second loops went round for so long.
func (c *turns) during(d time.Duration) float64 {
	before := c.n.Load()
	time.Sleep(d)
	return float64(c.n.Load()-before) / d.Seconds()
}

// slowly answers after d.
func slowly(d time.Duration, used assay.Usage) func(context.Context, int) (judge.Reply, assay.Usage) {
	return func(ctx context.Context, _ int) (judge.Reply, assay.Usage) {
		select {
		case <-ctx.Done():
			return failing(assay.ClassAborted), used
		case <-time.After(d):
		}
		r := passing()
		r.Usage = used
		return r, used
	}
}

// A loop that can do nothing but wait goes round a few times a second.
func TestALoopThatWaitsRests(t *testing.T) {
	const most = 60 // looks at the clock a second, of which each turn takes several
	type scene struct {
		*world
		p      *provider
		f      *storetest.Faulty
		down   atomic.Bool
		commit atomic.Pointer[func(nth int64)] // called before commits
	}
	slow := slowly(time.Minute, assay.Usage{Known: true, Input: 1, Output: 1})
	for name, c := range map[string]struct {
		sessions int
		begin    func(*scene) assay.RunID
	}{
		"the store is away and thousands could start": {5000, func(s *scene) assay.RunID {
			gone := make(chan struct{})
			s.commit.Store(ptr(func(nth int64) {
				if nth == 2 {
					s.down.Store(true)
					close(gone)
				}
			}))
			id := s.grade(engine.GradeRequest{PerStratum: ptr(5000), Concurrency: ptr(5000)}).ID
			<-gone
			return id
		}},
		"a cancel was asked for while thousands could start": {5000, func(s *scene) assay.RunID {
			asked := make(chan struct{})
			id := s.grade(engine.GradeRequest{PerStratum: ptr(5000), Concurrency: ptr(5000)}).ID
			s.commit.Store(ptr(func(nth int64) {
				if nth == 2 {
					if _, err := s.f.Store.Runs().Ask(context.Background(), id, store.AskCancel, "", utcNow()); err != nil {
						s.t.Error(err)
					}
					close(asked)
				}
			}))
			<-asked
			return id
		}},
		"a budget has room for one call at a time": {20, func(s *scene) assay.RunID {
			s.p.set(&assay.Price{Input: assay.Dollar, Output: assay.Dollar})
			s.grader.o.Limits.Set(limit.Key(s.p.key), limit.Limits{Concurrency: 2})
			budget := s.p.price.Worst(s.p.input, s.p.output) * 3 / 2
			return s.grade(engine.GradeRequest{Budget: &budget, Concurrency: ptr(10)}).ID
		}},
		"a pause was asked for while the model took no call": {20, func(s *scene) assay.RunID {
			s.grader.o.Limits.Set(limit.Key(s.p.key), limit.Limits{Concurrency: 1})
			id := s.grade(engine.GradeRequest{Concurrency: ptr(10)}).ID
			time.Sleep(time.Second)
			if _, err := s.engine.Pause(s.t.Context(), id); err != nil {
				s.t.Fatal(err)
			}
			return id
		}},
		"the store is away while the model takes no call": {20, func(s *scene) assay.RunID {
			s.grader.o.Limits.Set(limit.Key(s.p.key), limit.Limits{Concurrency: 1})
			id := s.grade(engine.GradeRequest{Concurrency: ptr(10)}).ID
			time.Sleep(time.Second)
			s.down.Store(true)
			return id
		}},
		"the model takes one call a minute": {20, func(s *scene) assay.RunID {
			s.p.answer = nil
			s.grader.o.Limits.Set(limit.Key(s.p.key), limit.Limits{RequestsPerMinute: 1})
			return s.grade(engine.GradeRequest{Concurrency: ptr(10)}).ID
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, st store.Store) {
				s := &scene{f: &storetest.Faulty{Store: st}}
				var commits atomic.Int64
				s.f.Before = func(call string) error {
					if hook := s.commit.Load(); hook != nil && call == "Items.Commit" {
						(*hook)(commits.Add(1))
					}
					return storetest.During(&s.down, storetest.Unavailable())(call)
				}
				s.world = newWorld(t, s.f, c.sessions)
				s.p = &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 1000, output: 1000, answer: slow}
				if c.sessions > maxBatch {
					s.judge.script(func(ctx context.Context, _ judge.Question, _ int) judge.Reply {
						r, _ := slow(ctx, 0)
						return r
					})
				} else {
					s.serve(s.p)
				}
				count := s.watch()
				stop := s.drive()
				defer stop()
				id := c.begin(s)
				time.Sleep(time.Second)
				if n := count.during(20 * time.Second); n > most {
					t.Errorf("%.0f looks at the clock a second", n)
				} else {
					t.Logf("%.0f looks at the clock a second", n)
				}
				s.down.Store(false)
				if _, err := s.engine.Cancel(t.Context(), id, true); err != nil {
					t.Fatal(err)
				}
				s.until(id, assay.RunCancelled)
			})
		})
	}
}
