package native

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("../../../docs/formats/session.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(s *jsonschema.Schema, line []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func read(line []byte) piece.Record { return piece.Piece{Line: 1, Raw: line}.Read(Parse) }

// The examples of the page are what people copy.
func TestExamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/native.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```jsonl\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has no examples")
	}
	s := schema(t)
	for _, b := range blocks {
		for line := range bytes.Lines(b[1]) {
			if err := valid(s, line); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			if r := read(line); r.Fault != nil {
				t.Errorf("%s: %v", line, r.Fault)
			}
		}
	}
}

const head = `{"format":"assay.session/1","user_id":"u","session_id":"s"`

// The reader and the schema agree on what is a session.
func TestReaderAndSchemaAgree(t *testing.T) {
	s := schema(t)
	tests := []struct {
		line  string
		fault string
	}{
		{head + `,"turns":[]}`, ""},
		{head + `,"turns":[{"messages":[]}],"labels":[]}`, ""},
		{head + `,"turns":[{"messages":[{"role":"tool","name":"f","content":"c","reasoning":"r","tool_calls":[{"name":"f"}],"tool_call_id":"1","parts":[{"kind":"image"}],"at":"2025-03-01T12:00:00Z","new":1}],"new":[]}],"new":{}}`, ""},
		{head + `,"turns":[],"labels":[{"criterion":"pass","value":false},{"criterion":"tone","value":3.5,"rater":"ann","blind":true,"probability":0.1,"criterion_version":"x"},{"criterion":"k","value":"v"}]}`, ""},
		{head + `}`, "turns"},
		{head + `,"turns":{}}`, "/turns: an object"},
		{head + `,"turns":null}`, "turns"},
		{head + `,"turns":[{"started_at":"yesterday","messages":[]}]}`, "/turns/0/started_at: cannot be read"},
		{head + `,"turns":[{"messages":[{"role":"human"}]}]}`, `role "human"`},
		{head + `,"turns":[{"messages":[{"content":"x"}]}]}`, `role ""`},
		{head + `,"turns":[{"messages":[{"role":"user","content":["x"]}]}]}`, "/turns/0/messages/0/content: an array"},
		{head + `,"turns":[{"metadata":[],"messages":[]}]}`, "/turns/0/metadata: an array"},
		{head + `,"turns":[],"labels":[{"criterion":"pass"}]}`, "label 0: the value"},
		{head + `,"turns":[],"labels":[{"criterion":"pass","value":null}]}`, "label 0: the value"},
		{head + `,"turns":[],"labels":[{"value":true}]}`, "label 0 names no criterion"},
		{head + `,"turns":[],"labels":[{"criterion":"pass","value":true,"probability":0}]}`, "label 0: the probability"},
		{head + `,"turns":[],"labels":[{"criterion":"pass","value":true,"probability":1.5}]}`, "label 0: the probability"},
		{head + `,"turns":[],"labels":[{"criterion":"pass","value":true,"use":"train"}]}`, "label 0: the use \"train\" is not known"},
		{head + `,"turns":[],"labels":[{"criterion":"pass","value":true,"probability":"1"}]}`, "label 0: the probability"},
		{`{"format":"assay.session/1","user_id":" ","session_id":"s","turns":[]}`, "/user_id: is missing"},
		{`{"format":"assay.session/1","user_id":"u","session_id":"` + strings.Repeat("x", 1025) + `","turns":[]}`, "/session_id: is 1025 bytes"},
		{`{"format":"assay.session/1","user_id":7,"session_id":"s","turns":[]}`, "/user_id: a number"},
		{`{"format":"assay.session/2","user_id":7,"turns":{}}`, `version "assay.session/2" is not known; this program reads "assay.session/1"`},
		{`{"user_id":"u","session_id":"s","turns":[]}`, "/format: is missing"},
		{`{"format":1,"user_id":"u","session_id":"s","turns":[]}`, "/format: is not a string"},
		{`[]`, "an array is not expected here"},
	}
	for _, tt := range tests {
		r := read([]byte(tt.line))
		err := valid(s, []byte(tt.line))
		switch {
		case tt.fault == "" && (r.Fault != nil || err != nil):
			t.Errorf("%s: reader %v, schema %v", tt.line, r.Fault, err)
		case tt.fault != "" && (r.Fault == nil || !strings.Contains(r.Fault.Error(), tt.fault)):
			t.Errorf("%s: reader %v, want %s", tt.line, r.Fault, tt.fault)
		case tt.fault != "" && err == nil && !strings.Contains(tt.line, `"role":"user","content":[`):
			t.Errorf("%s: the schema takes it, the reader says %v", tt.line, r.Fault)
		}
	}
}

func moments() *rapid.Generator[*time.Time] {
	return rapid.Custom(func(t *rapid.T) *time.Time {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		at := time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "at")).UTC()
		return &at
	})
}

func sessions() *rapid.Generator[*assay.Session] {
	text := rapid.String()
	id := rapid.StringMatching(`[a-zé/%]{1,20}`)
	value := rapid.Custom(func(t *rapid.T) json.RawMessage {
		return rapid.OneOf(rapid.SampledFrom([]json.RawMessage{json.RawMessage(`null`), json.RawMessage(`1e400`), json.RawMessage(`{"b":[1,{"a":"x y"}],"b":2}`), json.RawMessage(`-0.10`)}),
			rapid.Map(text, func(s string) json.RawMessage { return assay.AppendString(nil, s) })).Draw(t, "value")
	})
	message := rapid.Custom(func(t *rapid.T) assay.Message {
		m := assay.Message{
			Role: rapid.SampledFrom([]assay.Role{assay.RoleSystem, assay.RoleUser, assay.RoleAssistant, assay.RoleTool}).Draw(t, "role"),
			Name: text.Draw(t, "name"), Content: text.Draw(t, "content"), Reasoning: text.Draw(t, "reasoning"),
			ToolCallID: text.Draw(t, "id"), At: moments().Draw(t, "at"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			m.ToolCalls = append(m.ToolCalls, assay.ToolCall{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Arguments: text.Draw(t, "arguments")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			m.Parts = append(m.Parts, assay.Part{Kind: text.Draw(t, "kind"), MediaType: text.Draw(t, "type"), Data: text.Draw(t, "data")})
		}
		return m
	})
	return rapid.Custom(func(t *rapid.T) *assay.Session {
		s := &assay.Session{UserID: id.Draw(t, "user"), SessionID: id.Draw(t, "session"), SourceURL: text.Draw(t, "url")}
		for range rapid.IntRange(0, 3).Draw(t, "turns") {
			turn := assay.Turn{StartedAt: moments().Draw(t, "start"), EndedAt: moments().Draw(t, "end"), AgentVersion: text.Draw(t, "version"), Source: text.Draw(t, "source")}
			if m := rapid.MapOfN(text, value, 0, 3).Draw(t, "metadata"); len(m) > 0 {
				turn.Metadata = m
			}
			for range rapid.IntRange(0, 3).Draw(t, "messages") {
				turn.Messages = append(turn.Messages, message.Draw(t, "message"))
			}
			s.Turns = append(s.Turns, turn)
		}
		return s
	})
}

func TestWrittenAndReadAgainIsEqual(t *testing.T) {
	sch := schema(t)
	rapid.Check(t, func(t *rapid.T) {
		s := sessions().Draw(t, "session")
		var labels []assay.Label
		for range rapid.IntRange(0, 2).Draw(t, "labels") {
			labels = append(labels, assay.Label{Criterion: "pass", Value: json.RawMessage(rapid.SampledFrom([]string{"true", `"a"`, "0.5"}).Draw(t, "value")),
				Rater: "r", Blind: rapid.Bool().Draw(t, "blind"), Decided: rapid.Bool().Draw(t, "decided"),
				Note: rapid.SampledFrom([]string{"", "a \"note\"\n"}).Draw(t, "note"), Use: rapid.SampledFrom([]assay.LabelUse{"", assay.UseMeasure, assay.UseQueue, assay.UsePrompt}).Draw(t, "use"),
				Probability: rapid.SampledFrom([]float64{0, 1, 0.125, 1e-9}).Draw(t, "probability")})
		}
		line, err := Append(nil, s, labels)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(sch, line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		r := read(line)
		if r.Fault != nil {
			t.Fatalf("%s: %v", line, r.Fault)
		}
		if !r.Repaired {
			if !reflect.DeepEqual(r.Session, s) {
				t.Fatalf("wrote %+v\nread  %+v", s, r.Session)
			}
		} else if !bytes.Contains(line, []byte(`\u0000`)) {
			t.Fatalf("%s needed no repair", line)
		}
		if !reflect.DeepEqual(r.Labels, labels) {
			t.Fatalf("wrote %+v, read %+v", labels, r.Labels)
		}
	})
}

func TestWriterRefusesWhatNobodyCouldRead(t *testing.T) {
	s := &assay.Session{UserID: "u", SessionID: "s"}
	if _, err := Append(nil, s, []assay.Label{{Criterion: "c", UserID: "u", SessionID: "s"}}); assay.CodeOf(err) != assay.CodeInvalid {
		t.Errorf("got %v", err)
	}
}
