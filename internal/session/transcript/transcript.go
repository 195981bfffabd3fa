// Package transcript writes a session as the text that a judge reads, and finds a judge's quotes in
// the session again.
//
// It owns the text's layout, its Version and its boundary. It refuses to know judges and prompts.
// Its invariants: the text is a function of what is shown alone, so that the arm, the agent version,
// metadata, the user and the source change nothing unless they are allow-listed; and nothing that a
// session says can pass for the layout: what is said is indented, what we say never is, and the
// boundary around it all is a hash that the text cannot contain.
package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/assay"
)

// Version names the layout. It is part of a judge version's hash: change it with any change of what
// Render writes.
const Version = "transcript/1"

// Options say what is shown beside messages, tool calls and results. They are part of a judge
// version's hash. The zero value shows nothing else.
type Options struct {
	Metadata     []string `json:"metadata,omitempty"` // keys of a turn's metadata
	AgentVersion bool     `json:"agent_version,omitempty"`
	User         bool     `json:"user,omitempty"`
	Source       bool     `json:"source,omitempty"`
	Times        bool     `json:"times,omitempty"`
	Reasoning    bool     `json:"reasoning,omitempty"`
}

// Transcript is a session as a judge reads it. Text begins and ends with a line that holds Boundary,
// which stands nowhere else in it.
type Transcript struct {
	Text     string
	Boundary string
}

// Render writes s. Turns and messages are numbered from 0, as evidence is.
func Render(s *assay.Session, o Options) Transcript {
	w := writer{o: o}
	if o.User {
		w.line("[session] user: %s", word(s.UserID))
	}
	for i := range s.Turns {
		w.turn(i, &s.Turns[i])
	}
	body := w.b.String()
	boundary := boundaryOf(body)
	return Transcript{
		Text:     "<<<transcript " + boundary + "\n" + body + "transcript " + boundary + ">>>\n",
		Boundary: boundary,
	}
}

// boundaryOf hashes the text as shown, not the content: metadata that is not shown must not move a
// byte. A text that holds its own hash is hashed again until it does not.
func boundaryOf(text string) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256([]byte(Version + " " + strconv.Itoa(n) + "\n" + text))
		if b := hex.EncodeToString(sum[:12]); !strings.Contains(text, b) {
			return b
		}
	}
}

type writer struct {
	b strings.Builder
	o Options
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *writer) turn(i int, t *assay.Turn) {
	if w.o.AgentVersion && t.AgentVersion != "" {
		w.line("[turn %d] agent_version: %s", i, word(t.AgentVersion))
	}
	if w.o.Source && t.Source != "" {
		w.line("[turn %d] source: %s", i, word(t.Source))
	}
	if w.o.Times && t.StartedAt != nil {
		w.line("[turn %d] started: %s", i, t.StartedAt.UTC().Format(time.RFC3339Nano))
	}
	keys := slices.Clone(w.o.Metadata)
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		if v, ok := t.Metadata[k]; ok {
			w.line("[turn %d] metadata %s:", i, word(k))
			w.said(string(v))
		}
	}
	for j := range t.Messages {
		w.message(i, j, &t.Messages[j])
	}
}

func (w *writer) message(i, j int, m *assay.Message) {
	place := fmt.Sprintf("[turn %d message %d", i, j)
	fmt.Fprintf(&w.b, "%s] %s", place, role(m.Role))
	if m.Name != "" {
		w.b.WriteString(" " + word(m.Name))
	}
	if m.ToolCallID != "" {
		w.b.WriteString(" answers " + word(m.ToolCallID))
	}
	if w.o.Times && m.At != nil {
		w.b.WriteString(" at " + m.At.UTC().Format(time.RFC3339Nano))
	}
	if m.Content == "" && len(m.ToolCalls) == 0 && len(m.Parts) == 0 {
		w.line(": (empty)")
	} else {
		w.line(":")
		w.said(m.Content)
	}
	if w.o.Reasoning && m.Reasoning != "" {
		w.line("%s reasoning]:", place)
		w.said(m.Reasoning)
	}
	for n := range m.ToolCalls {
		c := &m.ToolCalls[n]
		fmt.Fprintf(&w.b, "%s call %d] %s", place, n, word(c.Name))
		if c.ID != "" {
			w.b.WriteString(" id " + word(c.ID))
		}
		w.line(":")
		w.said(c.Arguments)
	}
	for n := range m.Parts {
		p := &m.Parts[n]
		w.line("%s part %d] %s, %s, %d bytes, not shown", place, n, word(p.Kind), mediaType(p.MediaType), len(p.Data))
	}
}

func mediaType(t string) string {
	if t == "" {
		return "media type unknown"
	}
	return word(t)
}

func role(r assay.Role) string {
	switch r {
	case assay.RoleSystem, assay.RoleUser, assay.RoleAssistant, assay.RoleTool:
		return string(r)
	}
	return word(string(r))
}

const indent = "  "

// said writes text of the session: every line is indented, whatever breaks it.
func (w *writer) said(text string) {
	if text == "" {
		return
	}
	w.b.WriteString(indent)
	for i, r := range text {
		if !breaks(r) {
			w.b.WriteRune(r)
			continue
		}
		if r == '\r' && strings.HasPrefix(text[i:], "\r\n") {
			continue
		}
		w.b.WriteString("\n" + indent)
	}
	w.b.WriteByte('\n')
}

// breaks says whether r ends a line for some reader.
func breaks(r rune) bool {
	switch r {
	case '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// word writes a name of the session inside our own line: as it is when it is plain, else quoted.
func word(s string) string {
	if len(s) > maxWord {
		s = strings.ToValidUTF8(s[:maxWord], "") + "…"
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./+", r))
	}) < 0 {
		return s
	}
	return strconv.Quote(s)
}

const maxWord = 200
