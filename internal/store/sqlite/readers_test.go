package sqlite

import (
	"context"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// What panics inside a callback leaves connections that work, and scans that read inside do not wait
// for each other.
func TestReadersAfterPanicsAndNestedReads(t *testing.T) {
	s := healthy(t, t.TempDir())
	ctx := t.Context()
	for range 2 * maxReaders {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = s.Sessions().Scan(ctx, 1, store.SessionQuery{}, func(*store.FrameRow) error { panic("on purpose") })
		}()
	}
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	var group sync.WaitGroup
	for range maxReaders / 2 {
		group.Go(func() {
			if err := s.Sessions().Scan(ctx, 1, store.SessionQuery{}, func(r *store.FrameRow) error {
				_, err := s.Sessions().Get(ctx, 1, r.UserID, r.SessionID)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if _, err := s.Items().Counts(ctx, assay.RunID(1), time.Now()); err != nil {
		t.Error(err)
	}
	if n := len(s.read.idle); n > idleReaders {
		t.Errorf("%d idle connections", n)
	}
}
