package openai

import (
	"fmt"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

func read(raw string) piece.Record { return piece.Piece{Line: 1, Raw: []byte(raw)}.Read(Parse) }

// told is a session in a few words, for comparison.
func told(s *assay.Session) string {
	var b strings.Builder
	for i, turn := range s.Turns {
		for _, m := range turn.Messages {
			fmt.Fprintf(&b, "%d %s", i, m.Role)
			if m.Name != "" || m.ToolCallID != "" {
				fmt.Fprintf(&b, " %s/%s", m.Name, m.ToolCallID)
			}
			if m.Content != "" {
				fmt.Fprintf(&b, " %q", m.Content)
			}
			if m.Reasoning != "" {
				fmt.Fprintf(&b, " (%s)", m.Reasoning)
			}
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Name, c.Arguments)
			}
			for _, p := range m.Parts {
				fmt.Fprintf(&b, " <%s %s %s>", p.Kind, p.MediaType, p.Data)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func TestMessages(t *testing.T) {
	tests := map[string]struct{ messages, want string }{
		"turns": {`{"role":"system","content":"S"},{"role":"assistant","content":"Hi"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"user","content":"d"}`,
			"0 system \"S\"\n0 assistant \"Hi\"\n0 user \"a\"\n0 assistant \"b\"\n1 user \"c\"\n2 user \"d\"\n"},
		"tools": {`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},{"id":"1","function":{"name":"g","arguments":{"b": [2]}}}]},{"role":"tool","name":"f","tool_call_id":"1","content":""}`,
			"0 assistant 1=f({\"a\": 1}) 1=g({\"b\":[2]})\n0 tool f/1\n"},
		"old calls": {`{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"r"}`,
			"0 assistant =f({})\n0 tool f/ \"r\"\n"},
		"parts": {`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}},{"type":"image_url","image_url":"https://x/y.png"},{"type":"input_audio","input_audio":{"data":"BB","format":"wav"}},{"type":"file","file":{"file_id":"f1"}},"b",7,{"type":"new","x":[1, 2]}]}`,
			"0 user \"a\\nb\" <image image/png data:image/png;base64,AA> <image  https://x/y.png> <audio audio/wav BB> <file  f1> <unknown  7> <new  {\"type\":\"new\",\"x\":[1,2]}>\n"},
		"thinking and tool parts": {`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"A"},{"type":"tool_use","id":"1","name":"f","input":{"q": 1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"R"}]}]},{"role":"assistant","content":"x","reasoning_content":"deep"}`,
			"0 assistant \"A\" (hm) 1=f({\"q\":1})\n0 tool /1 \"R\"\n0 assistant \"x\" (deep)\n"},
		"refusal, object as content": {`{"role":"assistant","content":null,"refusal":"No."},{"role":"tool","content":{"a": 1}}`, "0 assistant \"No.\"\n0 tool \"{\\\"a\\\":1}\"\n"},
		"names of roles":             {`{"role":"developer","content":"S"},{"role":"human","content":"Q"},{"role":"gpt","content":"A"}`, "0 system \"S\"\n0 user \"Q\"\n0 assistant \"A\"\n"},
	}
	for name, tt := range tests {
		r := read(`{"id":"s","user":"u","messages":[` + tt.messages + `]}`)
		if r.Fault != nil {
			t.Errorf("%s: %v", name, r.Fault)
		} else if got := told(r.Session); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, tt.want)
		}
	}
}

func TestConversation(t *testing.T) {
	r := read(`{"user_id":7,"conversation_id":"c","id":"other","source_url":"https://x","source":"web","agent_version":"v1","created":1740830400,"metadata":{"arm": "b","n":[1]},
		"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c","timestamp":"2025-03-01T13:00:00Z"},{"role":"assistant","content":"d","created_at":1740834060000}]}`)
	if r.Fault != nil {
		t.Fatal(r.Fault)
	}
	s := r.Session
	if s.UserID != "7" || s.SessionID != "c" || s.SourceURL != "https://x" || len(s.Turns) != 2 {
		t.Errorf("%+v", s)
	}
	first, second := s.Turns[0], s.Turns[1]
	if first.StartedAt.Unix() != 1740830400 || string(first.Metadata["arm"]) != `"b"` || first.AgentVersion != "v1" || first.Source != "web" {
		t.Errorf("%+v", first)
	}
	if second.StartedAt.Unix() != 1740834000 || second.EndedAt.Unix() != 1740834060 || second.Metadata != nil || second.AgentVersion != "v1" {
		t.Errorf("%+v", second)
	}
}

func TestIDsComeFromTheLineItself(t *testing.T) {
	a, b := read(`{"messages":[{"role":"user","content":"a"}]}`), read(`{"messages":[{"role":"user","content":"b"}]}`)
	again := read("  " + `{"messages":[{"role":"user","content":"a"}]}` + "\r")
	if a.Session.UserID != "unknown" || !strings.HasPrefix(a.Session.SessionID, "sha256-") || a.Session.SessionID == b.Session.SessionID || a.Session.SessionID != again.Session.SessionID {
		t.Errorf("%s, %s, %s", a.Session.SessionID, b.Session.SessionID, again.Session.SessionID)
	}
}

func TestFaults(t *testing.T) {
	for raw, want := range map[string]string{
		`{"messages":"x"}`:                               "/messages: a string is not expected here",
		`{"messages":null}`:                              `no member "messages"`,
		`{"messages":[7]}`:                               "/messages/0: a number",
		`{"messages":[{"role":"x"}]}`:                    `turn 0, message 0 has the role "x"`,
		`{"messages":[{"content":"x"}]}`:                 `has the role ""`,
		`{"messages":[],"metadata":3}`:                   "/metadata: a number",
		`{"messages":[{"tool_calls":[{"function":5}]}]}`: "/messages/0/tool_calls/0/function: a number",
		`{"messages":[{"role":"user","content":"x}]}`:    "not JSON",
	} {
		if r := read(raw); r.Fault == nil || !strings.Contains(r.Fault.Error(), want) {
			t.Errorf("%s: got %v, want %s", raw, r.Fault, want)
		}
	}
	if r := read(`{"messages":[]}`); r.Fault != nil || !r.Session.Empty() {
		t.Errorf("an empty conversation is an empty session: %+v", r)
	}
}
