// Package taubench reads results of tau-bench: one JSON array of attempts, each with its task, trial,
// reward and messages (docs/formats/tau-bench.md).
//
// It owns what an attempt means: who the user is, how the session is named, and that the reward is a
// recorded answer to the criterion pass. It refuses to know projects: what is stored depends on the
// file alone. Its invariant: the reward never enters the session, only its label.
package taubench

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/assay"
	"assay/internal/session/openai"
	"assay/internal/session/piece"
)

// Rater is who gave the labels, and the source of the turns.
const Rater = "tau-bench"

type attempt struct {
	TaskID openai.Text      `json:"task_id"`
	Trial  openai.Text      `json:"trial"`
	Reward jsontext.Value   `json:"reward"`
	Traj   []openai.Message `json:"traj"`
	Info   struct {
		Task struct {
			UserID openai.Text `json:"user_id"`
		} `json:"task"`
	} `json:"info"`
}

// Parse reads one attempt.
func Parse(raw []byte) piece.Record {
	a, repaired, fault := piece.Decode[attempt](raw)
	switch {
	case fault != nil:
		return piece.Record{Fault: fault}
	case a.TaskID == "":
		return piece.Record{Fault: piece.Faultf("", "no member \"task_id\"")}
	case a.Traj == nil:
		return piece.Record{Fault: piece.Faultf("", "no member \"traj\" with a list of messages")}
	}
	if a.Trial == "" {
		a.Trial = "0"
	}
	s := &assay.Session{
		UserID:    string(a.Info.Task.UserID),
		SessionID: "task-" + string(a.TaskID) + "-trial-" + string(a.Trial),
		Turns:     openai.Turns(a.Traj),
	}
	if s.UserID == "" {
		s.UserID = assay.UnknownUser
	}
	if len(s.Turns) == 0 {
		s.Turns = []assay.Turn{{}}
	}
	for i := range s.Turns {
		s.Turns[i].Source = Rater
	}
	s.Turns[0].Metadata = map[string]json.RawMessage{
		"case":  assay.AppendString(nil, string(a.TaskID)),
		"trial": assay.AppendString(nil, string(a.Trial)),
	}
	return piece.Record{Session: s, Labels: label(a.Reward), Repaired: repaired}
}

// label is the reward as an answer to the criterion pass: 1 is true, 0 false. A reward between them
// is no answer, so the session has no label.
func label(reward jsontext.Value) []assay.Label {
	var value json.RawMessage
	switch string(reward) {
	case "1", "1.0", "true":
		value = json.RawMessage("true")
	case "0", "0.0", "false":
		value = json.RawMessage("false")
	default:
		return nil
	}
	return []assay.Label{{Criterion: assay.CriterionPass, Value: value, Rater: Rater, Probability: 1}}
}
