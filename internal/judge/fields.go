package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/definition"
)

// Fields of a session that a judge does not see unless its definition lists them: they tell the arm
// or lead to it. `metadata.KEY` shows one key of a turn's metadata.
const (
	FieldUserID       = "user_id"
	FieldSessionID    = "session_id"
	FieldSourceURL    = "source_url"
	FieldAgentVersion = "agent_version"
	FieldSource       = "source"
	fieldMetadata     = "metadata."
)

// Fields that only a model's transcript leaves out by itself; rules and commands see them anyway.
const (
	FieldTimes     = "times"
	FieldReasoning = "reasoning"
)

// CheckField says what is wrong with a name under `fields` for a kind of judge.
func CheckField(kind assay.JudgeKind, name string) *assay.Error {
	if key, ok := strings.CutPrefix(name, fieldMetadata); ok && key != "" {
		return nil
	}
	known := []string{FieldUserID, FieldAgentVersion, FieldSource, FieldSessionID, FieldSourceURL}
	if kind == assay.JudgeLLM {
		known = []string{FieldUserID, FieldAgentVersion, FieldSource, FieldTimes, FieldReasoning}
	}
	if slices.Contains(known, name) {
		return nil
	}
	return assay.Errorf(assay.CodeInvalid, "field %q is not known to judges of the kind %s%s", name, kind, definition.Nearest(name, known)).
		WithHint("use metadata.KEY, %s; everything else in a session is shown anyway", strings.Join(known, ", "))
}

// MetadataKeys returns the keys that fields shows.
func MetadataKeys(fields []string) []string {
	var keys []string
	for _, f := range fields {
		if key, ok := strings.CutPrefix(f, fieldMetadata); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// Shown is s without what is hidden. Messages are shared with s.
func Shown(s *assay.Session, fields []string) assay.Session {
	shows := func(f string) bool { return slices.Contains(fields, f) }
	out := assay.Session{Turns: make([]assay.Turn, len(s.Turns))}
	if shows(FieldUserID) {
		out.UserID = s.UserID
	}
	if shows(FieldSessionID) {
		out.SessionID = s.SessionID
	}
	if shows(FieldSourceURL) {
		out.SourceURL = s.SourceURL
	}
	for i, t := range s.Turns {
		if !shows(FieldAgentVersion) {
			t.AgentVersion = ""
		}
		if !shows(FieldSource) {
			t.Source = ""
		}
		metadata := t.Metadata
		t.Metadata = nil
		for _, key := range MetadataKeys(fields) {
			if value, ok := metadata[key]; ok {
				if t.Metadata == nil {
					t.Metadata = map[string]json.RawMessage{}
				}
				t.Metadata[key] = value
			}
		}
		out.Turns[i] = t
	}
	return out
}
