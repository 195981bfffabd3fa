package otlp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

// spanOf writes one span in OTLP's JSON encoding. Attribute values are strings, or numbers and
// booleans as Go has them.
func spanOf(trace, id, parent string, second int, attributes map[string]any) string {
	list := []map[string]any{}
	for k, v := range attributes {
		name, value := "stringValue", v
		switch n := v.(type) {
		case bool:
			name = "boolValue"
		case int:
			name, value = "intValue", strconv.Itoa(n)
		}
		list = append(list, map[string]any{"key": k, "value": map[string]any{name: value}})
	}
	b, err := json.Marshal(map[string]any{
		"traceId": trace, "spanId": id, "parentSpanId": parent, "name": "x", "kind": 3,
		"startTimeUnixNano": strconv.Itoa((1_700_000_000 + second) * 1e9), "endTimeUnixNano": (1_700_000_000+second)*1e9 + 5e8, "attributes": list,
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func requestOf(spans ...string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"service.version","value":{"stringValue":"1.2"}}]},"scopeSpans":[{"scope":{"name":"s"},"spans":[` +
		strings.Join(spans, ",") + `]}]}]}`
}

func readAll(t testing.TB, r *Reader) (records []piece.Record) {
	t.Helper()
	defer r.Close()
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, p.Read())
	}
}

func lines(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

func read1(t testing.TB, text string) (records []piece.Record) {
	return readAll(t, NewReader(piece.NewLines(lines(text), piece.MaxBytes), false, t.TempDir()))
}

// told is a session in a few words, for comparison.
func told(s *assay.Session) string {
	var b strings.Builder
	for i, turn := range s.Turns {
		for _, m := range turn.Messages {
			fmt.Fprintf(&b, "%d %s", i, m.Role)
			if m.Content != "" {
				fmt.Fprintf(&b, " %q", m.Content)
			}
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&b, " %s(%s)", c.Name, c.Arguments)
			}
			for _, p := range m.Parts {
				fmt.Fprintf(&b, " <%s>", p.Kind)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

const (
	user1 = `{"role":"user","parts":[{"type":"text","content":"Weather in Paris?"}]}`
	call1 = `{"role":"assistant","parts":[{"type":"text","content":"Let me look."},{"type":"tool_call","id":"1","name":"get_weather","arguments":{"location":"Paris"}}]}`
	tool1 = `{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":"rainy"}]}`
	said1 = `{"role":"assistant","parts":[{"type":"text","content":"Rain."}],"finish_reason":"stop"}`
	user2 = `{"role":"user","parts":[{"type":"text","content":"And Rome?"}]}`
	said2 = `{"role":"assistant","parts":[{"type":"text","content":"Sun."}]}`
	want2 = `0 system "Be brief."
0 user "Weather in Paris?"
0 assistant "Let me look." get_weather({"location":"Paris"})
0 tool "rainy"
0 assistant "Rain."
1 user "And Rome?"
1 assistant "Sun."
`
)

func chat(in, out string, more ...any) map[string]any {
	a := map[string]any{"gen_ai.operation.name": "chat", "gen_ai.input.messages": in, "gen_ai.output.messages": out}
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	return a
}

func conversationSpans() []string {
	return []string{
		spanOf("t1", "r1", "", 0, map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "conv", "user.id": "ann", "arm": "b", "n": 3, "beta": true,
			"gen_ai.input.messages": "[" + user1 + "]", "gen_ai.output.messages": "[" + said1 + "]"}),
		spanOf("t1", "c1", "r1", 1, chat("["+user1+"]", "["+call1+"]", "gen_ai.system_instructions", `[{"type":"text","content":"Be brief."}]`)),
		spanOf("t1", "x1", "r1", 2, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "1", "gen_ai.tool.call.arguments": `{"location":"Paris"}`, "gen_ai.tool.call.result": "rainy"}),
		spanOf("t1", "c2", "r1", 3, chat("["+user1+","+call1+","+tool1+"]", "["+said1+"]")),
		spanOf("t1", "h1", "c2", 3, map[string]any{"http.request.method": "POST"}),
		spanOf("t2", "c3", "", 9, chat("["+user1+","+call1+","+tool1+","+said1+","+user2+"]", "["+said2+"]", "gen_ai.conversation.id", "conv", "user.id", "ann", "arm", "x")),
	}
}

