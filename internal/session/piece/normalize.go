package piece

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"assay/internal/assay"
)

// MaxID bounds user and session ids, in bytes: databases index them.
const MaxID = 1024

// Normalize brings a session that a format has read into the one form that is stored: times in UTC
// to the microsecond, empty lists absent, metadata without white space. It says what no format may
// leave open: ids, and roles that a judge would misread.
func Normalize(s *assay.Session) *Fault {
	if f := checkID("user_id", s.UserID); f != nil {
		return f
	}
	if f := checkID("session_id", s.SessionID); f != nil {
		return f
	}
	if len(s.Turns) == 0 {
		s.Turns = nil
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		t.StartedAt, t.EndedAt = utc(t.StartedAt), utc(t.EndedAt)
		if len(t.Messages) == 0 {
			t.Messages = nil
		}
		for j := range t.Messages {
			m := &t.Messages[j]
			switch m.Role {
			case assay.RoleSystem, assay.RoleUser, assay.RoleAssistant, assay.RoleTool:
			default:
				return Faultf("", "turn %d, message %d has the role %q; known are system, user, assistant and tool", i, j, m.Role)
			}
			m.At = utc(m.At)
			if len(m.ToolCalls) == 0 {
				m.ToolCalls = nil
			}
			if len(m.Parts) == 0 {
				m.Parts = nil
			}
		}
		if f := compact(t); f != nil {
			return f
		}
	}
	return nil
}

func checkID(field, id string) *Fault {
	switch {
	case strings.TrimSpace(id) == "":
		return Faultf("/"+field, "is missing or blank")
	case len(id) > MaxID:
		return Faultf("/"+field, "is %d bytes long; at most %d are allowed", len(id), MaxID)
	}
	return nil
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC().Truncate(time.Microsecond)
	if y := u.Year(); y < 1 || y > 9999 {
		return nil // no calendar of ours has it: as good as no time
	}
	return &u
}

func compact(t *assay.Turn) *Fault {
	if len(t.Metadata) == 0 {
		t.Metadata = nil
	}
	for k, v := range t.Metadata {
		if len(v) > 0 && bytes.IndexAny(v, " \t\r\n") < 0 {
			continue
		}
		var b bytes.Buffer
		if err := json.Compact(&b, v); err != nil {
			return Faultf("/metadata/"+k, "not JSON: %s", err)
		}
		t.Metadata[k] = b.Bytes()
	}
	return nil
}
