package judge

import (
	"fmt"
	"strings"

	"assay/internal/assay"
)

// Unit is one thing in a session that a judge is asked about.
type Unit struct {
	Name                string // "t3", "t3m1c0"; "" is the session
	Turn, Message, Call int    // Message and Call are -1 where the unit is larger
}

// UnitField is the member of a model's answer about a unit that repeats the unit's name.
const UnitField = "unit"

// Units lists what of a session a judge of the kind is asked about, in order: turns that hold more than
// what the system said, or calls of tools.
func Units(s *assay.Session, kind assay.UnitKind) []Unit {
	var units []Unit
	for i := range s.Turns {
		switch kind {
		case assay.UnitTurn:
			if happened(&s.Turns[i]) {
				units = append(units, Unit{Name: fmt.Sprintf("t%d", i), Turn: i, Message: -1, Call: -1})
			}
		case assay.UnitToolCall:
			for j := range s.Turns[i].Messages {
				for n := range s.Turns[i].Messages[j].ToolCalls {
					units = append(units, Unit{Name: fmt.Sprintf("t%dm%dc%d", i, j, n), Turn: i, Message: j, Call: n})
				}
			}
		default:
			return []Unit{{Turn: -1, Message: -1, Call: -1}}
		}
	}
	return units
}

func happened(t *assay.Turn) bool {
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Role != assay.RoleSystem && (strings.TrimSpace(m.Content) != "" || len(m.ToolCalls) > 0 || len(m.Parts) > 0) {
			return true
		}
	}
	return false
}
