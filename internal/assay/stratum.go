package assay

import (
	"encoding/json"
	"time"
)

// ArmType says what a project's arm key holds.
type ArmType string

const (
	ArmBool   ArmType = "bool"
	ArmString ArmType = "string"
)

// Arms that are not a text of the session's own.
const (
	Untagged  = "untagged"  // the key is absent or of another type
	Treatment = "treatment" // bool true
	Control   = "control"   // bool false
)

// Undated is the day of a session without any time. It sorts after every date.
const Undated = "undated"

// Mixed is the agent version of a session whose turns name several.
const Mixed = "mixed"

// Stratum is a day and an arm.
type Stratum struct {
	Day string `json:"day"`
	Arm string `json:"arm"`
}

// ArmOf reads the arm from the metadata of a session's first turn. A value of another type is
// Untagged: "true" is not true, 1 is not true, and an empty text is no arm.
func ArmOf(metadata map[string]json.RawMessage, key string, typ ArmType) string {
	raw, ok := metadata[key]
	if !ok || key == "" {
		return Untagged
	}
	switch typ {
	case ArmBool:
		switch string(raw) {
		case "true":
			return Treatment
		case "false":
			return Control
		}
	case ArmString:
		var s string
		if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil && s != "" {
			return s
		}
	}
	return Untagged
}

// CaseOf reads the case from the metadata of the first turn: a text as it is, a number as it is
// written; anything else means that the session has no case.
func CaseOf(metadata map[string]json.RawMessage, key string) string {
	raw, ok := metadata[key]
	if !ok || key == "" || len(raw) == 0 {
		return ""
	}
	switch c := raw[0]; {
	case c == '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	case c == '-' || (c >= '0' && c <= '9'):
		return string(raw)
	}
	return ""
}

// DayOf is the calendar day of t in zone, or Undated.
func DayOf(t *time.Time, zone *time.Location) string {
	if t == nil {
		return Undated
	}
	return t.In(zone).Format(time.DateOnly)
}

// Place sets what the project's settings make of h: day, arm and case. It reads the metadata that
// the head keeps, so that placing again after a change of settings gives what an import gives.
func (h *Head) Place(s Settings, zone *time.Location) {
	h.Day = DayOf(h.StartedAt, zone)
	h.Arm = ArmOf(h.Metadata, s.ArmKey, s.ArmType)
	h.Case = CaseOf(h.Metadata, s.CaseKey)
}
