package session_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/session"
	"assay/internal/session/piece"
)

// shared opens a file of the public data that lies beside the project.
func shared(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("../../../shared/data", name))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("shared data must be there in CI: %v", err)
		}
		t.Skipf("shared data is not there: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// readAll reads a whole file in order.
func readAll(t testing.TB, in io.Reader, o session.Options) (records []piece.Record, format string) {
	t.Helper()
	r, format, err := session.Open(in, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		task, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, format
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, task.Read())
	}
}

func faults(records []piece.Record) (texts []string) {
	for _, r := range records {
		if r.Fault != nil {
			texts = append(texts, r.Fault.Error())
		}
	}
	return texts
}

func TestTauBench(t *testing.T) {
	records, format := readAll(t, shared(t, "tau-bench/historical_trajectories/gpt-4o-airline.trials-0-1.json"), session.Options{})
	if format != session.TauBench || len(records) != 100 {
		t.Fatalf("got %d records of format %s, want 100 of tau-bench", len(records), format)
	}
	if f := faults(records); f != nil {
		t.Fatalf("rejects: %v", f)
	}
	pass, messages, calls, repeated := 0, 0, 0, 0
	users, names := map[string]bool{}, map[string]bool{}
	for _, r := range records {
		users[r.Session.UserID] = true
		names[assay.SessionName(r.Session.UserID, r.Session.SessionID)] = true
		if len(r.Labels) != 1 || r.Labels[0].Criterion != "pass" || r.Labels[0].Rater != "tau-bench" || r.Labels[0].Probability != 1 {
			t.Errorf("labels of %s: %+v", r.Session.SessionID, r.Labels)
		} else if string(r.Labels[0].Value) == "true" {
			pass++
		}
		if c := assay.CaseOf(r.Session.Turns[0].Metadata, "case"); !strings.HasPrefix(r.Session.SessionID, "task-"+c+"-trial-") {
			t.Errorf("case %q of %s", c, r.Session.SessionID)
		}
		ids := map[string]bool{}
		twice := false
		for _, turn := range r.Session.Turns {
			if turn.StartedAt != nil {
				t.Errorf("%s has a time", r.Session.SessionID)
			}
			messages += len(turn.Messages)
			for _, m := range turn.Messages {
				for _, c := range m.ToolCalls {
					calls++
					twice = twice || ids[c.ID]
					ids[c.ID] = true
				}
			}
		}
		if twice {
			repeated++
		}
	}
	if pass != 43 || messages != 2658 || calls != 572 || len(users) != 34 || len(names) != 100 || repeated != 24 {
		t.Errorf("pass %d, messages %d, calls %d, users %d, names %d, sessions with a repeated call id %d; want 43, 2658, 572, 34, 100, 24",
			pass, messages, calls, len(users), len(names), repeated)
	}
}
