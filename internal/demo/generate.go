package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"assay/internal/assay"
)

// Days is how many days the sessions spread over, from the start on.
const Days = 14

// What is special about some days, counted from 0 at a Monday.
const (
	badDay    = 4 // the order system times out
	busyDay   = 8 // ten times the traffic
	updateDay = 9 // a new agent version is rolled out
)

// Start is the Monday on which the demo's two weeks begin when nobody names another day.
func Start() time.Time { return time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC) }

// Generate yields n sessions, numbered from 1, until yield returns false. Start should be midnight.
// The session that is yielded is the receiver's to keep.
func Generate(seed string, n int, start time.Time, yield func(assay.Session) bool) {
	sum := sha256.Sum256([]byte(seed))
	key := binary.BigEndian.Uint64(sum[:])
	source := rand.NewPCG(key, 0)
	dice := rand.New(source)
	days := traffic()
	for i := range n {
		// A stream of its own for each session: it does not depend on how many there are.
		source.Seed(key, uint64(i)*0x9E3779B97F4A7C15)
		if !yield(session(dice, i, start, days)) {
			return
		}
	}
}

// traffic is each day's share of the sessions, added up.
func traffic() [Days]float64 {
	var days [Days]float64
	sum := 0.0
	for d := range days {
		weight := 1.0
		switch {
		case d == busyDay:
			weight = 10
		case d%7 >= 5:
			weight = 0.4
		}
		sum += weight
		days[d] = sum
	}
	for d := range days {
		days[d] /= sum
	}
	return days
}

func session(dice *rand.Rand, i int, start time.Time, days [Days]float64) assay.Session {
	day := 0
	for u := dice.Float64(); day < Days-1 && u >= days[day]; {
		day++
	}
	// Some users come often: low numbers are drawn more than high ones.
	often := dice.Float64()
	user := 1 + int(often*often*float64(i+4)/4)

	// Between 07:00 and 22:00, most around the middle; the latest ends before midnight.
	hours := 7 + 15*(dice.Float64()+dice.Float64())/2
	s := story{
		dice: dice, day: day, number: i + 1,
		at:  start.AddDate(0, 0, day).Add(time.Duration(hours * float64(time.Hour))).Truncate(time.Millisecond),
		arm: arm(dice.Float64()),
	}
	s.version = "demo-agent 1.4.0"
	if day >= updateDay {
		s.version = "demo-agent 1.5.0"
	}
	return assay.Session{
		UserID:    fmt.Sprintf("synthetic-user-%04d", user),
		SessionID: fmt.Sprintf("demo-%07d", i+1),
		Turns:     s.turns(),
	}
}

// arm is "" for sessions that nobody assigned: 2 % of them.
func arm(u float64) string {
	switch {
	case u < 0.49:
		return assay.Treatment
	case u < 0.98:
		return assay.Control
	}
	return ""
}

func (s *story) metadata(topic string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{"synthetic": json.RawMessage("true"), "topic": quoted(topic), "channel": quoted(pick(s.dice, channels))}
	if s.arm != "" {
		m["arm"] = quoted(s.arm)
	}
	return m
}

// quoted makes a JSON string of a text that needs no escapes.
func quoted(s string) json.RawMessage { return json.RawMessage(`"` + s + `"`) }

func pick[T any](dice *rand.Rand, from []T) T { return from[dice.IntN(len(from))] }
