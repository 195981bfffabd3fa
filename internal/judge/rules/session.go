package rules

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"assay/internal/assay"
)

// What expressions see of a session. The structs are views: they copy no text.

type turn struct {
	from     *assay.Turn
	index    int
	messages ref.Val
}

type message struct {
	from        *assay.Message
	turn, index int
	calls       []*call
	lower       string // computed at first use
	lowered     bool
}

type call struct {
	from          *assay.ToolCall
	turn, message int
	result        string // content of the first later tool message with this id
}

var (
	turnType    = types.NewObjectType("assay.Turn")
	messageType = types.NewObjectType("assay.Message")
	callType    = types.NewObjectType("assay.ToolCall")
)

// object makes a view a CEL value of an object type; fields are read through the type provider.
type object struct {
	typ  *types.Type
	view any
}

func (o object) Type() ref.Type { return o.typ }
func (o object) Value() any     { return o.view }

func (o object) Equal(other ref.Val) ref.Val {
	p, ok := other.(object)
	return types.Bool(ok && p.view == o.view)
}

func (o object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a %s cannot become %s", o.typ, t)
}

func (o object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return o.typ
	}
	return types.NewErr("a %s cannot become a %s", o.typ, t.TypeName())
}

// field describes one field of a view.
func field[V any](typ *types.Type, get func(V) (any, error), set func(V) bool) *types.FieldType {
	return &types.FieldType{
		Type:    typ,
		GetFrom: func(o any) (any, error) { return get(o.(V)) },
		IsSet:   func(o any) bool { return set == nil || set(o.(V)) },
	}
}

func text[V any](get func(V) string) *types.FieldType {
	return field(types.StringType, func(v V) (any, error) { return types.String(get(v)), nil }, func(v V) bool { return get(v) != "" })
}

func number[V any](get func(V) int) *types.FieldType {
	return field(types.IntType, func(v V) (any, error) { return types.Int(get(v)), nil }, nil)
}

func moment[V any](name string, get func(V) *time.Time) *types.FieldType {
	return field(types.TimestampType, func(v V) (any, error) {
		if t := get(v); t != nil {
			return types.Timestamp{Time: *t}, nil
		}
		return nil, fmt.Errorf("no %s is recorded; test it with has(...) first", name)
	}, func(v V) bool { return get(v) != nil })
}

// objectFields are the fields of the three object types.
func objectFields(list func([]ref.Val) ref.Val) map[string]map[string]*types.FieldType {
	return map[string]map[string]*types.FieldType{
		turnType.TypeName(): {
			"index":      number(func(t *turn) int { return t.index }),
			"messages":   field(cel.ListType(messageType), func(t *turn) (any, error) { return t.messages, nil }, nil),
			"started_at": moment("started_at", func(t *turn) *time.Time { return t.from.StartedAt }),
			"ended_at":   moment("ended_at", func(t *turn) *time.Time { return t.from.EndedAt }),
		},
		messageType.TypeName(): {
			"turn":         number(func(m *message) int { return m.turn }),
			"index":        number(func(m *message) int { return m.index }),
			"role":         text(func(m *message) string { return string(m.from.Role) }),
			"name":         text(func(m *message) string { return m.from.Name }),
			"content":      text(func(m *message) string { return m.from.Content }),
			"lower":        text((*message).lowerContent),
			"reasoning":    text(func(m *message) string { return m.from.Reasoning }),
			"tool_call_id": text(func(m *message) string { return m.from.ToolCallID }),
			"at":           moment("at", func(m *message) *time.Time { return m.from.At }),
			"tool_calls":   field(cel.ListType(callType), func(m *message) (any, error) { return list(callValues(m.calls)), nil }, func(m *message) bool { return len(m.calls) > 0 }),
			"parts":        field(cel.ListType(cel.StringType), func(m *message) (any, error) { return list(partKinds(m.from.Parts)), nil }, func(m *message) bool { return len(m.from.Parts) > 0 }),
		},
		callType.TypeName(): {
			"turn":      number(func(c *call) int { return c.turn }),
			"message":   number(func(c *call) int { return c.message }),
			"id":        text(func(c *call) string { return c.from.ID }),
			"name":      text(func(c *call) string { return c.from.Name }),
			"arguments": text(func(c *call) string { return c.from.Arguments }),
			"result":    text(func(c *call) string { return c.result }),
		},
	}
}

func (m *message) lowerContent() string {
	if !m.lowered {
		m.lower, m.lowered = strings.ToLower(m.from.Content), true
	}
	return m.lower
}

func callValues(calls []*call) []ref.Val {
	values := make([]ref.Val, len(calls))
	for i, c := range calls {
		values[i] = object{callType, c}
	}
	return values
}

func partKinds(parts []assay.Part) []ref.Val {
	values := make([]ref.Val, len(parts))
	for i, p := range parts {
		values[i] = types.String(p.Kind)
	}
	return values
}

