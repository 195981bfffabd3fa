package grading

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/judge"
	"assay/internal/store"
	"assay/internal/store/postgres"
	"assay/internal/store/postgres/pgtest"
	"assay/internal/store/sqlite"
)

// onEach runs a test on every database, at the same time: most tests wait more than they work.
func onEach(t *testing.T, f func(t *testing.T, s store.Store)) {
	inTurn(t, func(t *testing.T, open func() store.Store) {
		t.Parallel()
		f(t, open())
	})
}

// inTurn runs a test on one database after the other.
func inTurn(t *testing.T, f func(t *testing.T, open func() store.Store)) {
	opened := func(t *testing.T, s store.Store, err error) store.Store {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	t.Run("sqlite", func(t *testing.T) {
		f(t, func() store.Store {
			s, err := sqlite.Open(t.Context(), t.TempDir())
			return opened(t, s, err)
		})
	})
	t.Run("postgres", func(t *testing.T) {
		f(t, func() store.Store {
			s, err := postgres.Open(t.Context(), pgtest.Database(t))
			return opened(t, s, err)
		})
	})
}

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is a store with sessions, a scripted judge and an engine; drive starts a dispatcher.
type world struct {
	t       *testing.T
	store   store.Store
	project assay.Project
	judge   *scripted
	grader  *Grader
	engine  *engine.Engine
	poke    atomic.Pointer[local.Dispatcher]
}

func utcNow() time.Time { return time.Now().UTC() }

func newWorld(t *testing.T, s store.Store, sessions int) *world {
	t.Helper()
	return newWorldNamed(t, s, "p", sessions)
}

// newWorldNamed is a world in a project of its own.
func newWorldNamed(t *testing.T, s store.Store, project string, sessions int) *world {
	t.Helper()
	w := &world{t: t, store: s, judge: &scripted{}}
	var err error
	settings := assay.DefaultSettings()
	settings.Settle = 0
	if w.project, err = s.Projects().Create(t.Context(), project, settings, utcNow()); err != nil {
		t.Fatal(err)
	}
	w.put(0, sessions, "first")
	w.apply("j", "v1")
	w.grader = w.newGrader()
	w.engine = engine.New(s, w.grader, nil, func() {
		if d := w.poke.Load(); d != nil {
			d.Wake()
		}
	}, utcNow)
	return w
}

func (w *world) newGrader() *Grader {
	return New(Options{Store: w.store, Now: utcNow, Build: func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return w.judge, nil }})
}

func (w *world) apply(name, version string) {
	w.t.Helper()
	v := assay.JudgeVersion{ID: assay.Hash(version), Kind: assay.JudgeLLM, Unit: assay.UnitSession, Canonical: []byte(`{}`), CreatedAt: utcNow()}
	if _, err := w.store.Judges().Apply(w.t.Context(), w.project.ID, assay.Judge{Name: name, Version: v.ID}, v, utcNow()); err != nil {
		w.t.Fatal(err)
	}
}

// put stores sessions from..to: user u0 to u9, four days, three arms.
func (w *world) put(from, to int, text string) {
	w.t.Helper()
	var batch []store.NewSession
	for i := from; i < to; i++ {
		at := time.Date(2026, 3, 1+i%4, 10, 0, 0, 0, time.UTC)
		s := &assay.Session{UserID: fmt.Sprintf("u%d", i%10), SessionID: fmt.Sprintf("s%05d", i), Turns: []assay.Turn{{
			StartedAt: &at, Messages: []assay.Message{{Role: assay.RoleUser, Content: text}, {Role: assay.RoleAssistant, Content: "done"}},
		}}}
		body, hash, size, err := store.EncodeBody(s)
		if err != nil {
			w.t.Fatal(err)
		}
		batch = append(batch, store.NewSession{Body: body, Head: assay.Head{
			UserID: s.UserID, SessionID: s.SessionID, ContentHash: hash, StartedAt: &at, LastTurnAt: &at, SettleFrom: &at,
			Day: at.Format(time.DateOnly), Arm: []string{"a", "b", "c"}[i%3], Turns: 1, Messages: 2, BodyBytes: size,
		}})
	}
	if _, err := w.store.Sessions().Put(w.t.Context(), w.project.ID, 0, batch, utcNow()); err != nil {
		w.t.Fatal(err)
	}
}

