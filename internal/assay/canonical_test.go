package assay

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestCanonicalForm(t *testing.T) {
	at := time.Date(2025, 3, 1, 12, 0, 0, 123456789, time.FixedZone("x", 3600))
	tests := []struct {
		name string
		s    Session
		want string
	}{
		{"nothing", Session{}, `{"user_id":"","session_id":"","turns":[]}`},
		{"empty turn", Session{UserID: "u", SessionID: "s", Turns: []Turn{{}, {Messages: []Message{{}}}}},
			`{"user_id":"u","session_id":"s","turns":[{"messages":[]},{"messages":[{"role":""}]}]}`},
		{"times, metadata in byte order and compact", Session{UserID: "u", SessionID: "s", SourceURL: "https://x/?a&b", Turns: []Turn{{
			StartedAt: &at, EndedAt: &at, AgentVersion: "v1", Source: "live",
			Metadata: map[string]json.RawMessage{"b": json.RawMessage(`{ "z" : 1.0, "a": [ 1 ] }`), "a": json.RawMessage(`true`), "é": json.RawMessage(`12345678901234567890`)},
			Messages: []Message{{Role: RoleUser, Content: "<b>&\u2028", At: &at}}}}},
			`{"user_id":"u","session_id":"s","source_url":"https://x/?a&b","turns":[{"started_at":"2025-03-01T11:00:00.123456Z","ended_at":"2025-03-01T11:00:00.123456Z","agent_version":"v1","source":"live","metadata":{"a":true,"b":{"z":1.0,"a":[1]},"é":12345678901234567890},"messages":[{"role":"user","content":"<b>&` + "\u2028" + `","at":"2025-03-01T11:00:00.123456Z"}]}]}`},
		{"every field of a message", Session{UserID: "u", SessionID: "s", Turns: []Turn{{Messages: []Message{{
			Role: RoleAssistant, Name: "n", Content: "c", Reasoning: "r", ToolCallID: "t",
			ToolCalls: []ToolCall{{Name: "f"}, {ID: "1", Name: "g", Arguments: `{"a":1}`}},
			Parts:     []Part{{Kind: "image"}, {Kind: "audio", MediaType: "audio/wav", Data: "AA=="}}}}}}},
			`{"user_id":"u","session_id":"s","turns":[{"messages":[{"role":"assistant","name":"n","content":"c","reasoning":"r","tool_calls":[{"name":"f"},{"id":"1","name":"g","arguments":"{\"a\":1}"}],"tool_call_id":"t","parts":[{"kind":"image"},{"kind":"audio","media_type":"audio/wav","data":"AA=="}]}]}]}`},
		{"escapes", Session{UserID: "a\"\\\b\f\n\r\t\x00\x1f\x7f", SessionID: "\xff\xed\xa0\x80"},
			`{"user_id":"a\"\\\b\f\n\r\t\u0000\u001f` + "\x7f" + `","session_id":"����","turns":[]}`},
	}
	for _, tt := range tests {
		got, err := tt.s.AppendCanonical([]byte("x"))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if string(got) != "x"+tt.want {
			t.Errorf("%s:\n got %s\nwant x%s", tt.name, got, tt.want)
		}
		var back Session
		if err := json.Unmarshal(got[1:], &back); err != nil {
			t.Errorf("%s: what was written cannot be read: %v", tt.name, err)
		}
		again, err := back.AppendCanonical(nil)
		if err != nil || string(again) != tt.want {
			t.Errorf("%s: not stable:\n got %s\nwant %s (%v)", tt.name, again, tt.want, err)
		}
	}
}

func TestCanonicalRefusesWhatNobodyCouldRead(t *testing.T) {
	year := time.Date(12025, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, turn := range map[string]Turn{
		"metadata \"k\"": {Metadata: map[string]json.RawMessage{"k": json.RawMessage(`{`)}},
		"year 12025":     {StartedAt: &year},
	} {
		s := Session{UserID: "u", SessionID: "s", Turns: []Turn{turn}}
		_, err := s.AppendCanonical(nil)
		if CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "u/s, turn 0") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
