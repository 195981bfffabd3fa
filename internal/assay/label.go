package assay

import (
	"encoding/json"
	"time"
)

// Label is a person's or a recorded answer to a criterion on one content version.
type Label struct {
	ID               int64           `json:"id"`
	UserID           string          `json:"user_id"`
	SessionID        string          `json:"session_id"`
	ContentHash      Hash            `json:"content_hash"`
	Criterion        string          `json:"criterion"`                   // CriterionPass for imported outcomes
	CriterionVersion string          `json:"criterion_version,omitempty"` // judge version that asked, "" for recorded outcomes
	Value            json.RawMessage `json:"value"`                       // JSON scalar
	Rater            string          `json:"rater"`
	Blind            bool            `json:"blind"`
	Probability      float64         `json:"probability"` // of being drawn, in (0, 1]
	CreatedAt        time.Time       `json:"created_at"`
}

// CriterionPass is the criterion that recorded outcomes answer, and the name under which a
// judge's pass rule is reported.
const CriterionPass = "pass"
