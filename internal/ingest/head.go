package ingest

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"assay/internal/assay"
)

// Bounds of the metadata that a head keeps. Rows are scanned by the million.
const (
	maxMetadata      = 8 << 10 // bytes of keys and values together
	maxMetadataValue = 1 << 10
)

// Head tells what lists and plans know of s. Keys, version, hash and arrival are left to others.
func Head(s *assay.Session, settings assay.Settings, zone *time.Location) assay.Head {
	h := assay.Head{UserID: s.UserID, SessionID: s.SessionID, SourceURL: s.SourceURL, Turns: len(s.Turns), Empty: s.Empty()}
	for i := range s.Turns {
		t := &s.Turns[i]
		if first := first(t); h.StartedAt == nil && first != nil {
			h.StartedAt = first
		}
		h.LastTurnAt = later(h.LastTurnAt, last(t))
		h.Messages += len(t.Messages)
		for j := range t.Messages {
			h.ToolCalls += len(t.Messages[j].ToolCalls)
		}
		if t.AgentVersion != "" && t.AgentVersion != h.AgentVersion {
			if h.AgentVersion != "" {
				h.AgentVersion = assay.Mixed
			} else {
				h.AgentVersion = t.AgentVersion
			}
		}
		if h.Source == "" {
			h.Source = t.Source
		}
	}
	h.SettleFrom = h.LastTurnAt
	if len(s.Turns) > 0 {
		h.Metadata = scalars(s.Turns[0].Metadata)
	}
	h.Place(settings, zone)
	return h
}

// first is when a turn began: its own word, else the first of its messages that has a time.
func first(t *assay.Turn) *time.Time {
	if t.StartedAt != nil {
		return t.StartedAt
	}
	for i := range t.Messages {
		if t.Messages[i].At != nil {
			return t.Messages[i].At
		}
	}
	return t.EndedAt
}

// last is the latest time that a turn names: clocks run backwards in real records.
func last(t *assay.Turn) *time.Time {
	latest := later(t.StartedAt, t.EndedAt)
	for i := range t.Messages {
		latest = later(latest, t.Messages[i].At)
	}
	return latest
}

func later(a, b *time.Time) *time.Time {
	if a == nil || (b != nil && b.After(*a)) {
		return b
	}
	return a
}

// scalars keeps texts, numbers and booleans. When there are too many, the largest go first, so that
// one long text does not push out the arm.
func scalars(metadata map[string]json.RawMessage) map[string]json.RawMessage {
	type entry struct {
		key   string
		value json.RawMessage
	}
	var entries []entry
	total := 0
	for k, v := range metadata {
		if len(v) == 0 || len(v) > maxMetadataValue || v[0] == '{' || v[0] == '[' || v[0] == 'n' {
			continue
		}
		entries = append(entries, entry{k, v})
		total += len(k) + len(v)
	}
	if len(entries) == 0 {
		return nil
	}
	if total > maxMetadata {
		slices.SortFunc(entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(len(a.key)+len(a.value), len(b.key)+len(b.value)), cmp.Compare(a.key, b.key))
		})
	}
	kept := make(map[string]json.RawMessage, len(entries))
	total = 0
	for _, e := range entries {
		if total += len(e.key) + len(e.value); total > maxMetadata {
			break
		}
		kept[e.key] = e.value
	}
	return kept
}
