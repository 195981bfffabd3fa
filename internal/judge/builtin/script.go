package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/judge"
)

// script is a session of a set in the form in which people write it. A turn is a list of lines, and
// right answers stand with what they are about: the session, the turn (in its last line) or the call.
type script struct {
	ID    string   `yaml:"id"`
	Turns [][]line `yaml:"turns"`
	right `yaml:",inline"`
}

// line is one message, one call (`call: 'tool {"its": "arguments"}'`) or one call's result: calls are
// answered in their order. Calls in a row, also after the agent's text, are made by one message.
type line struct {
	System *string `yaml:"system"`
	User   *string `yaml:"user"`
	Agent  *string `yaml:"agent"`
	Call   *string `yaml:"call"`
	Result *string `yaml:"result"`
	right  `yaml:",inline"`
}

// right is a right answer: criteria by name, each a value, not_applicable or cannot_tell.
type right struct {
	Answer map[string]any `yaml:"answer"`
	Quote  texts          `yaml:"quote"`
	Why    string         `yaml:"why"`
}

// texts is one text or a list of them.
type texts []string

func (t *texts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*t = texts{n.Value}
		return nil
	}
	return n.Decode((*[]string)(t))
}

// readSet reads a file of a set and holds every answer to the judge's form.
func readSet(text []byte, name string, f form) ([]Example, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var scripts []script
	if err := dec.Decode(&scripts); err != nil {
		return nil, err
	}
	examples := make([]Example, len(scripts))
	for i, s := range scripts {
		var err error
		if examples[i], err = s.example(name, f); err != nil {
			return nil, fmt.Errorf("%s: %w", s.ID, err)
		}
	}
	return examples, nil
}

func (s script) example(name string, f form) (Example, error) {
	e := Example{Session: &assay.Session{UserID: name, SessionID: s.ID}, Why: s.Why}
	w := writing{session: e.Session, answers: map[string]right{}}
	for _, lines := range s.Turns {
		if err := w.turn(lines); err != nil {
			return e, err
		}
	}
	if s.Answer != nil {
		w.answers[""] = s.right
	}
	units := judge.Units(e.Session, f.unit)
	for _, u := range units {
		r, ok := w.answers[u.Name]
		if !ok {
			return e, fmt.Errorf("there is no answer about the unit %q", u.Name)
		}
		if r.Why == "" {
			r.Why = s.Why
		}
		findings, err := r.findings(e.Session, f.criteria)
		if err != nil {
			return e, fmt.Errorf("unit %q: %w", u.Name, err)
		}
		e.Answers = append(e.Answers, assay.Answer{Unit: u.Name, Findings: findings})
	}
	if len(w.answers) != len(units) {
		return e, fmt.Errorf("it has %d answers and the judge asks about %d units", len(w.answers), len(units))
	}
	var err error
	if f.unit == assay.UnitSession {
		e.Answers[0], err = f.pass.Answer(e.Answers[0].Findings)
		return e, err
	}
	own, err := f.whole(e.Answers)
	e.Answers = append(e.Answers, own)
	return e, err
}

// writing makes a session of lines.
type writing struct {
	session *assay.Session
	answers map[string]right // by unit
	calls   int              // made so far
	open    []assay.ToolCall // not answered yet
}

func (w *writing) turn(lines []line) error {
	at := len(w.session.Turns)
	w.session.Turns = append(w.session.Turns, assay.Turn{})
	t := &w.session.Turns[at]
	for _, l := range lines {
		unit := fmt.Sprintf("t%d", at)
		said := func(role assay.Role, text *string) {
			t.Messages = append(t.Messages, assay.Message{Role: role, Content: strings.TrimSpace(*text)})
		}
		switch {
		case l.System != nil:
			said(assay.RoleSystem, l.System)
		case l.User != nil:
			said(assay.RoleUser, l.User)
		case l.Agent != nil:
			said(assay.RoleAssistant, l.Agent)
		case l.Call != nil:
			unit += w.call(t, *l.Call)
		case l.Result != nil:
			if len(w.open) == 0 {
				return fmt.Errorf("the result %q answers no call", *l.Result)
			}
			c := w.open[0]
			w.open = w.open[1:]
			t.Messages = append(t.Messages, assay.Message{Role: assay.RoleTool, Name: c.Name, ToolCallID: c.ID, Content: strings.TrimSpace(*l.Result)})
		}
		if l.Answer != nil {
			w.answers[unit] = l.right
		}
	}
	return nil
}

// call adds a call and returns the rest of its unit's name.
func (w *writing) call(t *assay.Turn, text string) string {
	w.calls++
	c := assay.ToolCall{ID: fmt.Sprintf("c%d", w.calls)}
	c.Name, c.Arguments, _ = strings.Cut(text, " ")
	w.open = append(w.open, c)
	last := len(t.Messages) - 1
	if last < 0 || t.Messages[last].Role != assay.RoleAssistant {
		t.Messages = append(t.Messages, assay.Message{Role: assay.RoleAssistant})
		last++
	}
	m := &t.Messages[last]
	m.ToolCalls = append(m.ToolCalls, c)
	return fmt.Sprintf("m%dc%d", last, len(m.ToolCalls)-1)
}

// findings reads the answer as a judge's own is read.
func (r right) findings(s *assay.Session, criteria []assay.Criterion) ([]assay.Finding, error) {
	object := map[string]any{}
	for _, c := range criteria {
		value, ok := r.Answer[c.Name]
		if !ok {
			return nil, fmt.Errorf("%s has no answer", c.Name)
		}
		answer := map[string]any{"reason": r.Why, "value": value}
		if value == judge.StatusNotApplicable || value == judge.StatusCannotTell {
			answer["status"], answer["value"] = value, nil
		}
		if c.Evidence != assay.EvidenceNone {
			answer["evidence"] = []string(r.Quote)
		}
		object[c.Name] = answer
	}
	if len(r.Answer) > len(object) {
		return nil, fmt.Errorf("the answer names %s, the criteria are %s", slices.Sorted(maps.Keys(r.Answer)), slices.Sorted(maps.Keys(object)))
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	findings, err := judge.ReadFindings(raw, criteria)
	if err != nil {
		return nil, err
	}
	for i := range findings {
		findings[i].Evidence = judge.Verify(s, findings[i].Evidence)
		for _, e := range findings[i].Evidence {
			if !e.Verified {
				return nil, fmt.Errorf("the quote %q does not stand in the session", e.Quote)
			}
		}
	}
	return findings, nil
}
