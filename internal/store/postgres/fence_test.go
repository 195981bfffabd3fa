package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// client is a connection as the store makes them, without the store.
func client(t *testing.T, s *Store) *pgx.Conn {
	t.Helper()
	c, err := pgx.ConnectConfig(t.Context(), s.pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeConn(c) })
	return c
}

func mustExec(t *testing.T, c *pgx.Conn, sql string, args ...any) int64 {
	t.Helper()
	tag, err := c.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return tag.RowsAffected()
}

// waitForWaiter returns when some connection to the database waits for a row lock.
func waitForWaiter(t *testing.T, s *Store) {
	t.Helper()
	eventually(t, 5*time.Second, "nobody waits for a lock", func() bool {
		var n int
		if err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
}

func eventually(t *testing.T, within time.Duration, otherwise string, f func() bool) {
	t.Helper()
	tick, deadline := time.NewTicker(5*time.Millisecond), time.After(within)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(otherwise)
		}
	}
}

func stateOf(t *testing.T, s *Store, f store.Fence, seq int64) assay.ItemState {
	t.Helper()
	list, _, err := s.Items().List(t.Context(), f.Run, store.ItemQuery{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return list[seq-1].State
}

const (
	gradeOne      = "UPDATE items SET state = 'graded', ended_at = 1 WHERE run_id = $1 AND seq = 1 AND state = 'pending'"
	onlyIfCurrent = " AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND epoch = $2 AND state = 'running')"
)

// Why the fence locks: a conditional UPDATE looks at the run when it starts, and nothing keeps the run
// from being taken up before it commits.
func TestConditionalUpdateLetsALateBatchCommit(t *testing.T) {
	s := open(t, pgtest.Database(t))
	f := planned(t, s, 3)
	old := client(t, s)
	mustExec(t, old, "BEGIN")
	if n := mustExec(t, old, gradeOne+onlyIfCurrent, int64(f.Run), f.Epoch); n != 1 {
		t.Fatalf("changed %d items", n)
	}
	run, err := s.Runs().TakeUp(t.Context(), f.Run, f.Epoch, true, t0)
	if err != nil || run.Epoch != f.Epoch+1 {
		t.Fatal(run.Epoch, err)
	}
	if got := stateOf(t, s, f, 1); got != assay.ItemPending {
		t.Fatalf("the new driver finds item 1 %s", got)
	}
	mustExec(t, old, "COMMIT")
	if got := stateOf(t, s, f, 1); got != assay.ItemGraded {
		t.Fatalf("item 1 is %s: PostgreSQL has learned to see this, and the fence may be simpler", got)
	}
}

func TestFenceMakesTheTakeoverWaitForTheBatch(t *testing.T) {
	s := open(t, pgtest.Database(t))
	f := planned(t, s, 3)
	old := client(t, s)
	mustExec(t, old, "BEGIN")
	if n := mustExec(t, old, fenceSQL+string(toRead), int64(f.Run), f.Epoch, states(f)); n != 1 {
		t.Fatal("the fence does not hold")
	}
	mustExec(t, old, gradeOne, int64(f.Run))
	taken := make(chan error, 1)
	go func() {
		_, err := s.Runs().TakeUp(context.Background(), f.Run, f.Epoch, true, t0)
		taken <- err
	}()
	waitForWaiter(t, s)
	select {
	case err := <-taken:
		t.Fatalf("the takeover did not wait: %v", err)
	default:
	}
	mustExec(t, old, "COMMIT")
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, s, f, 1); got != assay.ItemGraded {
		t.Fatalf("item 1 is %s", got)
	}
}

func TestLateBatchWritesNothing(t *testing.T) {
	s := open(t, pgtest.Database(t))
	f := planned(t, s, 3)
	if _, err := s.Items().Commit(t.Context(), f, store.Batch{Open: []assay.Attempt{attempt(f, 1), attempt(f, 2)}, Now: t0}); err != nil {
		t.Fatal(err)
	}
	// The takeover has locked the row and has not committed when the batch comes.
	successor := client(t, s)
	mustExec(t, successor, "BEGIN")
	mustExec(t, successor, "SELECT id FROM runs WHERE id = $1 FOR UPDATE", int64(f.Run))
	mustExec(t, successor, "UPDATE runs SET epoch = epoch + 1 WHERE id = $1", int64(f.Run))
	batch := store.Batch{Done: []store.Outcome{graded(f, 1)}, Open: []assay.Attempt{attempt(f, 3)}, Now: t0}
	late := make(chan error, 1)
	go func() {
		_, err := s.Items().Commit(context.Background(), f, batch)
		late <- err
	}()
	waitForWaiter(t, s)
	mustExec(t, successor, "COMMIT")
	if err := <-late; !errors.Is(err, assay.ErrLost) {
		t.Fatalf("the late batch got %v", err)
	}
	for name, call := range map[string]func() error{
		"Commit":    func() error { _, err := s.Items().Commit(t.Context(), f, batch); return err },
		"EndRest":   func() error { _, err := s.Items().EndRest(t.Context(), f, assay.ItemCancelled, 10, t0); return err },
		"Beat":      func() error { _, err := s.Runs().Beat(t.Context(), f, t0); return err },
		"Control":   func() error { _, err := s.Runs().Control(t.Context(), f); return err },
		"Reset":     func() error { return s.Plans().Reset(t.Context(), f) },
		"PutStrata": func() error { return s.Plans().PutStrata(t.Context(), f, nil, 0, assay.Excluded{}) },
		"PutItems":  func() error { return s.Plans().PutItems(t.Context(), f, nil, t0) },
		"Finish":    func() error { return s.Plans().Finish(t.Context(), f, 3, t0) },
		"Change": func() error {
			_, err := s.Runs().Change(t.Context(), f.Run, store.Change{From: []assay.RunState{assay.RunRunning}, Epoch: &f.Epoch, To: assay.RunCompleted, Now: t0})
			return err
		},
		"TakeUp": func() error { _, err := s.Runs().TakeUp(t.Context(), f.Run, f.Epoch, true, t0); return err },
	} {
		if err := call(); !errors.Is(err, assay.ErrLost) {
			t.Errorf("%s at the old epoch: %v", name, err)
		}
	}
	if got := stateOf(t, s, f, 1); got != assay.ItemPending {
		t.Errorf("item 1 is %s", got)
	}
	if list, err := s.Items().Attempts(t.Context(), f.Run, 3); err != nil || len(list) != 0 {
		t.Error("an attempt was opened late", list, err)
	}
	if err := s.Items().Late(t.Context(), []assay.Attempt{batch.Done[0].Attempt}); err != nil {
		t.Fatal(err)
	}
	list, err := s.Items().Attempts(t.Context(), f.Run, 1)
	if err != nil || len(list) != 1 || !list[0].Late || list[0].Status != assay.AttemptDone || list[0].EndedAt == nil {
		t.Errorf("the paid attempt was not kept: %+v %v", list, err)
	}
	if got := stateOf(t, s, f, 1); got != assay.ItemPending {
		t.Errorf("a late attempt made item 1 %s", got)
	}
}

// The takeover has locked the row and has not committed when the facts and the cases come.
func TestLateFactsAndCasesWriteNothing(t *testing.T) {
	for name, call := range map[string]func(*Store, store.Fence) error{
		"Put": func(s *Store, f store.Fence) error {
			_, err := s.Harnesses().Put(context.Background(), f, assay.Harness{PID: 9}, true, t0)
			return err
		},
		"PutCases": func(s *Store, f store.Fence) error {
			return s.Harnesses().PutCases(context.Background(), f, []assay.Case{{Seq: 9, Key: "late", State: assay.ItemGraded}}, t0)
		},
		"ResetCases": func(s *Store, f store.Fence) error { return s.Harnesses().ResetCases(context.Background(), f) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, pgtest.Database(t))
			if _, err := s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), t0); err != nil {
				t.Fatal(err)
			}
			f := suiteRun(t, s)
			successor := client(t, s)
			mustExec(t, successor, "BEGIN")
			mustExec(t, successor, "SELECT id FROM runs WHERE id = $1 FOR UPDATE", int64(f.Run))
			mustExec(t, successor, "UPDATE runs SET epoch = epoch + 1 WHERE id = $1", int64(f.Run))
			late := make(chan error, 1)
			go func() { late <- call(s, f) }()
			waitForWaiter(t, s)
			mustExec(t, successor, "COMMIT")
			if err := <-late; !errors.Is(err, assay.ErrLost) {
				t.Errorf("the late driver got %v", err)
			}
			facts, err := s.Harnesses().Facts(t.Context(), f.Run)
			if err != nil || facts.PID != 0 {
				t.Errorf("facts %+v, error %v", facts, err)
			}
			cases, _, err := s.Harnesses().Cases(t.Context(), f.Run, store.CaseQuery{}, store.Page{})
			if err != nil || len(cases) != 2 {
				t.Errorf("cases %+v, error %v", cases, err)
			}
		})
	}
}

