package otlp

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/session/openai"
	"assay/internal/session/piece"
)

// build makes one session of the spans of one conversation. Each call of a model repeats what was
// said before, so what is there already is passed over.
func build(spans []span) piece.Record {
	spans = tidy(spans)
	c := conversation{}
	r := piece.Record{Line: spans[0].Line, Session: &assay.Session{}}
	for i := range spans {
		s := &spans[i]
		r.Line = min(r.Line, s.Line)
		r.Repaired = r.Repaired || s.Repaired
		r.Session.UserID = cmp.Or(r.Session.UserID, s.User)
		r.Session.SessionID = cmp.Or(r.Session.SessionID, s.Conversation)
	}
	r.Session.UserID = cmp.Or(r.Session.UserID, assay.UnknownUser)
	r.Session.SessionID = cmp.Or(r.Session.SessionID, spans[0].Trace)
	for _, i := range speaking(spans) {
		c.hear(&spans[i])
	}
	r.Session.Turns = c.turns(spans)
	return r
}

// tidy puts spans in order of their start and drops those that were exported twice.
func tidy(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(started(&a).Compare(started(&b)), cmp.Compare(a.Seq, b.Seq))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(spans, func(s span) bool {
		key := s.Trace + "/" + s.ID
		twice := s.ID != "" && seen[key]
		seen[key] = true
		return twice
	})
}

func started(s *span) time.Time {
	if s.Start == nil {
		return time.Time{}
	}
	return *s.Start
}

// speaking chooses the spans that tell what was said, in order: calls of a model, unless one is
// inside another, and executions of tools; where no call has content, whatever else has.
func speaking(spans []span) (chosen []int) {
	calls := map[string]bool{}
	for i := range spans {
		if s := &spans[i]; s.Kind == model && len(s.Input)+len(s.Output) > 0 {
			calls[s.Trace+"/"+s.ID] = true
		}
	}
	for i := range spans {
		switch s := &spans[i]; {
		case s.Kind == tool:
			chosen = append(chosen, i)
		case s.Kind == model && (s.Parent == "" || !calls[s.Trace+"/"+s.Parent]), s.Kind == about && len(calls) == 0:
			if len(s.Input)+len(s.Output) > 0 {
				chosen = append(chosen, i)
			}
		}
	}
	return chosen
}

// conversation is what was said so far, and in which trace.
type conversation struct {
	said   []assay.Message
	traces []string
}

func (c *conversation) hear(s *span) {
	if s.Kind == tool {
		c.execution(s)
		return
	}
	for _, m := range s.Input[c.known(s.Input):] {
		if !c.repeated(m) {
			c.say(m, s.Trace, s.Start)
		}
	}
	for _, m := range s.Output {
		c.say(m, s.Trace, cmp.Or(s.End, s.Start))
	}
}

func (c *conversation) say(m assay.Message, trace string, at *time.Time) {
	if m.At == nil {
		m.At = at
	}
	c.said = append(c.said, m)
	c.traces = append(c.traces, trace)
}

// known says how many messages of a call's input have been heard. Input that begins as the
// conversation began repeats it, perhaps with gaps; other input may begin with its last messages.
func (c *conversation) known(in []assay.Message) int {
	i, j := opening(c.said), opening(in)
	if i < len(c.said) && j < len(in) && same(&c.said[i], &in[j]) {
		last := 0
		for at := i; j < len(in) && at < len(c.said); at++ {
			if same(&c.said[at], &in[j]) {
				j++
				last = j
			}
		}
		return last
	}
	if j == len(in) && len(c.said) > 0 {
		return 0
	}
	for n := min(len(in), len(c.said)); n > 0; n-- {
		if slices.EqualFunc(c.said[len(c.said)-n:], in[:n], func(a, b assay.Message) bool { return same(&a, &b) }) {
			return n
		}
	}
	return 0
}

// opening is the place of the first message that is not the system's.
func opening(messages []assay.Message) int {
	for i := range messages {
		if messages[i].Role != assay.RoleSystem {
			return i
		}
	}
	return len(messages)
}

// same says whether two records are of one message. Ids and times differ between conventions.
func same(a, b *assay.Message) bool {
	if a.Role != b.Role {
		return false
	}
	if a.Role == assay.RoleTool && a.ToolCallID != "" && b.ToolCallID != "" {
		return a.ToolCallID == b.ToolCallID
	}
	return strings.TrimSpace(a.Content) == strings.TrimSpace(b.Content) && len(a.Parts) == len(b.Parts) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y assay.ToolCall) bool { return x.Name == y.Name })
}

// repeated says whether m was heard elsewhere: a system message in any earlier call, a tool's result
// in its execution since the last call.
func (c *conversation) repeated(m assay.Message) bool {
	switch m.Role {
	case assay.RoleSystem:
		return slices.ContainsFunc(c.said, func(said assay.Message) bool { return same(&said, &m) })
	case assay.RoleTool:
		for i := len(c.said) - 1; i >= 0 && c.said[i].Role == assay.RoleTool; i-- {
			if same(&c.said[i], &m) {
				return true
			}
		}
	}
	return false
}

// execution adds a tool's result, and its call where no model call told it.
func (c *conversation) execution(s *span) {
	call, result := &s.Input[0].ToolCalls[0], s.Output[0]
	for i := len(c.said) - 1; i >= 0; i-- {
		m := &c.said[i]
		if m.Role == assay.RoleTool && call.ID != "" && m.ToolCallID == call.ID {
			return
		}
		for _, told := range m.ToolCalls {
			if told.ID == call.ID && (call.ID != "" || told.Name == call.Name) {
				c.say(result, s.Trace, cmp.Or(s.End, s.Start))
				return
			}
		}
	}
	c.say(s.Input[0], s.Trace, s.Start)
	c.say(result, s.Trace, cmp.Or(s.End, s.Start))
}

// turns splits what was said and gives every turn what its trace says about it.
func (c *conversation) turns(spans []span) []assay.Turn {
	turns := openai.Split(c.said)
	if len(turns) == 0 {
		turns = []assay.Turn{{StartedAt: spans[0].Start}}
		c.traces = []string{spans[0].Trace}
	}
	facts := map[string]*assay.Turn{}
	for i := range spans {
		s := &spans[i]
		f := facts[s.Trace]
		if f == nil {
			f = &assay.Turn{}
			facts[s.Trace] = f
		}
		f.AgentVersion, f.Source = cmp.Or(f.AgentVersion, s.Version), cmp.Or(f.Source, s.Source)
		if s.Parent != "" && (s.Kind == other || s.Kind == tool) {
			continue // details of the work, not of the conversation
		}
		if f.Metadata == nil {
			f.Metadata = maps.Clone(s.Metadata)
		}
		for k, v := range s.Metadata {
			if _, ok := f.Metadata[k]; !ok {
				f.Metadata[k] = v
			}
		}
	}
	n := 0
	for i := range turns {
		f := facts[c.traces[n]]
		turns[i].AgentVersion, turns[i].Source, turns[i].Metadata = f.AgentVersion, f.Source, maps.Clone(f.Metadata)
		n += len(turns[i].Messages)
	}
	return turns
}
