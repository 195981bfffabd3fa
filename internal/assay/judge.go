package assay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// JudgeKind says who answers.
type JudgeKind string

const (
	JudgeRules   JudgeKind = "rules"   // CEL over the session: no network, no key
	JudgeCommand JudgeKind = "command" // a program: session as JSON on stdin, verdict as JSON on stdout
	JudgeLLM     JudgeKind = "llm"     // a model behind a provider's API
)

// JudgeVersion is an immutable definition. ID is a hash of everything that can change an answer
// (docs/MODEL.md, "Judge versions"), so two judges with equal definitions share a version.
type JudgeVersion struct {
	ID        Hash            `json:"version"`
	Kind      JudgeKind       `json:"kind"`
	Unit      UnitKind        `json:"unit"`
	Criteria  []Criterion     `json:"criteria"`
	Alias     bool            `json:"alias"` // the model name carries no date: verdicts are reused for AliasReuse only
	Canonical json.RawMessage `json:"canonical"`
	CreatedAt time.Time       `json:"created_at"`
}

// AliasReuse is how long a verdict of a judge whose model name is an alias may be reused.
const AliasReuse = 24 * time.Hour

// Judge is a name and the version that it means now.
type Judge struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Version     Hash            `json:"version"`
	Settings    json.RawMessage `json:"settings,omitempty"` // what is not in the hash: timeouts, key source
	Source      string          `json:"-"`                  // the YAML as applied
	UpdatedAt   time.Time       `json:"updated_at"`
}

// UnitKind is what one question of a judge is about.
type UnitKind string

const (
	UnitSession  UnitKind = "session"
	UnitTurn     UnitKind = "turn"      // units are named "t3": turn 3, from 0
	UnitToolCall UnitKind = "tool_call" // "t3m1c0": call 0 of message 1 of turn 3
)

// RollUp says how the answers about units make the answer about their session.
type RollUp string

const (
	RollAll   RollUp = "all"   // boolean: every unit is true
	RollAny   RollUp = "any"   // boolean: some unit is true
	RollShare RollUp = "share" // number in [0, 1]: the share of units that are true
	RollCount RollUp = "count" // number: how many units are true
	RollMin   RollUp = "min"   // number, ordinal: the least
	RollMax   RollUp = "max"   // number, ordinal: the greatest
	RollMean  RollUp = "mean"  // number
)

// CriterionType is the type of an answer.
type CriterionType string

const (
	Boolean  CriterionType = "boolean"
	Ordinal  CriterionType = "ordinal"  // one of Values, in rising order
	Number   CriterionType = "number"   // in [Min, Max] where given
	Category CriterionType = "category" // one of Values, unordered
)

// EvidenceRule says whether a criterion must quote the transcript.
type EvidenceRule string

const (
	EvidenceNone     EvidenceRule = "none"
	EvidenceOptional EvidenceRule = "optional"
	EvidenceRequired EvidenceRule = "required"
)

// Criterion is one question of a judge.
type Criterion struct {
	Name     string        `json:"name" yaml:"name"`
	Type     CriterionType `json:"type" yaml:"type"`
	Question string        `json:"question,omitempty" yaml:"question"`
	Values   []string      `json:"values,omitempty" yaml:"values"`
	Min      *float64      `json:"min,omitempty" yaml:"min"`
	Max      *float64      `json:"max,omitempty" yaml:"max"`
	// MayNotApply lets the judge answer that the question does not apply to this session;
	// MayAbstain lets it say that it cannot tell. Neither is ever read as a fail.
	MayNotApply bool         `json:"may_not_apply,omitempty" yaml:"may_not_apply"`
	MayAbstain  bool         `json:"may_abstain,omitempty" yaml:"may_abstain"`
	Evidence    EvidenceRule `json:"evidence,omitempty" yaml:"evidence"`
	// RollUp belongs to criteria of judges whose unit is not the session. A version lists its criteria as
	// they are answered for the session: rolled up.
	RollUp RollUp `json:"roll_up,omitempty" yaml:"roll_up"`
}

// Version is a hash of what is asked: of everything of the criterion but its name. A label that answers an older
// wording is told apart by it, and one that answers the same question of another judge version is not. The
// criterion CriterionPass has none, "": it asks whether the session went well.
func (c Criterion) Version() string {
	c.Name = ""
	raw, err := json.Marshal(c)
	if err != nil {
		panic("assay: encode criterion: " + err.Error()) // limits were read from YAML or JSON, which has no NaN
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
