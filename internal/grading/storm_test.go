package grading

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// Whatever happens to runs, in whatever stage, nothing that they hold of the process is lost: no permit,
// no place at the gate, no memory and no promise; every item ends in one state, and no budget is crossed.
func TestNothingIsLostInAStorm(t *testing.T) {
	const storms = 60
	inBubble(t, func(t *testing.T, s store.Store) {
		ends, alone := map[assay.RunState]int{}, 0
		for seed := range storms {
			st := &storm{r: rand.New(rand.NewPCG(uint64(seed), 11))}
			st.rage(t, s, seed)
			for state, n := range st.ends {
				ends[state] += n
			}
			alone += st.alone
			if t.Failed() {
				t.Fatalf("with seed %d", seed)
			}
		}
		t.Logf("runs ended: %v; %d items ran alone", ends, alone)
	})
}

type storm struct {
	*world
	r       *rand.Rand
	f       *storetest.Faulty
	down    atomic.Bool
	models  []*provider
	local   *scripted
	month   *assay.USD
	crashes bool // so often that items must run alone
	taken   bool // a driver lost its run: calls in flight may finish before this process drives it again
	ends    map[assay.RunState]int
	alone   int
}

func (st *storm) rage(t *testing.T, s store.Store, seed int) {
	st.ends, st.crashes = map[assay.RunState]int{}, seed%3 == 0
	st.f = &storetest.Faulty{Store: s}
	st.f.Before = storetest.During(&st.down, storetest.Unavailable())
	sessions := 4 + st.r.IntN(40)
	if st.crashes {
		sessions = 2
	}
	st.local = &scripted{}
	st.world = newWorldNamed(t, st.f, fmt.Sprintf("p%d", seed), sessions)
	judges := map[string]judge.Judge{"local": st.local}
	for i := range 2 {
		p := modelNamed(fmt.Sprintf("m%d-%d", seed, i))
		p.set(&assay.Price{Input: assay.USD(st.r.Int64N(int64(assay.Dollar))), Output: assay.USD(st.r.Int64N(int64(assay.Dollar)))})
		p.answer = p.moody(rand.New(rand.NewPCG(uint64(seed), uint64(i))))
		st.models = append(st.models, p)
		judges[p.key.Model] = p
	}
	st.asked(judges)
	o := st.grader.o
	o.Memory = 1 + st.r.Int64N(8<<10)
	st.grader = New(o)
	st.watch()
	if st.r.IntN(2) == 0 {
		month := assay.USD(st.r.Int64N(int64(60 * st.worst())))
		st.month = &month
		settings := st.project.Settings
		settings.MonthBudget = st.month
		var err error
		if st.project, err = s.Projects().Update(t.Context(), st.project.ID, settings, false); err != nil {
			t.Fatal(err)
		}
	}
	stop := st.drive()
	var ids []assay.RunID
	names := []string{st.models[0].key.Model, st.models[1].key.Model, "local"}
	st.r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	budget := assay.USD(st.r.Int64N(int64(60 * st.worst())))
	for _, some := range [][]string{names[:2], names[2:]} {
		q := engine.GradeRequest{Judges: some, Force: true, Unpriced: true, Concurrency: ptr(1 + st.r.IntN(20))}
		if len(some) == 2 {
			q.Budget = &budget
		}
		ids = append(ids, st.grade(q).ID)
	}
	for range 3 + st.r.IntN(20) {
		time.Sleep(time.Duration(st.r.IntN(3000)) * time.Millisecond)
		if st.r.IntN(6) == 0 {
			stop()
			stop = st.drive()
		}
		st.happen(ids[st.r.IntN(len(ids))])
	}
	st.down.Store(false)
	if st.crashes {
		time.Sleep(time.Minute)
	}
	st.cancel(ids)
	stop()
	st.check(ids, budget)
}

