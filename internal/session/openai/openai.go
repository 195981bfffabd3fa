// Package openai reads OpenAI chat-messages files: JSONL with one conversation a line, or a JSON
// array of such objects (docs/formats/openai.md).
//
// It owns the shape of chat messages, which other formats share. It refuses to know files and lines.
// Its invariant: a session is a function of its own object alone, so that reading a file again gives
// the same ids, whatever stands around it.
package openai

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

type conversation struct {
	Messages     []Message                  `json:"messages"`
	UserID       Text                       `json:"user_id"`
	User         Text                       `json:"user"`
	SessionID    Text                       `json:"session_id"`
	Conversation Text                       `json:"conversation_id"`
	ID           Text                       `json:"id"`
	SourceURL    string                     `json:"source_url"`
	Source       string                     `json:"source"`
	AgentVersion Text                       `json:"agent_version"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
	StartedAt    Moment                     `json:"started_at"`
	CreatedAt    Moment                     `json:"created_at"`
	Created      Moment                     `json:"created"`
	Timestamp    Moment                     `json:"timestamp"`
}

// Parse reads one conversation.
func Parse(raw []byte) piece.Record {
	c, repaired, fault := piece.Decode[conversation](raw)
	if fault != nil {
		return piece.Record{Fault: fault}
	}
	if c.Messages == nil {
		return piece.Record{Fault: piece.Faultf("", "no member \"messages\" with a list of chat messages")}
	}
	s := &assay.Session{
		UserID:    first(string(c.UserID), string(c.User), assay.UnknownUser),
		SessionID: first(string(c.SessionID), string(c.Conversation), string(c.ID)),
		SourceURL: c.SourceURL,
		Turns:     Turns(c.Messages),
	}
	if s.SessionID == "" {
		s.SessionID = "sha256-" + digest(raw)
	}
	if len(s.Turns) == 0 {
		s.Turns = []assay.Turn{{}} // holds what is known of the session as a whole
	}
	t := &s.Turns[0]
	t.Metadata = c.Metadata
	if t.StartedAt == nil {
		t.StartedAt = cmp.Or(c.StartedAt.Time, c.CreatedAt.Time, c.Created.Time, c.Timestamp.Time)
	}
	for i := range s.Turns {
		s.Turns[i].AgentVersion, s.Turns[i].Source = string(c.AgentVersion), c.Source
	}
	return piece.Record{Session: s, Repaired: repaired}
}

// digest names a conversation that has no id by its own text, without the white space around it.
func digest(raw []byte) string {
	sum := sha256.Sum256(bytes.TrimSpace(raw))
	return hex.EncodeToString(sum[:8])
}
