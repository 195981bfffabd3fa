package storetest_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/sqlite"
	"assay/internal/store/storetest"
)

// A store that never fails is held to the whole contract: the wrapper changes nothing by itself.
func TestFaultyWithoutFaults(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := sqlite.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return &storetest.Faulty{Store: s}
	})
}

func TestFaults(t *testing.T) {
	s, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := &storetest.Faulty{Store: s}
	ctx, now := t.Context(), time.Now()
	p, err := f.Projects().Create(ctx, "p", assay.DefaultSettings(), now)
	if err != nil {
		t.Fatal(err)
	}
	n := store.NewRun{Project: p.ID, Kind: assay.RunGrade, Concurrency: 1, AsOf: now, Now: now, Spec: assay.GradeSpec{Judges: []assay.RunJudge{{Name: "j", Version: "v"}}, Repeats: 1}}
	stored := func() int {
		list, _, err := s.Runs().List(ctx, store.RunQuery{}, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}

	sentinel := errors.New("on purpose")
	f.Before = storetest.Nth(2, "Runs.Create", sentinel)
	for i, want := range []error{nil, sentinel, nil} {
		if _, _, err := f.Runs().Create(ctx, n); err != want {
			t.Errorf("call %d: error %v, want %v", i+1, err, want)
		}
	}
	if got := stored(); got != 2 {
		t.Errorf("%d runs, want 2: the failed call was not made", got)
	}

	f.Before, f.After = nil, storetest.Nth(1, "", sentinel)
	if _, _, err := f.Runs().Create(ctx, n); err != sentinel {
		t.Errorf("error %v, want %v", err, sentinel)
	}
	if got := stored(); got != 3 {
		t.Errorf("%d runs, want 3: only the answer was lost", got)
	}

	var down atomic.Bool
	f.Before, f.After = storetest.During(&down, storetest.Unavailable()), nil
	down.Store(true)
	if _, err := f.Runs().Get(ctx, 1); assay.CodeOf(err) != assay.CodeUnavailable {
		t.Errorf("error %v while the store is away", err)
	}
	down.Store(false)
	if _, err := f.Runs().Get(ctx, 1); err != nil {
		t.Errorf("error %v when the store is back", err)
	}
}