func check2(t *testing.T, records []piece.Record) {
	t.Helper()
	if len(records) != 1 || records[0].Fault != nil {
		t.Fatalf("got %+v", records)
	}
	s := records[0].Session
	if s.UserID != "ann" || s.SessionID != "conv" {
		t.Errorf("got user %s, session %s", s.UserID, s.SessionID)
	}
	if got := told(s); got != want2 {
		t.Errorf("got\n%swant\n%s", got, want2)
	}
	first := s.Turns[0]
	if first.AgentVersion != "1.2" || first.Source != "shop" || string(first.Metadata["arm"]) != `"b"` || string(first.Metadata["n"]) != "3" || string(first.Metadata["beta"]) != "true" {
		t.Errorf("facts of the first turn: %+v", first)
	}
	if first.StartedAt == nil || first.StartedAt.Unix() != 1_700_000_001 || string(s.Turns[1].Metadata["arm"]) != `"x"` {
		t.Errorf("times or arm: %v, %s", first.StartedAt, s.Turns[1].Metadata["arm"])
	}
	for k := range first.Metadata {
		if content(k) {
			t.Errorf("metadata holds %s", k)
		}
	}
}

func TestOneConversationOfTwoTraces(t *testing.T) {
	spans := conversationSpans()
	check2(t, read1(t, requestOf(spans...)))
	var each []string
	for i := len(spans) - 1; i >= 0; i-- { // one a line, the last first, one of them twice
		each = append(each, requestOf(spans[i]))
	}
	check2(t, read1(t, strings.Join(append(each, each[2]), "\n\n")))
}

