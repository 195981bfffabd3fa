package grading

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// arrived is what a test knows of a session: when its present content arrived and when that is settled.
type arrived struct{ at, settles time.Time }

// Runs that follow each other, each since the AsOf of the one before, share the sessions out: whatever a
// session's dates are, and however late it arrives or changes, its last content is in exactly one of them.
func TestRunsSinceEachOtherPartitionTheSessions(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 0)
		for seed := range uint64(12) {
			partition(t, w, seed)
		}
	})
}

func partition(t *testing.T, w *world, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 65))
	settings := assay.DefaultSettings()
	p, err := w.store.Projects().Create(t.Context(), fmt.Sprintf("since%d", seed), settings, utcNow())
	if err != nil {
		t.Fatal(err)
	}
	filter := []string{"", "turns >= 1"}[seed%2] // the two ways in which a frame is read
	known := map[string]arrived{}
	graded := map[assay.ContentKey]int{}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var since time.Time // the first run is since ever
	for tick := range 8 {
		for range rng.IntN(6) {
			now = now.Add(time.Duration(rng.IntN(400)) * time.Second)
			w.arrive(p, known, rng, now)
		}
		asOf := now.Add(time.Duration(rng.IntN(2)) * time.Microsecond) // what arrived at AsOf itself is in
		if tick == 7 {
			asOf = now.Add(time.Hour)
		}
		want := map[string]bool{}
		for name, a := range known {
			from := a.at
			if a.settles.After(from) {
				from = a.settles
			}
			want[name] = from.After(since) && !from.After(asOf)
		}
		for range rng.IntN(3) { // between acceptance and planning: late for this run, in a later one
			if tick < 7 {
				now = now.Add(time.Duration(1+rng.IntN(300)) * time.Second)
				for _, name := range w.arrive(p, known, rng, now) {
					want[name] = false
				}
			}
		}
		spec := assay.GradeSpec{Frame: assay.Frame{Since: &since, Filter: filter}, PerStratum: 1 << 20, Seed: "x", Settings: settings}
		d, err := w.grader.draw(t.Context(), p.ID, spec, asOf, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, pick := range d.picks {
			graded[pick.content]++
			got[w.nameOf(p, pick.session)] = true
		}
		for name := range known {
			if got[name] != want[name] {
				t.Errorf("seed %d, tick %d: %s in the run: %t, want %t", seed, tick, name, got[name], want[name])
			}
		}
		since = asOf
		if now.Before(asOf) {
			now = asOf
		}
		now = now.Add(time.Microsecond)
	}
	err = w.store.Sessions().Scan(t.Context(), p.ID, store.SessionQuery{}, func(row *store.FrameRow) error {
		if graded[row.Content] != 1 {
			t.Errorf("seed %d: the present content of %s is in %d runs, want 1", seed, row.SessionID, graded[row.Content])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// arrive stores one session, new or changed, that ended long ago, just now, or without a time.
func (w *world) arrive(p assay.Project, known map[string]arrived, rng *rand.Rand, now time.Time) []string {
	w.t.Helper()
	id := fmt.Sprintf("s%02d", rng.IntN(12))
	body, hash, size, err := store.EncodeBody(&assay.Session{UserID: "u", SessionID: id, Turns: []assay.Turn{{
		Messages: []assay.Message{{Role: assay.RoleUser, Content: fmt.Sprint(now.UnixMicro())}}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	head := assay.Head{UserID: "u", SessionID: id, ContentHash: hash, BodyBytes: size, Turns: 1, Day: assay.Undated, Arm: "a"}
	a := arrived{at: now}
	if ago := []time.Duration{0, time.Minute, p.Settings.Settle, 40 * 24 * time.Hour, -1}[rng.IntN(5)]; ago >= 0 {
		last := now.Add(-ago)
		head.StartedAt, head.SettleFrom, head.Day = &last, &last, last.Format(time.DateOnly)
		a.settles = last.Add(p.Settings.Settle)
	}
	if _, err := w.store.Sessions().Put(w.t.Context(), p.ID, 0, []store.NewSession{{Head: head, Body: body}}, now); err != nil {
		w.t.Fatal(err)
	}
	known[id] = a
	return []string{id}
}

func (w *world) nameOf(p assay.Project, key assay.SessionKey) (name string) {
	w.t.Helper()
	err := w.store.Sessions().Scan(w.t.Context(), p.ID, store.SessionQuery{}, func(row *store.FrameRow) error {
		if row.Key == key {
			name = row.SessionID
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return name
}

// stalled is a store whose import takes its time between the stamp of an arrival and its commit.
type stalled struct {
	store.Store
	planning chan struct{} // closed when the run has begun to plan
}

func (s stalled) Plans() store.Plans { return stalledPlans{s.Store.Plans(), s.planning} }

type stalledPlans struct {
	store.Plans
	planning chan struct{}
}

func (p stalledPlans) Reset(ctx context.Context, f store.Fence) error {
	select {
	case <-p.planning:
	default:
		close(p.planning)
	}
	return p.Plans.Reset(ctx, f)
}

// What had arrived when a run was accepted but was still being written when it was planned would be in
// no run at all: the next one leaves out what arrived before.
func TestASessionThatIsBeingWrittenWhenARunIsAcceptedIsInIt(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 3)
		slow := stalled{s, make(chan struct{})}
		w.grader.o.Store = slow
		stamped := utcNow()
		since := stamped.Add(-time.Hour)
		id := w.grade(engine.GradeRequest{Since: &since}).ID
		w.drive()
		<-slow.planning
		ended := stamped.Add(-48 * time.Hour)
		body, hash, size, err := store.EncodeBody(&assay.Session{UserID: "u", SessionID: "slow", Turns: []assay.Turn{{Messages: []assay.Message{{Role: assay.RoleUser, Content: "x"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		head := assay.Head{UserID: "u", SessionID: "slow", ContentHash: hash, BodyBytes: size, Turns: 1, StartedAt: &ended, SettleFrom: &ended, Day: ended.Format(time.DateOnly), Arm: "a"}
		if _, err := s.Sessions().Put(t.Context(), w.project.ID, 0, []store.NewSession{{Head: head, Body: body}}, stamped); err != nil {
			t.Fatal(err)
		}
		first := w.until(id, assay.RunCompleted)
		if c := w.counts(id); c.Graded != 4 {
			t.Errorf("%+v, want the one that was being written too", c)
		}
		next := w.until(w.grade(engine.GradeRequest{Since: &first.AsOf}).ID, assay.RunCompleted)
		if next.Reason != assay.ReasonNothing {
			t.Errorf("the next run: %s, %s", next.Reason, next.Sentence)
		}
	})
}

func TestASinceThatIsStillToComeIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 1)
		soon, past := utcNow().Add(time.Hour), utcNow().Add(-time.Hour)
		_, _, err := w.engine.Grade(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}, Since: &soon}, nil)
		if assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("a moment to come: %v", err)
		}
		_, _, err = w.engine.Grade(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}, Since: &past, Session: "u0/s00000"}, nil)
		if assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("with one session: %v", err)
		}
	})
}
