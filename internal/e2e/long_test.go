package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// talk writes one session of so many turns, each with a mark of its own, and of so many bytes.
func talk(id string, turns, bytes int) string {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	type turn struct {
		StartedAt string            `json:"started_at"`
		Metadata  map[string]string `json:"metadata"`
		Messages  []message         `json:"messages"`
	}
	s := struct {
		Format    string `json:"format"`
		UserID    string `json:"user_id"`
		SessionID string `json:"session_id"`
		Turns     []turn `json:"turns"`
	}{"assay.session/1", "u", id, nil}
	for i := range turns {
		s.Turns = append(s.Turns, turn{fmt.Sprintf("2026-03-01T10:%02d:00Z", i%60), map[string]string{"arm": "treatment"}, []message{
			{"user", fmt.Sprintf("request %d of %s", i, id)},
			{"assistant", fmt.Sprintf("reply %d: %s", i, strings.Repeat("so it goes on ", bytes/turns/14))},
		}})
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw) + "\n"
}

// imports writes sessions to a file and imports it.
func (w *world) imports(sessions ...string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(sessions, "")), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.ok("import", file)
}

// A transcript that does not fit is refused without a call, or, where the judge says so, shown with its
// middle left out: marked, counted beside the rate, and kept as the judge saw it.
func TestLongTranscripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	var mu sync.Mutex
	shown := map[string]string{} // transcripts by session
	w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		shown[map[bool]string{true: "long", false: "short"}[strings.Contains(r.Transcript(), "of long")]] = r.Transcript()
		return passing(r)
	})
	w.imports(talk("short", 4, 400), talk("long", 40, 80_000))
	w.ok("judge", "apply", w.judge("refusing", "context_tokens: 8000"))
	w.ok("judge", "apply", w.judge("cutting", "context_tokens: 8000", "long_transcripts: head_and_tail", "transcript_tokens: 2000"))

	w.ok("grade", "--judge", "refusing")
	if v := w.view("r1"); v.Counts.Graded != 1 || v.Counts.ByClass[assay.ClassContextTooLong] != 1 || v.Counts.Ungradable != 1 || w.model.Count() != 1 || v.Spend.Attempts != 1 || v.Spend.HeldN != 0 {
		t.Errorf("%+v %+v after %d requests", v.Counts, v.Spend, w.model.Count())
	}
	if shown["long"] != "" {
		t.Error("a transcript that does not fit left")
	}
	if out := w.ok("runs", "errors", "r1"); !strings.Contains(out, string(assay.ClassContextTooLong)) || !strings.Contains(out, "8000") {
		t.Errorf("runs errors: %s", out)
	}

	w.ok("grade", "--judge", "cutting")
	if v := w.view("r2"); v.Counts.Graded != 2 || w.model.Count() != 3 {
		t.Errorf("%+v after %d requests", v.Counts, w.model.Count())
	}
	report := w.ok("report", "r2")
	if !strings.Contains(report, "left out") || !strings.Contains(report, "50") {
		t.Errorf("the report does not say that half of the verdicts are on cut transcripts:\n%s", report)
	}
	cut := 0
	for seq := 1; seq <= 2; seq++ {
		var x api.Exchange
		if err := json.Unmarshal([]byte(w.ok("runs", "item", "r2", fmt.Sprint(seq), "--seen", "--raw", "--json")), &x); err != nil {
			t.Fatal(err)
		}
		sent := shown[x.Item.SessionID]
		seen := x.Seen[x.Attempts[0].Seen]
		sum := sha256.Sum256([]byte(seen))
		if sent == "" || !strings.Contains(seen, strings.TrimSpace(sent)) || hex.EncodeToString(sum[:]) != string(x.Attempts[0].Seen) {
			t.Errorf("%s: what is kept is not what was sent:\n%.300s\n%.300s", x.Item.SessionID, seen, sent)
		}
		var request struct{ Messages []struct{ Content string } }
		if a := x.Attempts[0]; json.Unmarshal(a.Request, &request) != nil || len(request.Messages) != 2 || !strings.Contains(request.Messages[1].Content, seen) {
			t.Errorf("%s: the request is not shown as it was: %s %.300s", x.Item.SessionID, a.NotRebuilt, a.Request)
		}
		if !x.Item.Cut {
			continue
		}
		cut++
		out := w.ok("runs", "item", "r2", fmt.Sprint(seq), "--seen")
		for _, want := range []string{"left out here", "request 0 of long", "reply 39"} {
			if !strings.Contains(out, want) {
				t.Errorf("what the judge saw does not show %q:\n%.2000s", want, out)
			}
		}
		if strings.Contains(out, "reply 20:") {
			t.Error("the middle is shown")
		}
	}
	if cut != 1 {
		t.Errorf("%d items are marked as cut", cut)
	}
}

// edit replaces the first old in a file.
func (w *world) edit(file, old, with string) {
	w.t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(raw), old) {
		w.t.Fatalf("no %q in %s (%v)", old, raw, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(raw), old, with, 1)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
