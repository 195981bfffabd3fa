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
