package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Silence measures how long external runs have reported nothing to this process. What counts is time in
// which a report would have come through: not the clock on the wall, which can be set; not a pause in which
// nobody looked at the rows, because the machine slept or the database was away; and not a report that
// came and could not be stored.
type Silence struct {
	mu     sync.Mutex
	looked time.Time // when the rows were last looked at
	runs   map[assay.RunID]quiet
}

// quiet is what is known of one run.
type quiet struct {
	beat     time.Time // the heartbeat of its row, as it was seen last
	since    time.Time // of this process's own clock
	speaking int       // requests about it that are under way
}

// maxGap is how far two looks may lie apart before what came between them is not known.
const maxGap = 2 * time.Second

// NewSilence has looked at nothing yet.
func NewSilence() *Silence { return &Silence{runs: map[assay.RunID]quiet{}} }

// Speaks says that a run reports, from now to the call of ended, whatever becomes of the report.
func (s *Silence) Speaks(id assay.RunID) (ended func()) {
	s.add(id, 1)
	return sync.OnceFunc(func() { s.add(id, -1) })
}

func (s *Silence) add(id assay.RunID, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.runs[id]
	q.speaking += n
	q.since = time.Now()
	if s.runs[id] = q; q.speaking == 0 && q.beat.IsZero() { // nobody looks at its row here, or not yet
		delete(s.runs, id)
	}
}

// Look takes in all runs that are active, as their rows were right before. After a gap it begins anew.
func (s *Silence) Look(runs []assay.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	// The clock of the process may stand still while a machine sleeps, the one on the wall does not.
	gap := max(now.Sub(s.looked), now.Round(0).Sub(s.looked.Round(0))) > maxGap
	s.looked = now
	kept := map[assay.RunID]quiet{}
	for id, q := range s.runs {
		if q.speaking > 0 {
			kept[id] = q
		}
	}
	for _, run := range runs {
		if run.Kind != assay.RunExternal {
			continue
		}
		q, known := s.runs[run.ID]
		if beat := heartbeat(run); !known || gap || !beat.Equal(q.beat) {
			q.beat, q.since = beat, now
		}
		kept[run.ID] = q
	}
	s.runs = kept
}

// Of is how long a run has been silent; 0 for one that was never looked at.
func (s *Silence) Of(id assay.RunID) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, known := s.runs[id]
	if !known || q.speaking > 0 {
		return 0
	}
	return time.Since(q.since)
}

// heartbeat is when a run was last heard of.
func heartbeat(run assay.Run) time.Time {
	if run.HeartbeatAt == nil {
		return run.CreatedAt
	}
	return *run.HeartbeatAt
}

// EndSilent makes an external run lost that has been silent for longer than its stale time, or cancelled
// where that was asked for. It says whether the run has ended: one that reported since run was read has not.
func EndSilent(ctx context.Context, s store.Store, run assay.Run, silent time.Duration, now func() time.Time) (bool, error) {
	stale := run.Suite.Stale.Duration()
	if silent <= stale {
		return false, nil
	}
	event, c := EventLost, store.Change{Epoch: &run.Epoch, Heartbeat: run.HeartbeatAt, Reason: assay.ReasonSilent, Now: now(),
		Sentence: fmt.Sprintf("no report since %s, for longer than %v: what became of the harness is not known", heartbeat(run).UTC().Format(time.RFC3339), stale)}
	if run.CancelRequestedAt != nil {
		event, c.Reason, c.Sentence = EventCancel, assay.ReasonAsked, "cancelled: "+c.Sentence
	}
	_, err := Move(ctx, s.Runs(), run.ID, event, c)
	if assay.CodeOf(err) == assay.CodeRefused && err != nil { // it reported, ended or was asked to end: the next look tells
		return false, nil
	}
	return err == nil, err
}
