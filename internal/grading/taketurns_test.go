package grading

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/judge"
	"assay/internal/store"
)

// Two processes take turns in driving several runs of a project across the end of a month in its zone; they
// die or stop, prices change, runs are paused and resumed. Of no month and no run more is spent or set aside
// than its budget.
func TestNoMonthIsExceededByProcessesThatTakeTurns(t *testing.T) {
	const projects = 40
	zones := []string{"UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati", "Pacific/Pago_Pago"}
	inBubble(t, func(t *testing.T, s store.Store) {
		var june, july assay.USD
		for seed := range projects {
			m := &turnTaking{r: rand.New(rand.NewPCG(uint64(seed), 23))}
			m.open(t, s, seed, zones[seed%len(zones)])
			a, b := m.play()
			june, july = june+a, july+b
			if t.Failed() {
				t.Fatalf("with seed %d", seed)
			}
		}
		if t.Logf("USD %s before the months ended, %s after", june, july); june == 0 || july == 0 {
			t.Error("nothing was spent")
		}
	})
}

type turnTaking struct {
	*world
	r       *rand.Rand
	p       *provider
	budget  assay.USD // of the month
	budgets map[assay.RunID]assay.USD
	ends    time.Time // the month
}

func (m *turnTaking) open(t *testing.T, s store.Store, seed int, zone string) {
	m.world = newWorldNamed(t, s, fmt.Sprintf("p%d", seed), 60)
	m.p = modelNamed(fmt.Sprintf("m%d", seed))
	m.p.input, m.p.output = 1+m.r.Int64N(5000), 1+m.r.Int64N(2000)
	m.p.answer = m.p.moody(rand.New(rand.NewPCG(m.r.Uint64(), 3)))
	m.reprice()
	m.budget = assay.USD(m.r.Int64N(int64(100 * m.p.dearest())))
	m.month(m.budget, zone)
	m.asked(map[string]judge.Judge{"a": m.p, "b": m.p, "c": m.p, m.p.key.Model: m.p})
	m.ends = monthOf(utcNow(), m.zone()).to
	time.Sleep(time.Until(m.ends.Add(-time.Duration(m.r.IntN(20)) * time.Second)))
}

func (m *turnTaking) reprice() {
	cached := assay.USD(m.r.Int64N(int64(20 * assay.Dollar)))
	m.p.set(&assay.Price{Input: assay.USD(1 + m.r.Int64N(int64(20*assay.Dollar))), Cached: &cached, Output: assay.USD(m.r.Int64N(int64(80 * assay.Dollar)))})
}

// play drives until the month is over for a while, and says what was charged before and after.
func (m *turnTaking) play() (before, after assay.USD) {
	m.budgets = map[assay.RunID]assay.USD{}
	var ids []assay.RunID
	for _, name := range []string{"a", "b", "c"} {
		q := engine.GradeRequest{Judges: []string{name}, Force: true, Concurrency: ptr(1 + m.r.IntN(8))}
		budget := assay.USD(m.r.Int64N(int64(80 * m.p.dearest())))
		if m.r.IntN(2) == 0 {
			q.Budget = &budget
		}
		id := m.grade(q).ID
		if ids = append(ids, id); q.Budget != nil {
			m.budgets[id] = budget
		}
	}
	processes := []*crashing{m.process(), m.process()}
	for turn := 0; time.Since(m.ends) < 30*time.Second; turn++ {
		c := processes[turn%2]
		c.store.dead.Store(false)
		stop := m.dispatch(local.New(local.Options{Store: m.store, Now: utcNow, Poll: 50 * time.Millisecond,
			Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: c.Grader}}))
		m.meddle(ids)
		if m.r.IntN(2) == 0 {
			c.kill()
		}
		stop()
	}
	return m.check(ids)
}

func (m *turnTaking) process() *crashing {
	c := m.crashing()
	c.o.Build, c.o.Price = m.grader.o.Build, m.grader.o.Price
	c.Grader = New(c.o)
	return c
}

// meddle lets the runs go on for a while.
func (m *turnTaking) meddle(ids []assay.RunID) {
	for range 1 + m.r.IntN(4) {
		time.Sleep(time.Duration(m.r.IntN(2000)) * time.Millisecond)
		id := ids[m.r.IntN(len(ids))]
		switch m.r.IntN(4) {
		case 0:
			m.reprice()
		case 1:
			_, _ = m.engine.Pause(m.t.Context(), id)
		default:
			_, _ = m.engine.Resume(m.t.Context(), id)
		}
	}
}

func (m *turnTaking) check(ids []assay.RunID) (before, after assay.USD) {
	for i, at := range []time.Time{m.ends.Add(-1), m.ends} {
		month := monthOf(at, m.zone())
		sum, _, err := m.store.Spending().Charged(m.t.Context(), m.project.ID, month.from, month.to)
		if err != nil || sum > m.budget {
			m.t.Errorf("month %d: USD %s of %s (%v)", i, sum, m.budget, err)
		}
		before, after = after, sum
	}
	var counted assay.USD
	for _, id := range ids {
		spend, err := m.store.Items().Spend(m.t.Context(), id)
		if err != nil {
			m.t.Fatal(err)
		}
		counted += spend.Cost + spend.Held
		if budget, ok := m.budgets[id]; ok && spend.Cost+spend.Held > budget {
			m.t.Errorf("run %s: USD %s and %s of %s", id, spend.Cost, spend.Held, budget)
		}
		_, _ = m.engine.Cancel(m.t.Context(), id, true)
	}
	if billed, _ := m.p.bill(); billed > counted {
		m.t.Errorf("billed %s, the rows say %s", billed, counted)
	}
	return before, after
}
