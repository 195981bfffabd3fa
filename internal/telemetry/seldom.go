package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// quiet is how long a trouble that was logged is not logged again.
const quiet = time.Minute

// seldom logs a warning and then none for a while: a collector that is away fails every few seconds.
type seldom struct {
	log   *slog.Logger
	began time.Time
	next  atomic.Int64 // since began, when the next may be logged
	kept  atomic.Int64 // warnings that were not
}

func newSeldom(log *slog.Logger) *seldom { return &seldom{log: log, began: time.Now()} }

func (s *seldom) warn(ctx context.Context, message string, args ...any) {
	now, next := time.Since(s.began), s.next.Load()
	if int64(now) < next || !s.next.CompareAndSwap(next, int64(now+quiet)) {
		s.kept.Add(1)
		return
	}
	s.log.WarnContext(ctx, message, append(args, "not_logged_before", s.kept.Swap(0))...)
}
