package store

import (
	"context"
	"time"

	"assay/internal/assay"
)

// Labels are people's and recorded answers, and the draws that chose what people were asked to label.
//
// A rater's new answer about a content, criterion and criterion version replaces the old one, but not how the content
// was chosen: an answer without a draw keeps the draw, use and probability of one that had a draw; an answer from a
// list of disagreements keeps those of a label that measures; and one that the judge was written with stays so until
// Mark says otherwise. Whoever labels a disagreement anew would else take exactly the contents out of a sample that
// the judge was wrong about.
type Labels interface {
	// List pages through a project's labels, oldest first. Zero fields of q select all.
	List(ctx context.Context, project assay.ProjectID, q LabelQuery, p Page) (labels []assay.Label, next string, err error)
	// Tally counts labels per criterion, rater and value.
	Tally(ctx context.Context, project assay.ProjectID) ([]LabelTally, error)
	// Put stores labels in one transaction and answers for each in order. Its content is found by user, session
	// and ContentHash; without a hash it is the session's present content. One whose session or content is not
	// there is LabelNoSession, and the others are stored. With Draw the probability is that of the draw's member;
	// a content that is not a member is LabelNotDrawn, and of a draw of disagreements the use is UseQueue where it
	// is not UsePrompt. Called with up to 1,000.
	Put(ctx context.Context, project assay.ProjectID, labels []assay.Label, now time.Time) ([]LabelResult, error)
	// Remove deletes the labels that q selects and returns how many. It needs a rater, a draw or a session.
	Remove(ctx context.Context, project assay.ProjectID, q LabelQuery) (int64, error)
	// Mark gives the labels that q selects another use and returns how many changed.
	Mark(ctx context.Context, project assay.ProjectID, q LabelQuery, use assay.LabelUse) (int64, error)
	// Contents calls f for every label of a criterion on the contents given by f's caller: all of the project's,
	// in order of content, then id. f must not keep the row. It is what checks read.
	Contents(ctx context.Context, project assay.ProjectID, criterion string, f func(*ContentLabel) error) error

	// CreateDraw stores a draw with its members together; Members is their number.
	CreateDraw(ctx context.Context, project assay.ProjectID, d assay.Draw, members []assay.DrawMember, now time.Time) (assay.Draw, error)
	// Draws lists a project's draws, newest first, with how many of their members are labelled.
	Draws(ctx context.Context, project assay.ProjectID, p Page) (draws []assay.Draw, next string, err error)
	Draw(ctx context.Context, project assay.ProjectID, id int64) (assay.Draw, error)
	// Members pages through a draw's members by number; open leaves out those that have a label of its criterion
	// by the rater, or with rater "" by anybody.
	Members(ctx context.Context, project assay.ProjectID, draw int64, open bool, rater string, p Page) (members []assay.DrawMember, next string, err error)
	// Drawn calls f for every member of a draw, in order of content.
	Drawn(ctx context.Context, draw int64, f func(content assay.ContentKey, stratum assay.Stratum, probability float64) error) error
}

// LabelQuery selects labels. Zero fields select all.
type LabelQuery struct {
	Criterion string
	Rater     string
	Use       assay.LabelUse
	Draw      int64
	User      string // with Session
	Session   string
}

// LabelResult says what became of a label.
type LabelResult int

const (
	LabelNew LabelResult = iota
	LabelReplaced
	LabelUnchanged
	LabelNoSession // there is no such session, or it has no such content
	LabelNotDrawn  // the draw that it names has no such member
)

// ContentLabel is what a check needs of a label.
type ContentLabel struct {
	ID          int64
	Content     assay.ContentKey
	Version     string // of the criterion
	Value       string // JSON
	Rater       string
	Blind       bool
	Decided     bool
	Use         assay.LabelUse
	Draw        int64
	Probability float64 // 0: not known
}

// LabelTally counts equal answers.
type LabelTally struct {
	Criterion string `json:"criterion"`
	Rater     string `json:"rater"`
	Value     string `json:"value"` // JSON
	N         int64  `json:"n"`
}

// Narrow says what a query lacks to remove what it selects: a rater, a draw or a session.
func (q LabelQuery) Narrow() error {
	if q.Rater != "" || q.Draw != 0 || q.Session != "" {
		return nil
	}
	return assay.Errorf(assay.CodeInvalid, "labels are removed by rater, by draw or by session, and none is named").
		WithHint("name one with --rater, --draw or --session")
}

// NoDraw is the error of a draw that is not in a project.
func NoDraw(id int64) error {
	return assay.Errorf(assay.CodeNotFound, "there is no draw %d", id).WithHint("`assay label draws` lists them")
}

// DrawnUse is the use of a label whose content was drawn, for implementations: use is what the label says.
func DrawnUse(method assay.DrawMethod, use assay.LabelUse) assay.LabelUse {
	if method == assay.DrawQueue && use != assay.UsePrompt {
		return assay.UseQueue
	}
	return use
}

// LabelResultOf says what became of a label whose content was found, for implementations.
func LabelResultOf(had, changed bool) LabelResult {
	switch {
	case !had:
		return LabelNew
	case changed:
		return LabelReplaced
	}
	return LabelUnchanged
}
