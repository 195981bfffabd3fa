package assay

import (
	"encoding/json"
	"strings"
	"time"
)

// Session is one recorded conversation as its source told it: the body that is stored and hashed.
// Its JSON form is the native format, version FormatVersion (docs/formats/native.md).
type Session struct {
	UserID    string `json:"user_id"`
	SessionID string `json:"session_id"`
	SourceURL string `json:"source_url,omitempty"`
	Turns     []Turn `json:"turns"`
}

// FormatVersion names the native format; a reader refuses versions that it does not know.
const FormatVersion = "assay.session/1"

// Turn is one request of the user and what the agent did about it. Turns stand in recorded order.
type Turn struct {
	StartedAt    *time.Time                 `json:"started_at,omitempty"`
	EndedAt      *time.Time                 `json:"ended_at,omitempty"`
	AgentVersion string                     `json:"agent_version,omitempty"`
	Source       string                     `json:"source,omitempty"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"`
	Messages     []Message                  `json:"messages"`
}

// Role says who speaks in a message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one utterance, tool call or tool result.
type Message struct {
	Role       Role       `json:"role"`
	Name       string     `json:"name,omitempty"`
	Content    string     `json:"content,omitempty"`
	Reasoning  string     `json:"reasoning,omitempty"`    // thinking text, when the source recorded it
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // calls that an assistant message makes
	ToolCallID string     `json:"tool_call_id,omitempty"` // of a tool message; ids may repeat inside a session
	Parts      []Part     `json:"parts,omitempty"`        // what is not text: images, audio, files
	At         *time.Time `json:"at,omitempty"`
}

// ToolCall is one call that the agent made. Arguments is the text as recorded, usually JSON.
type ToolCall struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// Part is a piece of a message that is not text. Data is kept as recorded (often base64 or a link);
// renderers show only Kind, MediaType and size.
type Part struct {
	Kind      string `json:"kind"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
}

// UnknownUser is the user of a session whose source names none. Sessions of unknown users are not taken for
// those of one person: statistics count each as a user of its own.
const UnknownUser = "unknown"

// SessionKey is a session's row number.
type SessionKey int64

// ContentKey is the row number of one content version of a session.
type ContentKey int64

// Hash is a SHA-256 in lower-case hex.
type Hash string

// Head is what lists and plans know of a session without loading its body.
type Head struct {
	Key          SessionKey                 `json:"-"`
	Content      ContentKey                 `json:"-"`
	UserID       string                     `json:"user_id"`
	SessionID    string                     `json:"session_id"`
	ContentHash  Hash                       `json:"content_hash"`
	Version      int                        `json:"version"`              // 1 for the first content of this session
	StartedAt    *time.Time                 `json:"started_at,omitempty"` // first turn that has a time
	LastTurnAt   *time.Time                 `json:"last_turn_at,omitempty"`
	ArrivedAt    time.Time                  `json:"arrived_at"` // when this content version was stored
	SettleFrom   *time.Time                 `json:"-"`          // eligible from SettleFrom + the settling time; nil: at once
	Day          string                     `json:"day"`        // YYYY-MM-DD in the project's zone, or Undated
	Arm          string                     `json:"arm"`
	Case         string                     `json:"case,omitempty"`
	SourceURL    string                     `json:"source_url,omitempty"`
	AgentVersion string                     `json:"agent_version,omitempty"` // Mixed when turns differ
	Source       string                     `json:"source,omitempty"`
	Turns        int                        `json:"turns"`
	Messages     int                        `json:"messages"`
	ToolCalls    int                        `json:"tool_calls"`
	BodyBytes    int64                      `json:"body_bytes"`         // of the canonical JSON, before compression
	Repaired     bool                       `json:"repaired,omitempty"` // text was not valid UTF-8 and was replaced
	Empty        bool                       `json:"empty,omitempty"`    // Session.Empty: nothing to grade
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"` // of the first turn, scalars only
}

// Name is how people write a session: USER/ID.
func (h Head) Name() string { return SessionName(h.UserID, h.SessionID) }

// SessionName joins the two halves; a slash or percent sign inside the user id is escaped.
func SessionName(user, id string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F").Replace(user) + "/" + id
}

// ParseSessionName splits USER/ID at the first slash.
func ParseSessionName(name string) (user, id string, err error) {
	user, id, ok := strings.Cut(name, "/")
	if !ok || user == "" || id == "" {
		return "", "", Errorf(CodeInvalid, "session %q is not of the form USER/ID", name).
			WithHint("`assay sessions list` prints the names; write a slash inside a user id as %%2F")
	}
	return strings.NewReplacer("%2F", "/", "%2f", "/", "%25", "%").Replace(user), id, nil
}

// Empty says whether there is nothing to grade: no message holds text, a tool call or a part.
func (s *Session) Empty() bool {
	for i := range s.Turns {
		for j := range s.Turns[i].Messages {
			m := &s.Turns[i].Messages[j]
			if m.Role != RoleSystem && (strings.TrimSpace(m.Content) != "" || len(m.ToolCalls) > 0 || len(m.Parts) > 0) {
				return false
			}
		}
	}
	return true
}