func TestDocumentIsReadElementByElement(t *testing.T) {
	var pretty strings.Builder
	for _, s := range conversationSpans() {
		var v any
		if err := json.Unmarshal([]byte(requestOf(s)), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		pretty.Write(append(b, '\n'))
	}
	check2(t, readAll(t, NewReader(piece.NewElements(lines(pretty.String()), "resourceSpans", piece.MaxBytes), true, t.TempDir())))
}

func TestSpansThatDoNotFitWaitInFiles(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := range 300 {
		for j := range 3 {
			text.WriteString(requestOf(spanOf(fmt.Sprintf("t%d.%d", i, j), "a", "", j, chat(
				fmt.Sprintf(`[{"role":"user","content":"question %d.%d"}]`, i, j), `[{"role":"assistant","content":"yes"}]`, "gen_ai.conversation.id", fmt.Sprint("c", i)))) + "\n")
		}
	}
	r := NewReader(piece.NewLines(lines(text.String()), piece.MaxBytes), false, dir)
	r.traces.max, r.sessions.max = 4096, 4096
	records := readAll(t, r)
	if len(records) != 300 {
		t.Fatalf("got %d sessions", len(records))
	}
	for _, rec := range records {
		if len(rec.Session.Turns) != 3 {
			t.Errorf("%s has %d turns", rec.Session.SessionID, len(rec.Session.Turns))
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOlderConventions(t *testing.T) {
	tests := map[string]struct {
		attributes map[string]any
		want       string
	}{
		"indexed": {map[string]any{
			"gen_ai.system": "openai", "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "S",
			"gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": `[{"type":"text","text":"Q"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]`,
			"gen_ai.prompt.2.role": "assistant", "gen_ai.prompt.2.tool_calls.0.id": "1", "gen_ai.prompt.2.tool_calls.0.name": "f", "gen_ai.prompt.2.tool_calls.0.arguments": `{"a":1}`,
			"gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.tool_call_id": "1", "gen_ai.prompt.3.content": "R",
			"gen_ai.prompt.10.content": "Q2", "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "A", "gen_ai.completion.0.finish_reason": "stop",
		}, "0 system \"S\"\n0 user \"Q\" <image>\n0 assistant f({\"a\":1})\n0 tool \"R\"\n1 user \"Q2\"\n1 assistant \"A\"\n"},
		"one attribute": {map[string]any{"gen_ai.operation.name": "chat", "gen_ai.prompt": "[" + user1 + "," + call1 + "," + tool1 + "]", "gen_ai.completion": `{"text":"Rain.","finish_reason":"stop"}`},
			"0 user \"Weather in Paris?\"\n0 assistant \"Let me look.\" get_weather({\"location\":\"Paris\"})\n0 tool \"rainy\"\n0 assistant \"Rain.\"\n"},
		"openinference": {map[string]any{
			"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Q",
			"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f", "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}",
		}, "0 user \"Q\"\n0 assistant f({})\n"},
		"agent without calls": {map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": "[" + user1 + "]", "gen_ai.output.messages": "[" + said1 + "]"},
			"0 user \"Weather in Paris?\"\n0 assistant \"Rain.\"\n"},
		"no content": {map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, ""},
	}
	for name, tt := range tests {
		records := read1(t, requestOf(spanOf("trace", "a", "", 0, tt.attributes)))
		if len(records) != 1 || records[0].Fault != nil {
			t.Errorf("%s: %+v", name, records)
			continue
		}
		s := records[0].Session
		if got := told(s); got != tt.want || s.SessionID != "trace" || s.UserID != "unknown" {
			t.Errorf("%s: %s/%s\n%swant\n%s", name, s.UserID, s.SessionID, got, tt.want)
		}
	}
}

func TestWhatIsNoConversation(t *testing.T) {
	records := read1(t, requestOf(spanOf("t", "a", "", 0, map[string]any{"http.method": "GET"}))+"\nnot json\n{}\n"+requestOf())
	var got []string
	for _, r := range records {
		got = append(got, fmt.Sprint(r.Line, " ", r.Fault))
	}
	want := []string{"2 not JSON", "3 no member \"resourceSpans\"", "1 no span of this file tells"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

func TestSeveralConversationsInOneTrace(t *testing.T) {
	q := func(s string) string { return `[{"role":"user","content":"` + s + `"}]` }
	records := read1(t, requestOf(
		spanOf("t", "root", "", 0, map[string]any{"x": 1}),
		spanOf("t", "a", "root", 1, map[string]any{"gen_ai.operation.name": "invoke_agent", "session.id": "one", "user.id": "u"}),
		spanOf("t", "b", "a", 2, chat(q("1"), q("1"))),
		spanOf("t", "c", "root", 3, chat(q("2"), q("2"), "session.id", "two")),
		spanOf("t", "d", "ring", 3, chat(q("3"), q("3"))),
		spanOf("t", "ring", "d", 3, nil),
	))
	names := map[string]bool{}
	for _, r := range records {
		names[assay.SessionName(r.Session.UserID, r.Session.SessionID)] = true
	}
	if len(names) != 3 || !names["u/one"] || !names["u/two"] || !names["u/t"] {
		t.Errorf("got %v", names)
	}
}

// The fixtures are attribute maps as an exporter of another shape writes them; as OTLP they must give
// the same conversation in both conventions.
func TestRealAttributes(t *testing.T) {
	dir := "../../../../shared/data/openinference-otel/js/packages/openinference-genai/test/__fixtures__"
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("shared data must be there in CI: %v", err)
		}
		t.Skipf("shared data is not there: %v", err)
	}
	want := "0 user \"Weather in Paris?\"\n0 assistant \"Absolutely! Let me check the weather for you.\" get_weather({\"location\":\"Paris\"})\n0 tool \"rainy, 57°F\"\n0 assistant \"The weather in Paris is currently rainy with a temperature of 57°F.\"\n"
	for _, name := range []string{"otel_genai_client_span_tool_calls.json", "otel_genai_deprecated_client_span_tool_calls.json"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var flat map[string]any
		if err := json.Unmarshal(b, &flat); err != nil {
			t.Fatal(err)
		}
		attributes := map[string]any{}
		for k, v := range flat {
			if s, ok := v.(string); ok && !strings.HasPrefix(k, "input") && !strings.HasPrefix(k, "output") {
				attributes[k] = s
			}
		}
		records := read1(t, requestOf(spanOf("t", "a", "", 0, attributes)))
		if len(records) != 1 || records[0].Fault != nil {
			t.Fatalf("%s: %+v", name, records)
		}
		if got := told(records[0].Session); got != want {
			t.Errorf("%s:\n%swant\n%s", name, got, want)
		}
	}
}
