package openai

import (
	"cmp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

// Message is one chat message as people's files hold it: the chat-completions shape, and the small
// departures from it that are common.
type Message struct {
	Role             string     `json:"role"`
	Name             Text       `json:"name"`
	Content          Content    `json:"content"`
	Parts            Content    `json:"parts"` // OpenTelemetry's GenAI messages have these in place of content
	Refusal          Text       `json:"refusal"`
	Reasoning        Text       `json:"reasoning"`
	ReasoningContent Text       `json:"reasoning_content"`
	ToolCalls        []ToolCall `json:"tool_calls"`
	FunctionCall     *Function  `json:"function_call"`
	ToolCallID       Text       `json:"tool_call_id"`
	Timestamp        Moment     `json:"timestamp"`
	CreatedAt        Moment     `json:"created_at"`
	Created          Moment     `json:"created"`
}

// ToolCall is a call in an assistant message.
type ToolCall struct {
	ID       Text     `json:"id"`
	Function Function `json:"function"`
}

// Function is the name of a tool and its arguments.
type Function struct {
	Name      Text `json:"name"`
	Arguments Text `json:"arguments"`
}

// Text is a string, or any other JSON value as it is written; null is "".
type Text string

func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, (*string)(t))
	}
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*t = Text(raw(v))
	return nil
}

// raw is v without white space between its tokens; null is "".
func raw(v jsontext.Value) string {
	if v.Kind() == 'n' {
		return ""
	}
	v = v.Clone()
	_ = v.Compact(jsontext.AllowDuplicateNames(true)) // v was read as JSON; else it stays as it is
	return string(v)
}

// Role maps the names that a role goes by; an unknown one stays and is rejected later.
func Role(name string) assay.Role {
	switch name {
	case "system", "developer":
		return assay.RoleSystem
	case "user", "human":
		return assay.RoleUser
	case "assistant", "model", "gpt", "ai":
		return assay.RoleAssistant
	case "tool", "function", "observation":
		return assay.RoleTool
	}
	return assay.Role(name)
}

// Record appends the messages that m stands for: one, and before it one for each tool result that its
// content holds as a part.
func (m *Message) Record(dst []assay.Message) []assay.Message {
	content := m.Content.and(m.Parts)
	out := assay.Message{
		Role: Role(m.Role), Name: string(m.Name), Content: first(content.Text, string(m.Refusal)), ToolCallID: string(m.ToolCallID),
		Reasoning: first(string(m.ReasoningContent), string(m.Reasoning)),
		At:        cmp.Or(m.Timestamp.Time, m.CreatedAt.Time, m.Created.Time),
	}
	if len(m.ToolCalls) > 0 {
		out.ToolCalls = make([]assay.ToolCall, 0, len(m.ToolCalls))
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, c.Function.call(string(c.ID)))
	}
	if m.FunctionCall != nil {
		out.ToolCalls = append(out.ToolCalls, m.FunctionCall.call(""))
	}
	if rich := content.Rich; rich != nil {
		out.Reasoning = first(out.Reasoning, rich.Reasoning)
		out.Parts = rich.Parts
		out.ToolCalls = append(out.ToolCalls, rich.Calls...)
		for _, r := range rich.Results {
			r.Name, r.At = out.Name, out.At
			dst = append(dst, r)
		}
		if len(rich.Results) > 0 && out.Content == "" && len(out.Parts) == 0 && len(out.ToolCalls) == 0 {
			return dst
		}
	}
	return append(dst, out)
}

func (f *Function) call(id string) assay.ToolCall {
	return assay.ToolCall{ID: id, Name: string(f.Name), Arguments: string(f.Arguments)}
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// Moment is a time in any of the shapes that piece.Time reads; what is none is nil.
type Moment struct{ *time.Time }

func (m *Moment) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err == nil {
		m.Time = piece.Time(v)
	}
	return err
}

// Turns splits chat messages into turns.
func Turns(messages []Message) []assay.Turn {
	all := make([]assay.Message, 0, len(messages))
	for i := range messages {
		all = messages[i].Record(all)
	}
	return Split(all)
}

// Split makes turns of messages: one begins at each user message; what stands before the first user
// message belongs to the first turn. A turn's times are those of its first and last message that has
// one.
func Split(messages []assay.Message) []assay.Turn {
	var turns []assay.Turn
	asked := false // the present turn has its user message
	for i, m := range messages {
		if len(turns) == 0 || (m.Role == assay.RoleUser && asked) {
			turns = append(turns, assay.Turn{})
			asked = false
		}
		asked = asked || m.Role == assay.RoleUser
		t := &turns[len(turns)-1]
		first := i - len(t.Messages)
		t.Messages = messages[first : i+1 : i+1]
		if m.At != nil {
			if t.StartedAt == nil {
				t.StartedAt = m.At
			}
			t.EndedAt = m.At
		}
	}
	return turns
}

// mediaType reads the type of a data URL.
func mediaType(url string) string {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return ""
	}
	head, _, _ := strings.Cut(rest, ",")
	typ, _, _ := strings.Cut(head, ";")
	if len(typ) > 100 {
		return ""
	}
	return typ
}
