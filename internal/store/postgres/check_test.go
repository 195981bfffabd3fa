package postgres

import (
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// Each fault is planted by hand in a healthy database, since no method of the contract could make it.
func TestCheckFindsPlantedFaults(t *testing.T) {
	for _, test := range []struct{ name, plant, want string }{
		{"none", "", ""},
		{"two items of a session", `INSERT INTO items (run_id, seq, content_id, session_key, version_key, judge, repeat, stratum, state)
			SELECT run_id, 99, content_id, session_key, version_key, 7, repeat, stratum, 'pending' FROM items WHERE seq = 1`, "has 2 items"},
		{"an ended run that holds a key", "UPDATE runs SET state = 'completed'", "still holds the key"},
		{"an item that is gone", "DELETE FROM items WHERE seq = 2", "where its plan has 2"},
		{"a pending item of an ended run", "DELETE FROM run_keys; UPDATE runs SET state = 'failed'", "pending items"},
		{"a state that does not exist", "UPDATE items SET state = 'done', ended_at = 1 WHERE seq = 2", "does not exist: done"},
		{"a graded item without a verdict", "DELETE FROM verdicts", "without a stored verdict"},
		{"a verdict of an item that is not graded", "UPDATE items SET state = 'errored' WHERE seq = 1", "has a verdict of its own"},
		{"a graded item whose session has no answer", "UPDATE verdicts SET unit = 't1'", "without a stored verdict"},
		{"a pending item with its session's answer", "INSERT INTO verdicts SELECT run_id, 2, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason, evidence FROM verdicts", "item 2 of run r1 is pending and has a verdict of its own"},
		{"a cut pending item", "UPDATE items SET cut = true WHERE seq = 2", "item 2 of run r1 is pending and is marked as cut"},
		{"a reused verdict that forgot that it was cut", "UPDATE items SET state = 'graded', ended_at = 1, origin_run = 1, origin_seq = 1, cut = true WHERE seq = 2", "says otherwise whether its transcript was cut"},
		{"a cost without a call", "UPDATE attempts SET cost = 7, call_at = NULL", "cannot be: 7"},
		{"a reservation below nothing", "UPDATE attempts SET reserved = -7", "cannot be: -7"},
		{"an end without its time", "UPDATE items SET ended_at = NULL WHERE seq = 1", "without an end"},
		{"a session without content", "UPDATE sessions SET content_id = 77", "no present content"},
		{"a suite run without its facts", "DELETE FROM suite_facts", "run r2 is suite and has no facts"},
		{"a suite run without what was asked", "DELETE FROM suite_facts; DELETE FROM suite_runs", "run r2 is suite and has no facts"},
		{"a case that is gone", "DELETE FROM cases WHERE seq = 1", "item 1 of run r2 is of no session and is no case"},
		{"the item of a case that is gone", "DELETE FROM items WHERE run_id = 2 AND seq = 2", "case 2 of run r2 has no item"},
		{"cases that were not counted", "UPDATE runs SET planned = 1 WHERE id = 2", "run r2 is suite and has 2 items where its results have another number"},
		{"a verdict of a case that is broken", "INSERT INTO verdicts SELECT run_id, 2, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason, evidence FROM verdicts WHERE run_id = 2", "item 2 of run r2 is errored and has a verdict"},
		{"a deletion that was cut", "UPDATE projects SET deleting = true", "was cut"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, pgtest.Database(t))
			f := planned(t, s, 2)
			for _, b := range []store.Batch{{Open: []assay.Attempt{attempt(f, 1)}, Now: t0}, {Done: []store.Outcome{graded(f, 1)}, Now: t0}} {
				if _, err := s.Items().Commit(t.Context(), f, b); err != nil {
					t.Fatal(err)
				}
			}
			suiteRun(t, s)
			if test.plant != "" {
				mustExec(t, client(t, s), test.plant)
			}
			findings, err := s.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Join(findings, "\n")
			if (found == "") != (test.want == "") || !strings.Contains(found, test.want) {
				t.Errorf("found %q, want %q", found, test.want)
			}
		})
	}
}

// suiteRun makes a run of a suite with two cases, of which one is broken.
func suiteRun(t *testing.T, s *Store) store.Fence {
	t.Helper()
	run, _, err := s.Runs().Create(t.Context(), store.NewRun{Project: 1, Kind: assay.RunSuite, Concurrency: 1, AsOf: t0, Now: t0, Suite: &assay.SuiteSpec{Name: "s", Version: "v"}})
	if err == nil {
		_, err = s.Runs().TakeUp(t.Context(), run.ID, 0, false, t0)
	}
	f := store.Fence{Run: run.ID, Epoch: 1}
	if err == nil {
		err = s.Harnesses().PutCases(t.Context(), f, []assay.Case{
			{Seq: 1, Key: "a", State: assay.ItemGraded, Findings: []assay.Finding{{Criterion: "c", Applies: true}}}, {Seq: 2, Key: "b", State: assay.ItemErrored}}, t0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}
