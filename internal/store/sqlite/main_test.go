package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// roleEnv makes the test binary play another process: ROLE, with the data folder as its argument.
const roleEnv = "SQLITE_TEST_ROLE"

func TestMain(m *testing.M) {
	role, ok := map[string]func(string) error{"open": roleOpen, "own": roleOwn, "commit": roleCommit}[os.Getenv(roleEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(os.Args[1]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// roleOpen opens the folder and writes to it.
func roleOpen(dir string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range 20 {
		if _, err := s.Projects().Create(ctx, fmt.Sprintf("p%d-%d", os.Getpid(), i), assay.DefaultSettings(), time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// roleOwn owns the folder until it is killed.
func roleOwn(dir string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir)
	if err != nil {
		return err
	}
	o, err := s.Owner().TryOwn(ctx)
	if err != nil || o == nil {
		return fmt.Errorf("owner %v: %w", o, err)
	}
	fmt.Println("owned")
	select {}
}

// roleCommit grades items one by one and says so after each.
func roleCommit(dir string) error {
	ctx, now := context.Background(), time.Now()
	s, err := sqlite.Open(ctx, dir)
	if err != nil {
		return err
	}
	f := store.Fence{Run: 1, Epoch: 1}
	for seq := int64(1); ; seq++ {
		a := assay.Attempt{Run: 1, Seq: seq, N: 1, Epoch: 1, Status: assay.AttemptOpen, OpenedAt: now}
		if _, err := s.Items().Commit(ctx, f, store.Batch{Open: []assay.Attempt{a}, Now: now}); err != nil {
			return err
		}
		fmt.Println("opened", seq)
		a.Status = assay.AttemptDone
		done := store.Outcome{Attempt: a, State: assay.ItemGraded, Answers: []assay.Answer{{Findings: []assay.Finding{{Criterion: "c", Applies: true}}}}}
		if _, err := s.Items().Commit(ctx, f, store.Batch{Done: []store.Outcome{done}, Now: now}); err != nil {
			return err
		}
		fmt.Println("graded", seq)
	}
}
