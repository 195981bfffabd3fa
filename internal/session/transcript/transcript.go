// Package transcript writes a session as the text that a judge reads, and finds a judge's quotes in
// the session again.
//
// It owns the text's layout, its Version and its boundary. It refuses to know judges and prompts.
// Its invariants: the text is a function of what is shown alone, so that the arm, the agent version,
// metadata, the user and the source change nothing unless they are allow-listed; and nothing that a
// session says can pass for the layout: what is said is indented, what we say never is, and the
// boundary around it all is a hash that the text cannot contain. What is left out (cut.go) is said in
// such a line of ours.
package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"assay/internal/assay"
)

// Version names the layout. It is part of a judge version's hash: change it with any change of what
// Render writes.
const Version = "transcript/2"

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
	Cut      bool // a part was left out, and the text says which
}

// Render writes s. Turns and messages are numbered from 0, as evidence is.
func Render(s *assay.Session, o Options) Transcript {
	w := write(s, o)
	return framed(w.b.String(), false)
}

func write(s *assay.Session, o Options) *writer {
	w := &writer{o: o}
	size, messages := 0, 0
	for i := range s.Turns {
		messages += len(s.Turns[i].Messages)
		for j := range s.Turns[i].Messages {
			m := &s.Turns[i].Messages[j]
			size += len(m.Content) + len(m.Content)/16 + 64
			for n := range m.ToolCalls {
				size += len(m.ToolCalls[n].Arguments) + 96
			}
		}
	}
	w.b.Grow(size)
	w.blocks = make([]block, 0, messages)
	if o.User {
		w.line("[session] user: %s", word(s.UserID))
	}
	w.preamble = w.b.Len()
	for i := range s.Turns {
		w.turn(i, &s.Turns[i])
	}
	return w
}

// framed puts the boundary around a body.
func framed(body string, cut bool) Transcript {
	boundary := boundaryOf(body)
	return Transcript{
		Text:     "<<<transcript " + boundary + "\n" + body + "transcript " + boundary + ">>>\n",
		Boundary: boundary,
		Cut:      cut,
	}
}

// boundaryOf hashes the text as shown, not the content: metadata that is not shown must not move a
// byte. A text that holds its own hash is hashed again until it does not.
func boundaryOf(text string) string {
	for n := 0; ; n++ {
		sum := Sum(Version+" "+strconv.Itoa(n)+"\n", text)
		if b := hex.EncodeToString(sum[:12]); !strings.Contains(text, b) {
			return b
		}
	}
}

// Sum is the SHA-256 of texts one after the other, without a copy of them.
func Sum(texts ...string) [sha256.Size]byte {
	h := sha256.New()
	chunk := make([]byte, 512)
	for _, text := range texts {
		for text != "" {
			n := copy(chunk, text)
			h.Write(chunk[:n])
			text = text[n:]
		}
	}
	return [sha256.Size]byte(h.Sum(chunk[:0]))
}

type writer struct {
	b        strings.Builder
	o        Options
	preamble int     // length of what stands before the first block
	blocks   []block // of the text, in order
}

// block is what is left out whole or not at all: a message with all that belongs to it, the first of
// a turn with the lines about the turn.
type block struct {
	at            int // where it begins
	turn, message int // message is -1 for a turn without one
	user          bool
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *writer) turn(i int, t *assay.Turn) {
	begin := w.b.Len()
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
	if len(t.Messages) == 0 && w.b.Len() > begin {
		w.blocks = append(w.blocks, block{at: begin, turn: i, message: -1})
	}
	for j := range t.Messages {
		m := &t.Messages[j]
		w.blocks = append(w.blocks, block{at: begin, turn: i, message: j, user: m.Role == assay.RoleUser && strings.TrimSpace(m.Content) != ""})
		w.message(i, j, m)
		begin = w.b.Len()
	}
}

func (w *writer) message(i, j int, m *assay.Message) {
	w.place(i, j)
	w.b.WriteString("] " + role(m.Role))
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
		w.b.WriteString(": (empty)\n")
	} else {
		w.b.WriteString(":\n")
		w.said(m.Content)
	}
	if w.o.Reasoning && m.Reasoning != "" {
		w.place(i, j)
		w.b.WriteString(" reasoning]:\n")
		w.said(m.Reasoning)
	}
	for n := range m.ToolCalls {
		c := &m.ToolCalls[n]
		w.place(i, j)
		w.b.WriteString(" call ")
		w.number(n)
		w.b.WriteString("] " + word(c.Name))
		if c.ID != "" {
			w.b.WriteString(" id " + word(c.ID))
		}
		w.b.WriteString(":\n")
		w.said(c.Arguments)
	}
	for n := range m.Parts {
		p := &m.Parts[n]
		w.place(i, j)
		w.line(" part %d] %s, %s, %d bytes, not shown", n, word(p.Kind), mediaType(p.MediaType), len(p.Data))
	}
}

// place begins a line about a message.
func (w *writer) place(turn, message int) {
	w.b.WriteString("[turn ")
	w.number(turn)
	w.b.WriteString(" message ")
	w.number(message)
}

func (w *writer) number(n int) {
	var digits [20]byte
	w.b.Write(strconv.AppendInt(digits[:0], int64(n), 10))
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
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // each bad byte becomes the replacement character
	}
	w.b.WriteString(indent)
	from := 0
	for i := 0; i < len(text); i++ {
		if c := text[i]; c > '\r' && c < utf8.RuneSelf {
			continue
		}
		n := breaks(text[i:])
		if n == 0 {
			continue
		}
		w.b.WriteString(text[from:i])
		if !strings.HasPrefix(text[i:], "\r\n") {
			w.b.WriteString("\n" + indent)
		}
		i += n - 1
		from = i + 1
	}
	w.b.WriteString(text[from:])
	w.b.WriteByte('\n')
}

// breaks is the length of the character that text begins with if it ends a line for some reader, else 0:
// \n, \v, \f, \r, U+0085, U+2028 and U+2029.
func breaks(text string) int {
	switch c := text[0]; {
	case c >= '\n' && c <= '\r':
		return 1
	case c < 0xC2:
		return 0
	case strings.HasPrefix(text, "\u0085"):
		return 2
	case strings.HasPrefix(text, "\u2028"), strings.HasPrefix(text, "\u2029"):
		return 3
	}
	return 0
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
