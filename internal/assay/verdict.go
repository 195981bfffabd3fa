package assay

import "encoding/json"

// Answer is what a judge said about one unit of one item: one Finding per criterion, and Pass,
// the judge's declared rule over them. Pass is nil where the rule is undefined because a criterion
// that it needs does not apply or was abstained on.
type Answer struct {
	Unit     string    `json:"unit,omitempty"` // "" for the session itself
	Pass     *bool     `json:"pass"`
	Findings []Finding `json:"findings"`
}

// Finding is the answer to one criterion. Value is a JSON scalar, nil when the criterion does not
// apply or the judge abstained.
type Finding struct {
	Criterion string          `json:"criterion"`
	Value     json.RawMessage `json:"value,omitempty"`
	Applies   bool            `json:"applies"`
	Abstained bool            `json:"abstained,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Evidence  []Evidence      `json:"evidence,omitempty"`
}

// Evidence is a quote from the transcript. Turn and Message count from 0; Start and End are byte
// offsets into the UTF-8 text of that message, both 0 when the quote was not found (Verified false).
type Evidence struct {
	Turn     int    `json:"turn"`
	Message  int    `json:"message"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Quote    string `json:"quote"`
	Verified bool   `json:"verified"`
}

// Verdict is a stored Answer with where it came from. It is never changed.
type Verdict struct {
	Answer
	Run       RunID   `json:"run"` // the run that paid for it
	Seq       int64   `json:"seq"`
	Repeat    int     `json:"repeat"`
	UserID    string  `json:"user_id"`
	SessionID string  `json:"session_id"`
	Content   Hash    `json:"content_hash"`
	Current   bool    `json:"current"` // whether it is about the session's present content
	Judge     string  `json:"judge"`
	Version   Hash    `json:"judge_version"`
	Reused    bool    `json:"reused"` // adopted by the asked-for run from an earlier one
	Stratum   Stratum `json:"stratum"`
	Model     string  `json:"served_model,omitempty"`
	GradedAt  int64   `json:"graded_at"` // microseconds since 1970, UTC
}
