package otlp

import (
	"encoding/json"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

// unmarshal reads the next value with the tolerance of piece.Decode.
func unmarshal(dec *jsontext.Decoder, v any) error { return jsonv2.UnmarshalDecode(dec, v) }

// span is what a session needs of one span. It is what waits, in memory or in a file, until the
// whole input has been read.
type span struct {
	Line         int64                      `json:"l"`
	Seq          int64                      `json:"q"` // place in the file
	Trace        string                     `json:"t"`
	ID           string                     `json:"i,omitempty"`
	Parent       string                     `json:"p,omitempty"`
	Start        *time.Time                 `json:"s,omitempty"`
	End          *time.Time                 `json:"e,omitempty"`
	Kind         kind                       `json:"k,omitempty"`
	Conversation string                     `json:"c,omitempty"`
	User         string                     `json:"u,omitempty"`
	Version      string                     `json:"v,omitempty"`
	Source       string                     `json:"o,omitempty"`
	Metadata     map[string]json.RawMessage `json:"m,omitempty"`
	Input        []assay.Message            `json:"in,omitempty"`
	Output       []assay.Message            `json:"out,omitempty"`
	Repaired     bool                       `json:"r,omitempty"`
}

// kind says what a span tells of the conversation.
type kind string

const (
	other kind = ""     // nothing: an HTTP request, a database query
	about kind = "meta" // it belongs to an agent, without being a call
	model kind = "call" // one call of a model
	tool  kind = "tool" // one execution of a tool: Input holds the call, Output the result
)

// read turns one resource's spans into spans.
func (rs *resourceSpans) read() (spans []span) {
	for i := range rs.ScopeSpans {
		for j := range rs.ScopeSpans[i].Spans {
			spans = append(spans, read(&rs.ScopeSpans[i].Spans[j], rs.Resource.Attributes))
		}
	}
	return spans
}

func read(w *wireSpan, resource attributes) span {
	a := w.Attributes
	if a == nil {
		a = attributes{}
	}
	for i := range w.Events { // content may be recorded as an event
		for k, v := range w.Events[i].Attributes {
			if _, ok := a[k]; !ok && content(k) {
				a[k] = v
			}
		}
	}
	s := span{
		Trace: w.TraceID, ID: w.SpanID, Parent: w.ParentID, Start: w.Start.time(), End: w.End.time(),
		Kind:         kindOf(a),
		Conversation: a.text("gen_ai.conversation.id", "session.id", "langfuse.session.id"),
		User:         a.text("user.id", "enduser.id", "langfuse.user.id"),
		Version:      a.text("gen_ai.agent.version"),
		Source:       resource.text("service.name"),
		Metadata:     metadata(a, resource),
	}
	if s.User == "" {
		s.User = resource.text("user.id", "enduser.id")
	}
	if s.Conversation == "" {
		s.Conversation = resource.text("gen_ai.conversation.id", "session.id")
	}
	if s.Version == "" {
		s.Version = resource.text("service.version")
	}
	switch s.Kind {
	case tool:
		s.Input, s.Output = execution(a)
	case other:
	default:
		s.Input, s.Output = messages(a)
	}
	return s
}

func kindOf(a attributes) kind {
	switch a.text("gen_ai.operation.name") {
	case "execute_tool":
		return tool
	case "chat", "text_completion", "generate_content":
		return model
	case "embeddings", "create_agent":
		return other
	case "":
	default: // invoke_agent and what comes after it
		return about
	}
	switch a.text("openinference.span.kind") {
	case "TOOL":
		return tool
	case "LLM":
		return model
	case "EMBEDDING", "RERANKER", "RETRIEVER":
		return other
	case "":
	default:
		return about
	}
	k := other
	for name := range a {
		switch {
		case strings.HasPrefix(name, "gen_ai.tool."), strings.HasPrefix(name, "llm."):
			k = about
		case strings.HasPrefix(name, "gen_ai."):
			return model // instrumentation from before operation names
		}
	}
	return k
}

// content says whether an attribute holds what was said, which must not become metadata.
func content(name string) bool {
	for _, prefix := range []string{
		"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions",
		"gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.prompt", "gen_ai.completion",
		"llm.input_messages", "llm.output_messages", "llm.tools", "input.", "output.",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "input" || name == "output"
}

const (
	maxMetadata      = 8 << 10 // bytes of one span's metadata
	maxMetadataValue = 1 << 10
)

// metadata gathers the scalar attributes of a span and of its resource.
func metadata(a, resource attributes) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	total := 0
	for _, from := range []attributes{a, resource} {
		for _, k := range sorted(from) {
			v := from[k]
			if _, ok := m[k]; ok || content(k) || len(v) > maxMetadataValue || len(v) == 0 || v[0] == '[' || v[0] == '{' || v[0] == 'n' {
				continue
			}
			if total += len(k) + len(v); total > maxMetadata {
				return m
			}
			m[k] = v
		}
	}
	return m
}

// execution reads a tool's execution as the call and its result.
func execution(a attributes) (call, result []assay.Message) {
	name := a.text("gen_ai.tool.name", "tool.name")
	id := a.text("gen_ai.tool.call.id", "tool_call.id")
	arguments := a.text("gen_ai.tool.call.arguments", "input.value", "input")
	call = []assay.Message{{Role: assay.RoleAssistant, ToolCalls: []assay.ToolCall{{ID: id, Name: name, Arguments: arguments}}}}
	result = []assay.Message{{Role: assay.RoleTool, Name: name, ToolCallID: id, Content: a.text("gen_ai.tool.call.result", "output.value", "output")}}
	return call, result
}

// parse reads a request, or one element of its resourceSpans.
func parse(raw []byte, element bool) (spans []span, fault *piece.Fault) {
	var resources []resourceSpans
	var repaired bool
	if element {
		var rs *resourceSpans
		if rs, repaired, fault = piece.Decode[resourceSpans](raw); fault == nil {
			resources = []resourceSpans{*rs}
		}
	} else {
		var q *request
		if q, repaired, fault = piece.Decode[request](raw); fault == nil {
			if resources = q.ResourceSpans; resources == nil {
				fault = piece.Faultf("", "no member \"resourceSpans\" with a list")
			}
		}
	}
	for i := range resources {
		spans = append(spans, resources[i].read()...)
	}
	for i := range spans {
		spans[i].Repaired = repaired
	}
	return spans, fault
}
