package otlp

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/assay"
	"assay/internal/session/openai"
)

func sorted(a attributes) []string { return slices.Sorted(maps.Keys(a)) }

// messages reads what went into a call and what came out, in the newest convention that is present.
func messages(a attributes) (in, out []assay.Message) {
	in = list(a.value("gen_ai.input.messages"), assay.RoleUser)
	if in == nil {
		in = indexed(a, "gen_ai.prompt.", "")
	}
	if in == nil {
		in = indexed(a, "llm.input_messages.", "message.")
	}
	if in == nil {
		in = list(a.value("gen_ai.prompt", "input.value", "input"), assay.RoleUser)
	}
	if system := list(a.value("gen_ai.system_instructions"), assay.RoleSystem); system != nil {
		for i := range system {
			system[i].Role = assay.RoleSystem
		}
		in = append(system, in...)
	}
	out = list(a.value("gen_ai.output.messages"), assay.RoleAssistant)
	if out == nil {
		out = indexed(a, "gen_ai.completion.", "")
	}
	if out == nil {
		out = indexed(a, "llm.output_messages.", "message.")
	}
	if out == nil {
		out = list(a.value("gen_ai.completion", "output.value", "output"), assay.RoleAssistant)
	}
	return in, out
}

// list reads messages in JSON: a list of them or of parts, one of them, or a bare text.
func list(raw json.RawMessage, role assay.Role) []assay.Message {
	switch jsontext.Value(raw).Kind() {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil || s == "" {
			return nil
		}
		return []assay.Message{{Role: role, Content: s}}
	case '{':
		var object struct {
			Role     string         `json:"role"`
			Text     openai.Text    `json:"text"`
			Messages jsontext.Value `json:"messages"`
		}
		switch {
		case jsonv2.Unmarshal(raw, &object, lenient) != nil:
			return nil
		case object.Messages.Kind() == '[':
			return list(json.RawMessage(object.Messages), role)
		case object.Role == "" && object.Text == "":
			return nil
		case object.Role == "":
			return []assay.Message{{Role: role, Content: string(object.Text)}}
		}
		raw = slices.Concat([]byte{'['}, raw, []byte{']'})
	case '[':
	default:
		return nil
	}
	var ms []openai.Message
	if jsonv2.Unmarshal(raw, &ms, lenient) != nil {
		return nil
	}
	if len(ms) > 0 && !slices.ContainsFunc(ms, func(m openai.Message) bool { return m.Role != "" }) {
		var c openai.Content // parts without a message around them, as system instructions are
		if jsonv2.Unmarshal(raw, &c, lenient) != nil {
			return nil
		}
		ms = []openai.Message{{Role: string(role), Content: c}}
	}
	return recorded(ms, role)
}

var lenient = jsontext.AllowDuplicateNames(true)

func recorded(ms []openai.Message, role assay.Role) (out []assay.Message) {
	for i := range ms {
		if ms[i].Role == "" {
			ms[i].Role = string(role)
		}
		for _, m := range ms[i].Record(nil) {
			switch m.Role {
			case assay.RoleSystem, assay.RoleUser, assay.RoleAssistant, assay.RoleTool:
			default:
				m.Name, m.Role = strings.TrimSpace(string(m.Role)+" "+m.Name), role
			}
			out = append(out, m)
		}
	}
	return out
}

// indexed reads messages that are spread over attributes such as gen_ai.prompt.0.content. middle is
// what stands between the number and the field.
func indexed(a attributes, prefix, middle string) []assay.Message {
	found := map[int]*openai.Message{}
	for _, k := range sorted(a) {
		rest, ok := strings.CutPrefix(k, prefix)
		if !ok {
			continue
		}
		number, field, ok := strings.Cut(rest, ".")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		if found[n] == nil {
			found[n] = &openai.Message{}
		}
		set(found[n], strings.TrimPrefix(field, middle), a, k)
	}
	if len(found) == 0 {
		return nil
	}
	ordered := make([]openai.Message, 0, len(found))
	for _, n := range slices.Sorted(maps.Keys(found)) {
		ordered = append(ordered, *found[n])
	}
	role := assay.RoleUser
	if strings.Contains(prefix, "completion") || strings.Contains(prefix, "output") {
		role = assay.RoleAssistant
	}
	return recorded(ordered, role)
}

const maxCalls = 1_000 // of one message; a larger number in a name is no index

func set(m *openai.Message, field string, a attributes, key string) {
	value := a.text(key)
	switch field {
	case "role":
		m.Role = value
	case "content":
		if v := a.value(key); jsontext.Value(v).Kind() != '[' || jsonv2.Unmarshal(v, &m.Content, lenient) != nil {
			m.Content.Text = value
		}
	case "reasoning", "reasoning_content":
		m.ReasoningContent = openai.Text(value)
	case "name":
		m.Name = openai.Text(value)
	case "tool_call_id":
		m.ToolCallID = openai.Text(value)
	default:
		if rest, ok := strings.CutPrefix(field, "tool_calls."); ok {
			setCall(m, rest, value)
		}
	}
}

func setCall(m *openai.Message, rest, value string) {
	number, field, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= maxCalls {
		return
	}
	for len(m.ToolCalls) <= n {
		m.ToolCalls = append(m.ToolCalls, openai.ToolCall{})
	}
	switch c := &m.ToolCalls[n]; strings.TrimPrefix(field, "tool_call.") {
	case "id":
		c.ID = openai.Text(value)
	case "name", "function.name":
		c.Function.Name = openai.Text(value)
	case "arguments", "function.arguments":
		c.Function.Arguments = openai.Text(value)
	}
}
