package grading

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/judge"
	"assay/internal/store"
)

// A thousand random runs with retries, crashes and price changes in a simulated clock: what the
// provider bills never exceeds the budget of the run or of the month, and a run that pauses for its
// budget was right to.
func TestAHardBudgetIsNeverExceeded(t *testing.T) {
	const parts, projects, runsEach = 2, 125, 4 // each part has a process of its own
	for part := range parts {
		t.Run(fmt.Sprintf("part%d", part), func(t *testing.T) {
			inBubble(t, func(t *testing.T, s store.Store) {
				var graded, paused, crashed int
				for seed := part * projects; seed < (part+1)*projects; seed++ {
					b := &bank{t: t, r: rand.New(rand.NewPCG(uint64(seed), 7))}
					b.open(s, fmt.Sprintf("p%d", seed))
					for range runsEach {
						b.run()
					}
					graded, paused, crashed = graded+b.graded, paused+b.paused, crashed+b.crashes
					if t.Failed() {
						t.Fatalf("with seed %d", seed)
					}
				}
				t.Logf("%d runs: %d items graded, %d runs paused for a budget, %d crashes", projects*runsEach, graded, paused, crashed)
				if graded < 2000/parts || paused < 100/parts || crashed < 500/parts {
					t.Error("the runs met too little")
				}
			})
		})
	}
}

// bank is one project whose runs are driven by processes that die.
type bank struct {
	t *testing.T
	r *rand.Rand
	w *world
	p *provider

	month                   *assay.USD
	graded, paused, crashes int
}

func (b *bank) open(s store.Store, project string) {
	b.w = newWorldNamed(b.t, s, project, 4+b.r.IntN(12))
	b.p = &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 1 + b.r.Int64N(5000), output: 1 + b.r.Int64N(2000)}
	b.p.answer = b.p.moody(rand.New(rand.NewPCG(b.r.Uint64(), 3)))
	b.reprice()
	if b.r.IntN(2) == 0 {
		month := assay.USD(b.r.Int64N(int64(60 * b.worst())))
		b.month = &month
		settings := b.w.project.Settings
		settings.MonthBudget = b.month
		var err error
		if b.w.project, err = s.Projects().Update(b.t.Context(), b.w.project.ID, settings, false); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bank) reprice() {
	cached := assay.USD(b.r.Int64N(int64(20 * assay.Dollar)))
	b.p.set(&assay.Price{Input: assay.USD(b.r.Int64N(int64(20 * assay.Dollar))), Cached: &cached, Output: assay.USD(b.r.Int64N(int64(80 * assay.Dollar)))})
}

func (b *bank) worst() assay.USD { return b.p.now("", b.p.key).Worst(b.p.input, b.p.output) + 1 }

// run grades once, through crashes and price changes, until the run rests.
func (b *bank) run() {
	budget := assay.USD(b.r.Int64N(int64(40 * b.worst())))
	before, _ := b.p.bill()
	b.p.peak = b.worst()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	go b.meddle(ctx)

	victim, stop := b.process()
	run := b.start(&budget)
	for deaths := b.r.IntN(4); deaths > 0 && !b.rests(run.ID); deaths-- {
		time.Sleep(time.Duration(b.r.IntN(4000)) * time.Millisecond)
		victim.kill()
		stop()
		b.crashes++
		victim, stop = b.process()
	}
	for began := time.Now(); !b.rests(run.ID); time.Sleep(time.Second) {
		if time.Since(began) > 3*time.Hour {
			items, _, _ := b.w.store.Items().List(b.t.Context(), run.ID, store.ItemQuery{State: assay.ItemPending}, store.Page{})
			b.t.Fatalf("run %s does not come to rest: %+v\n%+v\n%+v\n%+v", run.ID, b.w.run(run.ID), b.w.counts(run.ID), victim.o.Limits.States(), items)
		}
	}
	victim.kill()
	stop()
	now := b.w.run(run.ID)
	spent, _ := b.p.bill()
	if spent-before > budget {
		b.t.Errorf("run %s: the provider billed %s, its budget was %s", run.ID, spent-before, budget)
	}
	if b.month != nil && spent > *b.month {
		b.t.Errorf("the provider billed %s in the month, its budget was %s", spent, *b.month)
	}
	b.check(now, spent-before)
	b.graded += int(b.w.counts(run.ID).Graded)
	if now.State.Terminal() {
		return
	}
	if _, err := b.w.engine.End(b.t.Context(), run.ID); err != nil {
		b.t.Fatal(err)
	}
}

