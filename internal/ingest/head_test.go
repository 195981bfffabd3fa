package ingest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/assay"
)

func TestMetadataOfAHeadIsBounded(t *testing.T) {
	m := map[string]json.RawMessage{"arm": json.RawMessage(`"b"`), "long": assay.AppendString(nil, strings.Repeat("x", 2000)), "list": json.RawMessage(`[1]`), "none": json.RawMessage(`null`)}
	for i := range 500 {
		m[fmt.Sprintf("filler%03d", i)] = json.RawMessage(`"0123456789"`)
	}
	s := &assay.Session{Turns: []assay.Turn{{Metadata: m}}}
	h := Head(s, assay.DefaultSettings(), time.UTC)
	size := 0
	for k, v := range h.Metadata {
		size += len(k) + len(v)
	}
	if size > maxMetadata || size < maxMetadata-100 || h.Arm != "b" || h.Metadata["long"] != nil || h.Metadata["list"] != nil || h.Metadata["none"] != nil {
		t.Errorf("%d bytes, arm %s", size, h.Arm)
	}
}

// Placing a head again under other settings gives what importing under them gives.
func TestPlacingAgainIsImportingAgain(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	values := []string{`"a"`, `""`, `true`, `false`, `"true"`, `1`, `1.50`, `null`, `[]`, `{}`, `"` + strings.Repeat("y", 1100) + `"`}
	rapid.Check(t, func(t *rapid.T) {
		s := &assay.Session{Turns: []assay.Turn{{Metadata: map[string]json.RawMessage{}}}}
		for _, k := range []string{"arm", "case", "x"} {
			s.Turns[0].Metadata[k] = json.RawMessage(rapid.SampledFrom(values).Draw(t, k))
		}
		if rapid.Bool().Draw(t, "dated") {
			at := time.Unix(rapid.Int64Range(1.7e9, 1.8e9).Draw(t, "at"), 0)
			s.Turns[0].StartedAt = &at
		}
		other := assay.Settings{ArmKey: rapid.SampledFrom([]string{"", "arm", "x"}).Draw(t, "armkey"), ArmType: rapid.SampledFrom([]assay.ArmType{assay.ArmBool, assay.ArmString}).Draw(t, "type"), CaseKey: "x"}
		placed := Head(s, assay.DefaultSettings(), time.UTC)
		placed.Place(other, berlin)
		if fresh := Head(s, other, berlin); placed.Arm != fresh.Arm || placed.Day != fresh.Day || placed.Case != fresh.Case {
			t.Fatalf("placed %+v, fresh %+v", placed, fresh)
		}
	})
}

func TestBackwardsClock(t *testing.T) {
	at := func(hour int) *time.Time {
		t := time.Date(2025, 3, 1, hour, 0, 0, 0, time.UTC)
		return &t
	}
	s := &assay.Session{Turns: []assay.Turn{{}, {EndedAt: at(12)}, {StartedAt: at(9), EndedAt: at(8), Messages: []assay.Message{{At: at(13)}, {At: at(7)}}}}}
	h := Head(s, assay.DefaultSettings(), time.UTC)
	if !h.StartedAt.Equal(*at(12)) || !h.LastTurnAt.Equal(*at(13)) {
		t.Errorf("started %v, last %v", h.StartedAt, h.LastTurnAt)
	}
}