// Commit and Beat of one driver at once must not deadlock over the row that both lock and write.
func TestFencedWritesOfOneRunTakeTurns(t *testing.T) {
	s := open(t, pgtest.Database(t))
	const n = 200
	f := planned(t, s, n)
	errs := make(chan error, 3)
	go func() {
		for seq := int64(1); seq <= n; seq++ {
			if _, err := s.Items().Commit(context.Background(), f, store.Batch{Open: []assay.Attempt{attempt(f, seq)}, Now: t0}); err != nil {
				errs <- err
				return
			}
		}
		errs <- nil
	}()
	go func() {
		for range n {
			if _, err := s.Runs().Beat(context.Background(), f, t0); err != nil {
				errs <- err
				return
			}
		}
		errs <- nil
	}()
	go func() {
		for range n {
			if _, err := s.Runs().SetConcurrency(context.Background(), f.Run, 7); err != nil {
				errs <- err
				return
			}
		}
		errs <- nil
	}()
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	var deadlocks int64
	if err := s.pool.QueryRow(t.Context(), "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks); err != nil || deadlocks != 0 {
		t.Errorf("%d deadlocks %v", deadlocks, err)
	}
}

// A process that stops inside a transaction, with the run row locked, must not hold up its successor.
func TestTakeoverDoesNotWaitForAStoppedClient(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.Database(t))
	f := planned(t, s, 1)
	stopped := client(t, s)
	mustExec(t, stopped, "BEGIN")
	mustExec(t, stopped, fenceSQL+string(toRead), int64(f.Run), f.Epoch, states(f))
	begun := time.Now()
	if _, err := s.Runs().TakeUp(t.Context(), f.Run, f.Epoch, true, t0); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begun); d > 4*time.Second {
		t.Errorf("it took %s", d)
	}
	if _, err := stopped.Exec(t.Context(), "COMMIT"); err == nil {
		t.Error("the stopped client's transaction committed")
	}
}
