package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Each fault is planted by hand in a healthy store, since no method of the contract could make it.
func TestCheckFindsPlantedFaults(t *testing.T) {
	for _, test := range []struct{ name, plant, want string }{
		{"none", "", ""},
		{"two verdicts of a session", "INSERT INTO items (run_id, seq, content_id, session_key, version_key, judge, repeat, stratum, state) SELECT run_id, 99, content_id, session_key, version_key, 7, repeat, stratum, 'pending' FROM items WHERE seq = 1", "has 2 items"},
		{"an ended run that holds a key", "UPDATE runs SET state = 'completed' WHERE id = 1; DELETE FROM items WHERE run_id = 1 AND seq = 2; UPDATE runs SET planned = 1 WHERE id = 1", "still holds the key"},
		{"an item that is gone", "DELETE FROM items WHERE seq = 2", "where its plan has 2"},
		{"a pending item of an ended run", "DELETE FROM run_keys; UPDATE runs SET state = 'completed'", "pending items"},
		{"a state that does not exist", "UPDATE items SET state = 'done', ended_at = 1 WHERE seq = 2", "does not exist: done"},
		{"a graded item without a verdict", "DELETE FROM verdicts", "without a stored verdict"},
		{"a verdict of an item that is not graded", "UPDATE items SET state = 'errored' WHERE seq = 1", "has a verdict of its own"},
		{"a graded item whose session has no answer", "UPDATE verdicts SET unit = 't1'", "without a stored verdict"},
		{"a pending item with its session's answer", "INSERT INTO verdicts SELECT run_id, 2, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason, evidence FROM verdicts", "item 2 of run r1 is pending and has a verdict of its own"},
		{"a cut pending item", "UPDATE items SET cut = 1 WHERE seq = 2", "item 2 of run r1 is pending and is marked as cut"},
		{"a reused verdict that forgot that it was cut", "UPDATE items SET state = 'graded', ended_at = 1, origin_run = 1, origin_seq = 1, cut = 1 WHERE seq = 2", "says otherwise whether its transcript was cut"},
		{"a cost without a call", "UPDATE attempts SET cost = 7, call_at = NULL", "cannot be: 7"},
		{"a reservation below nothing", "UPDATE attempts SET reserved = -7", "cannot be: -7"},
		{"an end without its time", "UPDATE items SET ended_at = NULL WHERE seq = 1", "without an end"},
		{"a session without content", "UPDATE sessions SET content_id = 77", "no present content"},
		{"a suite run without its facts", "DELETE FROM suite_facts", "run r2 is suite and has no facts"},
		{"a suite run without what was asked", "PRAGMA foreign_keys = 0; DELETE FROM suite_runs", "run r2 is suite and has no facts"},
		{"a case that is gone", "DELETE FROM cases WHERE seq = 1", "item 1 of run r2 is of no session and is no case"},
		{"the item of a case that is gone", "DELETE FROM items WHERE run_id = 2 AND seq = 2", "case 2 of run r2 has no item"},
		{"cases that were not counted", "UPDATE runs SET planned = 1 WHERE id = 2", "run r2 is suite and has 2 items where its results have another number"},
		{"a verdict of a case that is broken", "INSERT INTO verdicts SELECT run_id, 2, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason, evidence FROM verdicts WHERE run_id = 2", "item 2 of run r2 is errored and has a verdict"},
		{"a deletion that was cut", "UPDATE projects SET deleting = 1", "was cut"},
		{"a row that points nowhere", "PRAGMA foreign_keys = 0; DELETE FROM bodies; DELETE FROM runs", "names a row of runs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			s := healthy(t, dir)
			suiteRun(t, s)
			if test.plant != "" {
				db := rawDB(t, dir)
				if _, err := db.Exec(test.plant); err != nil {
					t.Fatal(err)
				}
				_ = db.Close() // what it wrote is committed
			}
			findings, err := s.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(findings, "\n")
			if test.want == "" && len(findings) > 0 || !strings.Contains(all, test.want) {
				t.Errorf("findings %q, want one with %q", all, test.want)
			}
		})
	}
}

// healthy is a store with a run of one graded and one pending item.
func healthy(t *testing.T, dir string) *Store {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	s, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.Projects().Create(ctx, "p", assay.DefaultSettings(), now)
	must(err)
	_, err = s.Sessions().Put(ctx, p.ID, 0, []store.NewSession{
		{Head: assay.Head{UserID: "u", SessionID: "1", ContentHash: "1", Day: "undated", Arm: "a"}, Body: []byte("b")},
		{Head: assay.Head{UserID: "u", SessionID: "2", ContentHash: "2", Day: "undated", Arm: "b"}, Body: []byte("b")},
	}, now)
	must(err)
	run, _, err := s.Runs().Create(ctx, store.NewRun{Project: p.ID, Kind: assay.RunGrade, Concurrency: 1, AsOf: now, Now: now, Keys: []string{"grade:j"},
		Spec: assay.GradeSpec{Judges: []assay.RunJudge{{Name: "j", Version: "v"}}, Repeats: 1}})
	must(err)
	_, err = s.Runs().TakeUp(ctx, run.ID, 0, false, now)
	must(err)
	f := store.Fence{Run: run.ID, Epoch: 1}
	must(s.Plans().PutItems(ctx, f, []assay.Item{{Seq: 1, Session: 1, Content: 1}, {Seq: 2, Session: 2, Content: 2}}, now))
	must(s.Plans().Finish(ctx, f, 2, now))
	a := assay.Attempt{Run: run.ID, Seq: 1, N: 1, Epoch: 1, OpenedAt: now}
	_, err = s.Items().Commit(ctx, f, store.Batch{Now: now, Open: []assay.Attempt{a}})
	must(err)
	_, err = s.Items().Commit(ctx, f, store.Batch{Now: now, Done: []store.Outcome{{Attempt: a, State: assay.ItemGraded, Answers: []assay.Answer{{Findings: []assay.Finding{{Criterion: "c"}}}}}}})
	must(err)
	return s
}

// suiteRun makes a run of a suite with two cases, of which one is broken.
func suiteRun(t *testing.T, s *Store) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	run, _, err := s.Runs().Create(ctx, store.NewRun{Project: 1, Kind: assay.RunSuite, Concurrency: 1, AsOf: now, Now: now, Suite: &assay.SuiteSpec{Name: "s", Version: "v"}})
	if err == nil {
		_, err = s.Runs().TakeUp(ctx, run.ID, 0, false, now)
	}
	if err == nil {
		err = s.Harnesses().PutCases(ctx, store.Fence{Run: run.ID, Epoch: 1}, []assay.Case{
			{Seq: 1, Key: "a", State: assay.ItemGraded, Findings: []assay.Finding{{Criterion: "c", Applies: true}}}, {Seq: 2, Key: "b", State: assay.ItemErrored}}, now)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	dir := t.TempDir()
	s := healthy(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := rawDB(t, dir)
	var root, size int64
	if err := db.QueryRow("SELECT rootpage, (SELECT page_size FROM pragma_page_size()) FROM sqlite_schema WHERE name = 'labels_project'").Scan(&root, &size); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("x", int(size))), (root-1)*size); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	s, err = Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if findings, err := s.Check(t.Context()); err == nil && len(findings) == 0 {
		t.Error("a page that was overwritten is not found")
	} else {
		t.Log(findings, err)
	}
}