// drive runs a dispatcher until the returned function is called, which stops it gracefully.
func (w *world) drive() (stop func()) {
	return w.dispatch(local.New(local.Options{
		Store: w.store, Now: utcNow, Poll: 20 * time.Millisecond, ErrorPause: 100 * time.Millisecond,
		Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: w.grader, assay.RunSingle: w.grader},
	}))
}

func (w *world) dispatch(d *local.Dispatcher) (stop func()) {
	w.poke.Store(d)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(ctx) }()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	w.t.Cleanup(stop)
	return stop
}

func (w *world) grade(q engine.GradeRequest) assay.Run {
	w.t.Helper()
	if q.Judges == nil {
		q.Judges = []string{"j"}
	}
	run, _, err := w.engine.Grade(w.t.Context(), w.project, q, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

func (w *world) run(id assay.RunID) assay.Run {
	w.t.Helper()
	run, err := w.store.Runs().Get(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// until waits for a state and fails the test when another terminal state or ten seconds come first.
func (w *world) until(id assay.RunID, want assay.RunState) assay.Run {
	w.t.Helper()
	var run assay.Run
	w.eventually(func() bool {
		run = w.run(id)
		if run.State != want && run.State.Terminal() {
			w.t.Fatalf("run %s is %s (%s: %s), want %s", id, run.State, run.Reason, run.Sentence, want)
		}
		return run.State == want
	})
	return run
}

func (w *world) eventually(ok func() bool) {
	w.t.Helper()
	w.eventuallyWithin(20*time.Second, ok)
}

func (w *world) eventuallyWithin(d time.Duration, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(d)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatalf("did not happen within %s", d)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func (w *world) counts(id assay.RunID) assay.Counts {
	w.t.Helper()
	c, err := w.store.Items().Counts(w.t.Context(), id, utcNow())
	if err != nil {
		w.t.Fatal(err)
	}
	if sum := c.Pending + c.Graded + c.Errored + c.Ungradable + c.Cancelled + c.Abandoned; sum != c.Total {
		w.t.Fatalf("counts do not add up: %+v", c)
	}
	return c
}

// scripted is a judge that answers by a function of the session and the number of times that it was
// asked about it.
type scripted struct {
	mu     sync.Mutex
	answer func(ctx context.Context, q judge.Question, nth int) judge.Reply
	asked  map[string]int
	flying atomic.Int64
	most   atomic.Int64
	calls  atomic.Int64
}

func (j *scripted) NeedsBody() bool { return true }
func (j *scripted) Close() error    { return nil }

func (j *scripted) Ask(ctx context.Context, q judge.Question) judge.Reply {
	began := utcNow()
	n := j.flying.Add(1)
	defer j.flying.Add(-1)
	for most := j.most.Load(); n > most && !j.most.CompareAndSwap(most, n); most = j.most.Load() {
	}
	j.calls.Add(1)
	j.mu.Lock()
	if j.asked == nil {
		j.asked = map[string]int{}
	}
	key := fmt.Sprint(q.Session.SessionID, "/", q.Repeat)
	j.asked[key]++
	nth, answer := j.asked[key], j.answer
	j.mu.Unlock()
	reply := passing()
	if answer != nil {
		reply = answer(ctx, q, nth)
	}
	reply.CallAt, reply.EndedAt = began, utcNow()
	return reply
}

func (j *scripted) script(f func(ctx context.Context, q judge.Question, nth int) judge.Reply) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answer = f
}

func passing() judge.Reply { return judge.Reply{Answers: yes()} }

func failing(class assay.Class) judge.Reply { return judge.Reply{Class: class, Error: string(class)} }

// held answers only after release, or as aborted when the call is cut.
func held(release <-chan struct{}) func(context.Context, judge.Question, int) judge.Reply {
	return func(ctx context.Context, _ judge.Question, _ int) judge.Reply {
		select {
		case <-release:
			return passing()
		case <-ctx.Done():
			return failing(assay.ClassAborted)
		}
	}
}

func ptr[T any](v T) *T { return &v }
