package assay

import (
	"encoding/json"
	"time"
)

// LabelUse says what a label may be used for.
type LabelUse string

const (
	// UseMeasure labels measure judges: they are a probability sample of something, or recorded for all.
	UseMeasure LabelUse = "measure"
	// UseQueue labels were chosen because of what judges said, as from a list of disagreements. They enter no
	// estimate.
	UseQueue LabelUse = "queue"
	// UsePrompt labels were looked at while the judge was written. They enter no estimate of it.
	UsePrompt LabelUse = "prompt"
)

// Valid says whether u is one of the uses.
func (u LabelUse) Valid() bool { return u == UseMeasure || u == UseQueue || u == UsePrompt }

// Label is a person's or a recorded answer to a criterion on one content version. There is one for each content,
// criterion, criterion version and rater; a rater's new answer replaces the old one.
type Label struct {
	ID               int64           `json:"id"`
	UserID           string          `json:"user_id"`
	SessionID        string          `json:"session_id"`
	ContentHash      Hash            `json:"content_hash"`
	Current          bool            `json:"current" doc:"it is about the session's present content"`
	Criterion        string          `json:"criterion"`                                                                                           // CriterionPass for imported outcomes
	CriterionVersion string          `json:"criterion_version,omitempty" doc:"which wording it answers; absent of recorded outcomes and of pass"` // Criterion.Version
	Value            json.RawMessage `json:"value"`                                                                                               // JSON scalar
	Rater            string          `json:"rater"`
	Blind            bool            `json:"blind" doc:"the rater did not see what a judge said"`
	Decided          bool            `json:"decided,omitempty" doc:"adjudicated: it stands before the labels of raters who disagree"`
	Use              LabelUse        `json:"use"`
	Draw             int64           `json:"draw,omitempty" doc:"the draw that chose this content for labelling"`
	Probability      float64         `json:"probability,omitempty" doc:"of being drawn among the draw's frame, in (0, 1]; absent is not known"`
	Note             string          `json:"note,omitempty"`
	CreatedAt        time.Time       `json:"created_at"`
}

// CriterionPass is the criterion that recorded outcomes answer, and the name under which a
// judge's pass rule is reported.
const CriterionPass = "pass"

// DrawMethod says how contents were chosen for labelling.
type DrawMethod string

const (
	DrawRandom   DrawMethod = "random"        // the same number of each stratum of the run, or all of it
	DrawVerdicts DrawMethod = "verdicts"      // half among those that the judge passed, half among those that it failed
	DrawQueue    DrawMethod = "disagreements" // where judges, or a judge and a label, disagree: no probability sample
)

// Draw is a choice of contents to be labelled, made once and kept with the probability of each.
type Draw struct {
	ID        int64      `json:"draw"`
	Run       RunID      `json:"run"`   // whose graded sessions are the frame
	Judge     string     `json:"judge"` // a judge of that run
	Version   Hash       `json:"judge_version"`
	Criterion string     `json:"criterion"`
	Method    DrawMethod `json:"method"`
	Seed      string     `json:"seed"`
	Frame     int64      `json:"frame"` // graded sessions it was drawn from
	Members   int64      `json:"members"`
	Labelled  int64      `json:"labelled"` // members with a label of the criterion by anybody
	By        string     `json:"by,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
}

// DrawMember is one content of a draw, in the order in which they should be labelled: any beginning of a draw
// is a draw of fewer.
type DrawMember struct {
	No          int        `json:"no"` // from 1
	Content     ContentKey `json:"-"`
	UserID      string     `json:"user_id"`
	SessionID   string     `json:"session_id"`
	ContentHash Hash       `json:"content_hash"`
	Current     bool       `json:"current"`
	Stratum     Stratum    `json:"stratum"`
	Probability float64    `json:"probability,omitempty"` // 0 of a queue: not known
	Labels      int64      `json:"labels"`                // of the criterion, by anybody
}
