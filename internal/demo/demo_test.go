package demo

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

func collect(seed string, n int) (out []assay.Session) {
	Generate(seed, n, Start(), func(s assay.Session) bool {
		out = append(out, s)
		return true
	})
	return out
}

func TestSessionsAreAFunctionOfSeedAndNumber(t *testing.T) {
	few, many := collect("assay", 200), collect("assay", 500)
	if len(many) != 500 || !reflect.DeepEqual(few, many[:200]) {
		t.Fatal("more sessions changed those that were there")
	}
	if reflect.DeepEqual(few, collect("other", 200)) {
		t.Fatal("another seed made the same sessions")
	}
	n := 0
	Generate("assay", 100, Start(), func(assay.Session) bool { n++; return n < 7 })
	if n != 7 {
		t.Fatalf("went on to %d after it was told to stop at 7", n)
	}
}

func TestEverySessionSaysThatItIsSynthetic(t *testing.T) {
	names := map[string]bool{}
	bytes := 0
	for _, s := range collect("assay", 2000) {
		first := s.Turns[0].Messages[0]
		if first.Role != assay.RoleSystem || !strings.HasPrefix(first.Content, "Synthetic session made by the assay demo generator.") {
			t.Fatalf("%s begins with %+v", s.SessionID, first)
		}
		if !strings.HasPrefix(s.UserID, "synthetic-user-") || names[s.SessionID] || s.Empty() {
			t.Fatalf("user %q, session %q", s.UserID, s.SessionID)
		}
		names[s.SessionID] = true
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(raw)
		for _, turn := range s.Turns {
			for _, m := range turn.Messages {
				if m.Role == assay.RoleTool && !json.Valid([]byte(m.Content)) {
					t.Fatalf("tool result is no JSON: %s", m.Content)
				}
			}
		}
	}
	if mean := bytes / 2000; mean < 2000 || mean > 8000 {
		t.Errorf("sessions have %d bytes on average; a few thousand are wanted", mean)
	}
}

// share is how many of the sessions ended with a confirmation, counted as the demo's judge does.
func share(sessions []assay.Session, in func(day int, arm string) bool) (n int, share float64) {
	good := 0
	for _, s := range sessions {
		day := int(s.Turns[0].StartedAt.Sub(Start()) / (24 * time.Hour))
		if !in(day, assay.ArmOf(s.Turns[0].Metadata, "arm", assay.ArmString)) {
			continue
		}
		n++
		for _, turn := range s.Turns {
			for _, m := range turn.Messages {
				if m.Role == assay.RoleTool && strings.Contains(m.Content, `"status":"confirmed"`) {
					good++
				}
			}
		}
	}
	return n, float64(good) / float64(n)
}

func TestTheStoryCanBeSeen(t *testing.T) {
	sessions := collect("assay", 20_000)
	versions := map[string]int{}
	for _, s := range sessions {
		for i, turn := range s.Turns {
			day := turn.StartedAt.Sub(Start()) / (24 * time.Hour)
			if day < 0 || day >= Days || turn.EndedAt.Before(*turn.StartedAt) || assay.DayOf(turn.EndedAt, time.UTC) != assay.DayOf(s.Turns[0].StartedAt, time.UTC) {
				t.Fatalf("%s: turn %d from %s to %s", s.SessionID, i, turn.StartedAt, turn.EndedAt)
			}
		}
		versions[s.Turns[len(s.Turns)-1].AgentVersion]++
	}
	if len(versions) < 2 {
		t.Errorf("agent versions: %v", versions)
	}
	_, treatment := share(sessions, func(_ int, arm string) bool { return arm == assay.Treatment })
	_, control := share(sessions, func(_ int, arm string) bool { return arm == assay.Control })
	if lift := treatment - control; lift < 0.11 || lift > 0.20 {
		t.Errorf("lift %.3f (treatment %.3f, control %.3f)", lift, treatment, control)
	}
	_, bad := share(sessions, func(day int, _ string) bool { return day == badDay })
	plain, usual := share(sessions, func(day int, _ string) bool { return day == 3 })
	if usual-bad < 0.25 {
		t.Errorf("the bad day has %.3f, a usual one %.3f", bad, usual)
	}
	busy, _ := share(sessions, func(day int, _ string) bool { return day == busyDay })
	weekend, _ := share(sessions, func(day int, _ string) bool { return day == 5 })
	untagged, _ := share(sessions, func(_ int, arm string) bool { return arm == assay.Untagged })
	if busy < 8*plain || weekend*2 > plain || untagged < 200 || untagged > 600 {
		t.Errorf("sessions: usual day %d, busy day %d, weekend day %d, untagged %d", plain, busy, weekend, untagged)
	}
}

func BenchmarkGenerate(b *testing.B) {
	n := 0
	Generate("assay", b.N, Start(), func(s assay.Session) bool { n += len(s.Turns); return true })
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
}