// check holds the run's own books against the bill: they never say less.
func (b *bank) check(run assay.Run, billed assay.USD) {
	spend, err := b.w.store.Items().Spend(b.t.Context(), run.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	if spend.Unpriced != 0 || billed < spend.Cost || billed > spend.Cost+spend.Held {
		b.t.Errorf("run %s: billed %s, the rows say %+v", run.ID, billed, spend)
	}
	if run.State != assay.RunPaused {
		return
	}
	b.paused++
	if left := *run.Budget - spend.Cost - spend.Held; left >= b.p.dearest() && b.month == nil && run.Reason == assay.Reason(assay.ClassBudget) {
		b.t.Errorf("run %s paused with %s left, a call cost at most %s: %s", run.ID, left, b.p.dearest(), run.Sentence)
	}
}

// rests says that nothing more will happen to a run by itself.
func (b *bank) rests(id assay.RunID) bool {
	run := b.w.run(id)
	return run.State.Terminal() || run.State == assay.RunPaused && run.Reason == assay.Reason(assay.ClassBudget)
}

func (b *bank) start(budget *assay.USD) assay.Run {
	run, _, err := b.w.engine.Grade(b.t.Context(), b.w.project, engine.GradeRequest{
		Judges: []string{"j"}, Force: true, Budget: budget, Concurrency: ptr(1 + b.r.IntN(8)),
	}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// process is a new process that drives.
func (b *bank) process() (*crashing, func()) {
	b.w.serve(b.p)
	c := b.w.crashing()
	c.o.Build, c.o.Price = b.w.grader.o.Build, b.w.grader.o.Price
	c.Grader = New(c.o)
	d := local.New(local.Options{Store: b.w.store, Now: utcNow, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: c.Grader}})
	return c, b.w.dispatch(d)
}

// meddle changes the price now and then.
func (b *bank) meddle(ctx context.Context) {
	r := rand.New(rand.NewPCG(b.r.Uint64(), 1))
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(r.IntN(20_000)) * time.Millisecond):
			price := *b.p.now("", b.p.key)
			price.Input, price.Output = assay.USD(float64(price.Input)*(0.5+r.Float64())), assay.USD(float64(price.Output)*(0.5+r.Float64()))
			b.p.set(&price)
		}
	}
}

func TestAnUnknownPriceBlocksABudget(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 6)
		p := &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 100, output: 100}
		w.serve(p)
		dollar := assay.Dollar
		_, _, err := w.engine.Grade(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}, Budget: &dollar}, nil)
		if assay.CodeOf(err) != assay.CodeInvalid {
			t.Fatalf("a budget without a price: %v", err)
		}
		w.drive()
		run := w.until(w.grade(engine.GradeRequest{Budget: &dollar, Unpriced: true}).ID, assay.RunCompleted)
		spend, err := s.Items().Spend(t.Context(), run.ID)
		if err != nil || spend.Unpriced != 6 || spend.Cost != 0 || spend.Held != 0 {
			t.Errorf("%+v (%v)", spend, err)
		}
		free := assay.Price{}
		p.set(&free)
		w.until(w.grade(engine.GradeRequest{Budget: new(assay.USD), Force: true}).ID, assay.RunCompleted) // 0 is a price
	})
}

// A run that paused for its budget goes on when the budget is raised.
func TestARaisedBudgetGoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 20)
		p := &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 1000, output: 100,
			price: &assay.Price{Input: assay.Dollar, Output: 10 * assay.Dollar}} // 0.002 a call
		w.serve(p)
		w.drive()
		budget := 11 * assay.Dollar / 1000
		run := w.until(w.grade(engine.GradeRequest{Budget: &budget, Concurrency: ptr(3)}).ID, assay.RunPaused)
		if c := w.counts(run.ID); run.Reason != assay.Reason(assay.ClassBudget) || c.Graded != 5 || run.WakeAt != nil {
			t.Fatalf("%s: %s; %+v, wakes %v", run.Reason, run.Sentence, c, run.WakeAt)
		}
		if spent, calls := p.bill(); spent != 10*assay.Dollar/1000 || calls != 5 {
			t.Errorf("%s for %d calls", spent, calls)
		}
		budget *= 10
		if _, err := s.Runs().SetBudget(t.Context(), run.ID, &budget); err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.Resume(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		run = w.until(run.ID, assay.RunCompleted)
		spend, err := s.Items().Spend(t.Context(), run.ID)
		if err != nil || spend.Cost != 40*assay.Dollar/1000 || spend.Held != 0 || w.counts(run.ID).Graded != 20 {
			t.Errorf("%+v (%v)", spend, err)
		}
	})
}