// view is one session as the variables of expressions. What no expression names is not computed.
// It serves one question at a time.
type view struct {
	session  *assay.Session
	fields   []string
	list     func([]ref.Val) ref.Val
	value    ref.Val // the criterion's own, for reason and evidence
	messages []*message
	lists    map[string]ref.Val
}

func (v *view) Parent() cel.Activation { return nil }

func (v *view) ResolveName(name string) (any, bool) {
	if name == varValue {
		return v.value, v.value != nil
	}
	if done, ok := v.lists[name]; ok {
		return done, true
	}
	made := v.make(name)
	if made == nil {
		return nil, false
	}
	if v.lists == nil {
		v.lists = make(map[string]ref.Val, 4)
	}
	v.lists[name] = made
	return made, true
}

func (v *view) make(name string) ref.Val {
	switch name {
	case varTurns:
		return v.turns()
	case varMessages:
		return v.selected(func(*message) bool { return true })
	case varUserMessages:
		return v.selected(func(m *message) bool { return m.from.Role == assay.RoleUser })
	case varAssistantMessages:
		return v.selected(func(m *message) bool { return m.from.Role == assay.RoleAssistant })
	case varToolResults:
		return v.selected(func(m *message) bool { return m.from.Role == assay.RoleTool })
	case varToolCalls:
		var all []*call
		for _, m := range v.all() {
			all = append(all, m.calls...)
		}
		return v.list(callValues(all))
	case varText:
		return types.String(v.text())
	case varLowerText:
		return types.String(strings.ToLower(v.text()))
	case varMetadata:
		return v.metadata()
	}
	return v.hidden(name)
}

// hidden gives what only `fields` shows.
func (v *view) hidden(name string) ref.Val {
	if !slices.Contains(v.fields, name) {
		return nil
	}
	first := assay.Turn{}
	if len(v.session.Turns) > 0 {
		first = v.session.Turns[0]
	}
	return types.String(map[string]string{
		"user_id": v.session.UserID, "session_id": v.session.SessionID, "source_url": v.session.SourceURL,
		"agent_version": first.AgentVersion, "source": first.Source,
	}[name])
}

// all numbers the messages and joins tool calls to their results.
func (v *view) all() []*message {
	if v.messages != nil {
		return v.messages
	}
	count, calls := 0, 0
	for i := range v.session.Turns {
		count += len(v.session.Turns[i].Messages)
		for j := range v.session.Turns[i].Messages {
			calls += len(v.session.Turns[i].Messages[j].ToolCalls)
		}
	}
	rows, callRows, pointers := make([]message, 0, count), make([]call, 0, calls), make([]*call, 0, calls)
	v.messages = make([]*message, 0, count)
	for t := range v.session.Turns {
		for i := range v.session.Turns[t].Messages {
			m := &v.session.Turns[t].Messages[i]
			start := len(pointers)
			for c := range m.ToolCalls {
				callRows = append(callRows, call{from: &m.ToolCalls[c], turn: t, message: i})
				pointers = append(pointers, &callRows[len(callRows)-1])
			}
			rows = append(rows, message{from: m, turn: t, index: i, calls: pointers[start:len(pointers):len(pointers)]})
			v.messages = append(v.messages, &rows[len(rows)-1])
			if m.Role == assay.RoleTool && m.ToolCallID != "" {
				answer(pointers, m)
			}
		}
	}
	return v.messages
}

// answer gives a result to the latest call with its id: ids may repeat inside a session.
func answer(calls []*call, m *assay.Message) {
	for _, c := range slices.Backward(calls) {
		if c.from.ID == m.ToolCallID {
			if c.result == "" {
				c.result = m.Content
			}
			return
		}
	}
}

func (v *view) selected(want func(*message) bool) ref.Val {
	all := v.all()
	values := make([]ref.Val, 0, len(all))
	for _, m := range all {
		if want(m) {
			values = append(values, object{messageType, m})
		}
	}
	return v.list(values)
}

func (v *view) turns() ref.Val {
	all := v.all()
	values := make([]ref.Val, 0, len(v.session.Turns))
	for i := range v.session.Turns {
		own := make([]ref.Val, 0, len(v.session.Turns[i].Messages))
		for _, m := range all {
			if m.turn == i {
				own = append(own, object{messageType, m})
			}
		}
		values = append(values, object{turnType, &turn{from: &v.session.Turns[i], index: i, messages: v.list(own)}})
	}
	return v.list(values)
}

// text is what was said: the content of every message but the system's, one after the other.
func (v *view) text() string {
	var b strings.Builder
	for _, m := range v.all() {
		if m.from.Role != assay.RoleSystem && m.from.Content != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(m.from.Content)
		}
	}
	return b.String()
}

// metadata holds the shown keys of the first turn.
func (v *view) metadata() ref.Val {
	shown := map[string]any{}
	if len(v.session.Turns) > 0 {
		for key, raw := range v.session.Turns[0].Metadata {
			var value any
			if slices.Contains(v.fields, "metadata."+key) && json.Unmarshal(raw, &value) == nil {
				shown[key] = value
			}
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(shown)
}