// cancel cancels the runs: no call leaves later than a second after it was answered, and calls that are cut
// end within a second too.
func (st *storm) cancel(ids []assay.RunID) {
	now := st.r.IntN(2) == 0
	for _, id := range ids {
		if _, err := st.engine.Cancel(st.t.Context(), id, now); err != nil {
			st.t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	calls := st.calls()
	if now {
		time.Sleep(time.Second)
	}
	for _, id := range ids {
		if state := st.run(id).State; now && !st.taken && !state.Terminal() {
			st.t.Errorf("run %s is %s two seconds after cancel --now", id, state)
		}
		st.withinHours(time.Minute, func() bool { return st.run(id).State.Terminal() })
		st.ends[st.run(id).State]++
	}
	if n := st.calls() - calls; n != 0 {
		st.t.Errorf("%d calls left later than a second after the cancel", n)
	}
}

func (st *storm) calls() (n int) {
	for _, p := range st.models {
		_, calls := p.bill()
		n += calls
	}
	return n + int(st.local.calls.Load())
}

func (st *storm) worst() (worst assay.USD) {
	for _, p := range st.models {
		worst = max(worst, p.dearest())
	}
	return worst + 1
}

// happen is one thing that people, the store or another process do.
func (st *storm) happen(id assay.RunID) {
	ctx := context.Background()
	key := limit.Key(st.models[st.r.IntN(2)].key)
	what := st.r.IntN(9)
	if st.crashes && st.r.IntN(2) == 0 {
		what = 7
	}
	switch what {
	case 0:
		st.down.Store(!st.down.Load())
	case 1:
		_, _ = st.engine.Pause(ctx, id)
	case 2, 3:
		_, _ = st.engine.Resume(ctx, id)
	case 4:
		_, _ = st.engine.SetConcurrency(ctx, id, 1+st.r.IntN(20))
	case 5:
		st.grader.o.Limits.Set(key, limit.Limits{RequestsPerMinute: float64(1 + st.r.IntN(100)), Concurrency: st.r.IntN(4)})
	case 6:
		st.grader.o.Limits.Set(key, limit.Limits{})
	case 7: // another process takes the run up and dies
		run, err := st.f.Store.Runs().Get(ctx, id)
		if err == nil && run.State == assay.RunRunning {
			_, _ = st.f.Store.Runs().TakeUp(ctx, id, run.Epoch, true, utcNow())
			st.taken = true
		}
	case 8:
		if st.r.IntN(3) == 0 {
			_, _ = st.engine.End(ctx, id)
		}
	}
}

func (st *storm) check(ids []assay.RunID, budget assay.USD) {
	g := st.grader
	ctx, cancel := context.WithTimeout(st.t.Context(), time.Second)
	defer cancel()
	if err := g.o.Gate.Alone(ctx); err != nil {
		st.t.Error("a place at the gate is lost")
	}
	if !g.memory.TryAcquire(g.o.Memory) || len(g.reading) != 0 {
		st.t.Error("memory or a reader's place is lost")
	}
	for _, s := range g.o.Limits.States() {
		if s.InFlight != 0 || s.Shares != 0 || s.Waiting != 0 || s.Tokens != 0 {
			st.t.Errorf("a permit or a share is lost: %+v", s)
		}
	}
	if p := g.purses.purse(st.project.ID); p.pending != 0 || p.flying != 0 {
		st.t.Errorf("a promise is lost: USD %s pending, %s in flight", p.pending, p.flying)
	}
	var billed assay.USD
	for _, p := range st.models {
		spent, _ := p.bill()
		billed += spent
	}
	for _, id := range ids {
		items, _, err := st.world.store.Items().List(st.t.Context(), id, store.ItemQuery{}, store.Page{Limit: 200})
		if err != nil {
			st.t.Fatal(err)
		}
		for _, it := range items {
			attempts, err := st.world.store.Items().Attempts(st.t.Context(), id, it.Seq)
			if err != nil {
				st.t.Fatal(err)
			}
			for _, a := range attempts {
				if a.Alone {
					st.alone++
				}
			}
		}
		c := st.counts(id)
		if c.Pending != 0 || c.InFlight != 0 {
			st.t.Errorf("run %s ended with %+v", id, c)
		}
	}
	spend, err := st.world.store.Items().Spend(st.t.Context(), ids[0])
	if err != nil || spend.Cost+spend.Held > budget {
		st.t.Errorf("%+v (%v), the budget was %s", spend, err, budget)
	}
	if st.month != nil && billed > *st.month {
		st.t.Errorf("billed %s, the month's budget was %s", billed, *st.month)
	}
}