// Two runs of one project share the month's budget, and next month begins anew.
func TestAMonthsBudgetIsSharedAndBeginsAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		time.Sleep(time.Until(time.Date(2026, 6, 30, 23, 59, 0, 0, time.UTC)))
		w := newWorld(t, s, 30)
		w.apply("k", "v2")
		p := &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 1000, output: 100,
			price: &assay.Price{Input: assay.Dollar, Output: 10 * assay.Dollar}}
		w.serve(p)
		settings, month := w.project.Settings, 51*assay.Dollar/1000
		settings.MonthBudget = &month
		var err error
		if w.project, err = s.Projects().Update(t.Context(), w.project.ID, settings, false); err != nil {
			t.Fatal(err)
		}
		stop := w.drive()
		a, b := w.grade(engine.GradeRequest{Judges: []string{"j"}}).ID, w.grade(engine.GradeRequest{Judges: []string{"k"}}).ID
		for _, id := range []assay.RunID{a, b} {
			w.eventually(func() bool { return w.run(id).State != assay.RunRunning && w.run(id).State != assay.RunQueued })
			t.Log(id, w.run(id).State, w.run(id).Sentence)
		}
		if spent, calls := p.bill(); calls != 25 || spent > month {
			t.Errorf("%s for %d calls in the first month", spent, calls)
		}
		time.Sleep(2 * time.Minute)
		for _, id := range []assay.RunID{a, b} {
			w.eventually(func() bool {
				r := w.run(id)
				return r.State.Terminal() || r.State == assay.RunPaused && r.WakeAt != nil && r.WakeAt.After(utcNow())
			})
		}
		if spent, calls := p.bill(); calls != 50 {
			t.Errorf("%s for %d calls in two months", spent, calls)
		}
		stop()
	})
}

func TestARetryGetsWhatTheBudgetLeft(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 10)
		p := &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 1000, output: 100,
			price: &assay.Price{Input: assay.Dollar, Output: 10 * assay.Dollar}}
		p.answer = func(_ context.Context, nth int) (r judge.Reply, u assay.Usage) {
			u = assay.Usage{Known: true, Input: 1000, Output: 100}
			if nth <= 3 {
				r = failing(assay.ClassRefused)
			} else {
				r = passing()
			}
			r.Usage = u
			return r, u
		}
		w.serve(p)
		w.drive()
		budget := 25 * assay.Dollar / 1000
		run := w.until(w.grade(engine.GradeRequest{Budget: &budget}).ID, assay.RunCompleted)
		n, err := w.grader.Retry(t.Context(), run, "", utcNow())
		if err != nil || n.Budget == nil || *n.Budget != 5*assay.Dollar/1000 {
			t.Fatalf("%v (%v), want what 10 calls left", n.Budget, err)
		}
		// Of what one retry spent nothing is left for the next, whichever run that one repeats.
		p.mu.Lock()
		p.answer = func(context.Context, int) (judge.Reply, assay.Usage) {
			r, u := failing(assay.ClassRefused), assay.Usage{Known: true, Input: 1000, Output: 100}
			r.Usage = u
			return r, u
		}
		p.mu.Unlock()
		again, _, err := w.engine.Retry(t.Context(), run.ID, engine.RetryRequest{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		paused := w.until(again.ID, assay.RunPaused) // two calls of three
		if !strings.Contains(paused.Sentence, "`assay runs set "+again.ID.String()+" --budget`") {
			t.Errorf("how to go on is not said: %s", paused.Sentence)
		}
		if _, err := w.engine.Cancel(t.Context(), again.ID, false); err != nil {
			t.Fatal(err)
		}
		again = w.until(again.ID, assay.RunCancelled)
		for _, of := range []assay.Run{run, again} {
			if n, err = w.grader.Retry(t.Context(), of, "", utcNow()); err != nil || n.Budget == nil || *n.Budget != assay.Dollar/1000 {
				t.Errorf("a retry of %s gets %v (%v), want 0.001", of.ID, n.Budget, err)
			}
		}
	})
}
