package assay

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"
)

// AppendCanonical appends the session's canonical JSON: what is stored, hashed and compared. It is
// written by hand because a content hash must never change with the version of a JSON library.
//
// The form (docs/formats/native.md, "Canonical form"): fields in the order of the Go structs, absent
// when empty, except user_id, session_id, turns, role, messages and a tool call's name, which are
// always there; metadata keys in byte order and their values as recorded, without white space
// between tokens; times in RFC 3339, UTC, with as many of six decimals as are needed; in strings only
// the quote, the backslash and control characters are escaped, and invalid UTF-8 becomes U+FFFD.
func (s *Session) AppendCanonical(dst []byte) ([]byte, error) {
	dst = appendField(dst, '{', "user_id", s.UserID)
	dst = appendField(dst, ',', "session_id", s.SessionID)
	dst = appendText(dst, "source_url", s.SourceURL)
	dst = append(dst, `,"turns":[`...)
	var err error
	for i := range s.Turns {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = s.Turns[i].appendCanonical(dst); err != nil {
			return nil, Errorf(CodeInvalid, "session %s, turn %d: %w", SessionName(s.UserID, s.SessionID), i, err)
		}
	}
	return append(dst, "]}"...), nil
}

func (t *Turn) appendCanonical(dst []byte) (_ []byte, err error) {
	open := len(dst)
	if dst, err = appendTime(dst, "started_at", t.StartedAt); err != nil {
		return nil, err
	}
	if dst, err = appendTime(dst, "ended_at", t.EndedAt); err != nil {
		return nil, err
	}
	dst = appendText(dst, "agent_version", t.AgentVersion)
	dst = appendText(dst, "source", t.Source)
	if dst, err = appendMetadata(dst, t.Metadata); err != nil {
		return nil, err
	}
	dst = append(dst, `,"messages":[`...)
	dst[open] = '{' // in place of the first field's comma
	for i := range t.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = t.Messages[i].appendCanonical(dst); err != nil {
			return nil, Errorf(CodeInvalid, "message %d: %w", i, err)
		}
	}
	return append(dst, "]}"...), nil
}

func (m *Message) appendCanonical(dst []byte) ([]byte, error) {
	dst = appendField(dst, '{', "role", string(m.Role))
	dst = appendText(dst, "name", m.Name)
	dst = appendText(dst, "content", m.Content)
	dst = appendText(dst, "reasoning", m.Reasoning)
	for i := range m.ToolCalls {
		dst = append(dst, listStart(i, `,"tool_calls":[`)...)
		open := len(dst)
		dst = appendText(dst, "id", m.ToolCalls[i].ID)
		dst = appendField(dst, ',', "name", m.ToolCalls[i].Name)
		dst[open] = '{'
		dst = appendText(dst, "arguments", m.ToolCalls[i].Arguments)
		dst = append(dst, '}')
	}
	dst = append(dst, listEnd(len(m.ToolCalls))...)
	dst = appendText(dst, "tool_call_id", m.ToolCallID)
	for i := range m.Parts {
		dst = append(dst, listStart(i, `,"parts":[`)...)
		dst = appendField(dst, '{', "kind", m.Parts[i].Kind)
		dst = appendText(dst, "media_type", m.Parts[i].MediaType)
		dst = appendText(dst, "data", m.Parts[i].Data)
		dst = append(dst, '}')
	}
	dst = append(dst, listEnd(len(m.Parts))...)
	dst, err := appendTime(dst, "at", m.At)
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

func listStart(i int, open string) string {
	if i > 0 {
		return ","
	}
	return open
}

func listEnd(n int) string {
	if n > 0 {
		return "]"
	}
	return ""
}

func appendMetadata(dst []byte, metadata map[string]json.RawMessage) ([]byte, error) {
	if len(metadata) == 0 {
		return dst, nil
	}
	keys := make([]string, 0, len(metadata))
	for k := range metadata {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		dst = append(dst, listStart(i, `,"metadata":{`)...)
		dst = append(AppendString(dst, k), ':')
		buf := bytes.NewBuffer(dst)
		if err := json.Compact(buf, metadata[k]); err != nil {
			return nil, Errorf(CodeInvalid, "metadata %q is not JSON: %w", k, err)
		}
		dst = buf.Bytes()
	}
	return append(dst, '}'), nil
}

func appendText(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendField(dst, ',', name, value)
}

// appendField writes names as they are: callers pass constants.
func appendField(dst []byte, before byte, name, value string) []byte {
	dst = append(dst, before, '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return AppendString(dst, value)
}

func appendTime(dst []byte, name string, t *time.Time) ([]byte, error) {
	if t == nil {
		return dst, nil
	}
	u := t.UTC()
	if y := u.Year(); y < 0 || y > 9999 {
		return nil, Errorf(CodeInvalid, "%s is in the year %d", name, y)
	}
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':', '"')
	return append(u.Truncate(time.Microsecond).AppendFormat(dst, time.RFC3339Nano), '"'), nil
}

// AppendString appends s as a JSON string in canonical form.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // one U+FFFD for each bad byte
	}
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[start:i]...), '\\')
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, c)
		case '\b':
			dst = append(dst, 'b')
		case '\f':
			dst = append(dst, 'f')
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
