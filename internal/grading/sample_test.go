package grading

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// sampleOf lists the sessions that a run graded, in dispatch order.
func (w *world) sampleOf(id assay.RunID) (names []string) {
	w.t.Helper()
	for cursor := ""; ; {
		items, next, err := w.store.Items().List(w.t.Context(), id, store.ItemQuery{}, store.Page{Cursor: cursor, Limit: 100})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, it := range items {
			names = append(names, assay.SessionName(it.UserID, it.SessionID))
		}
		if cursor = next; cursor == "" {
			return names
		}
	}
}

// The same frame, n and seed give the same sample in the same order on both databases and for any
// order of arrival; raising n keeps the old sample.
func TestSameSampleEverywhere(t *testing.T) {
	const sessions = 120
	var first []string
	seed := "autumn"
	inTurn(t, func(t *testing.T, open func() store.Store) {
		w := newWorld(t, open(), 0)
		order := rand.Perm(sessions)
		for _, i := range order {
			w.put(i, i+1, "x")
		}
		w.drive()
		few := w.until(w.grade(engine.GradeRequest{Seed: &seed, PerStratum: ptr(3)}).ID, assay.RunCompleted)
		got := w.sampleOf(few.ID)
		if len(got) != 36 {
			t.Fatalf("%d sampled, want 3 in each of 12 strata", len(got))
		}
		if first == nil {
			first = got
		} else if !slices.Equal(first, got) {
			t.Errorf("another database or order gives another sample:\n%v\n%v", first, got)
		}
		more := w.until(w.grade(engine.GradeRequest{Seed: &seed, PerStratum: ptr(5)}).ID, assay.RunCompleted)
		wider := w.sampleOf(more.ID)
		for _, name := range got {
			if !slices.Contains(wider, name) {
				t.Errorf("raising n lost %s", name)
			}
		}
		if c := w.counts(more.ID); c.Total != 60 || c.Reused != 36 {
			t.Errorf("%+v, want 60 items of which 36 are reused", c)
		}
		other := "winter"
		if third := w.until(w.grade(engine.GradeRequest{Seed: &other, PerStratum: ptr(3)}).ID, assay.RunCompleted); slices.Equal(w.sampleOf(third.ID), got) {
			t.Error("another seed gives the same sample")
		}
	})
}

// Strata of single days add up to the strata of the window, and a preview is what the run does.
func TestDaysAddUpToTheWindow(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 100)
		from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		whole, err := w.engine.Preview(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}, From: &from, To: ptr(from.AddDate(0, 0, 4))})
		if err != nil {
			t.Fatal(err)
		}
		var eligible, sampled int64
		var strata []assay.Stratum
		for day := range 4 {
			p, err := w.engine.Preview(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}, From: ptr(from.AddDate(0, 0, day)), To: ptr(from.AddDate(0, 0, day+1))})
			if err != nil {
				t.Fatal(err)
			}
			eligible, sampled = eligible+p.Eligible, sampled+p.Sampled
			for _, h := range p.Strata {
				strata = append(strata, h.Stratum)
			}
		}
		var all []assay.Stratum
		for _, h := range whole.Strata {
			all = append(all, h.Stratum)
		}
		if eligible != whole.Eligible || sampled != whole.Sampled || whole.Eligible != 100 || !slices.Equal(all, strata) {
			t.Errorf("days: %d eligible, %d sampled, %v; window: %d, %d, %v", eligible, sampled, strata, whole.Eligible, whole.Sampled, all)
		}
		if _, next, err := s.Runs().List(t.Context(), store.RunQuery{}, store.Page{Limit: 1}); err != nil || next != "" {
			t.Errorf("a preview wrote a run (%v)", err)
		}
	})
}

// What is too young, empty or undated is left out and counted.
func TestExcludedSessionsAreCounted(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 10)
		now := utcNow()
		settings := w.project.Settings
		settings.Settle = time.Hour
		var err error
		if w.project, err = s.Projects().Update(t.Context(), w.project.ID, settings, false); err != nil {
			t.Fatal(err)
		}
		body, hash := store.CompressBody([]byte("{}"))
		add := func(id string, h assay.Head) {
			t.Helper()
			h.UserID, h.SessionID, h.ContentHash, h.Arm = "x", id, hash, "a"
			if _, err := s.Sessions().Put(t.Context(), w.project.ID, 0, []store.NewSession{{Head: h, Body: body}}, utcNow()); err != nil {
				t.Fatal(err)
			}
		}
		young := now.Add(-time.Minute)
		add("young", assay.Head{Day: "2026-03-02", StartedAt: ptr(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)), SettleFrom: &young})
		add("empty", assay.Head{Day: "2026-03-02", StartedAt: ptr(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)), Empty: true})
		add("undated", assay.Head{Day: assay.Undated})
		from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		q := engine.GradeRequest{Judges: []string{"j"}, From: &from}
		p, err := w.engine.Preview(t.Context(), w.project, q)
		if err != nil || p.Eligible != 10 || p.Excluded != (assay.Excluded{Unsettled: 1, Undated: 1, Empty: 1}) {
			t.Errorf("window: %d eligible, %+v (%v)", p.Eligible, p.Excluded, err)
		}
		q.Undated = true
		if p, err = w.engine.Preview(t.Context(), w.project, q); err != nil || p.Eligible != 11 || p.Excluded.Undated != 0 {
			t.Errorf("window and undated: %d eligible, %+v (%v)", p.Eligible, p.Excluded, err)
		}
		if p, err = w.engine.Preview(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}}); err != nil || p.Eligible != 11 {
			t.Errorf("no window: %d eligible (%v)", p.Eligible, err)
		}
	})
}
