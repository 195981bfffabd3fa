package api

import (
	"cmp"
	"context"
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/store"
)

// NewLabels are answers to be stored together.
type NewLabels struct {
	Judge  string     `json:"judge,omitempty" doc:"a judge of the project: answers to its criteria are checked against their types and get the version of the wording that it has now"`
	Labels []NewLabel `json:"labels" minItems:"1" maxItems:"1000"`
}

// NewLabel is an answer to be stored.
type NewLabel struct {
	Session          string          `json:"session" doc:"USER/ID"`
	ContentHash      assay.Hash      `json:"content_hash,omitempty" doc:"of the content that it is about; absent: the session's present one"`
	Criterion        string          `json:"criterion,omitempty" doc:"absent: the draw's, else pass"`
	CriterionVersion string          `json:"criterion_version,omitempty" doc:"of the wording that it answers; absent: that of the draw's judge version, else of the judge named, else none"`
	Value            json.RawMessage `json:"value" doc:"boolean, number or text; pass, fail, yes and no are booleans of a question that is one"`
	Rater            string          `json:"rater" minLength:"1" maxLength:"256"`
	Blind            bool            `json:"blind,omitempty" doc:"the rater did not see what a judge said"`
	Decided          bool            `json:"decided,omitempty" doc:"adjudicated: it stands before the labels of raters who disagree"`
	Use              assay.LabelUse  `json:"use,omitempty" enum:"measure,queue,prompt" doc:"absent: measure, and queue of a draw of disagreements"`
	Draw             int64           `json:"draw,omitempty" minimum:"0" doc:"that chose the session for labelling: the label has its probability"`
	Probability      *float64        `json:"probability,omitempty" exclusiveMinimum:"0" maximum:"1" doc:"of being chosen for labelling, 1 where every session is labelled; absent: not known, and then it enters no estimate"`
	Note             string          `json:"note,omitempty" maxLength:"10000"`
}

// LabelOutcomes say what became of labels.
type LabelOutcomes struct {
	Results   []LabelOutcome `json:"results" nullable:"false" doc:"one for each, in order"`
	New       int64          `json:"new"`
	Replaced  int64          `json:"replaced"`
	Unchanged int64          `json:"unchanged"`
	Refused   int64          `json:"refused"`
}

// LabelOutcome says what became of one.
type LabelOutcome struct {
	Result LabelResult `json:"result" enum:"new,replaced,unchanged,refused"`
	Reason string      `json:"reason,omitempty" doc:"why it was refused"`
}

// LabelResult is what became of a label.
type LabelResult string

// What may become of a label.
const (
	LabelNew       LabelResult = "new"
	LabelReplaced  LabelResult = "replaced"
	LabelUnchanged LabelResult = "unchanged"
	LabelRefused   LabelResult = "refused"
)

func (o *LabelOutcomes) set(i int, result LabelResult, reason string) {
	o.Results[i] = LabelOutcome{Result: result, Reason: reason}
	switch result {
	case LabelNew:
		o.New++
	case LabelReplaced:
		o.Replaced++
	case LabelUnchanged:
		o.Unchanged++
	case LabelRefused:
		o.Refused++
	}
}

func (s *server) putLabels(ctx context.Context, in *putLabelsInput) (out LabelOutcomes, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return out, err
	}
	about, err := s.labelled(ctx, p, in.Body)
	if err != nil {
		return out, err
	}
	out.Results = make([]LabelOutcome, len(in.Body.Labels))
	var labels []assay.Label
	var places []int
	for i, given := range in.Body.Labels {
		label, err := about.label(given)
		if err != nil {
			out.set(i, LabelRefused, err.Error())
			continue
		}
		labels, places = append(labels, label), append(places, i)
	}
	if len(labels) == 0 {
		return out, nil
	}
	results, err := s.Store.Labels().Put(ctx, p.ID, labels, s.Now())
	if err != nil {
		return out, err
	}
	for i, result := range results {
		out.set(places[i], outcomes[result].LabelResult, outcomes[result].reason)
	}
	return out, nil
}

// outcomes say what the store says.
var outcomes = map[store.LabelResult]struct {
	LabelResult
	reason string
}{
	store.LabelNew:       {LabelNew, ""},
	store.LabelReplaced:  {LabelReplaced, ""},
	store.LabelUnchanged: {LabelUnchanged, ""},
	store.LabelNoSession: {LabelRefused, "there is no such session, or it has no such content"},
	store.LabelNotDrawn:  {LabelRefused, "the draw did not choose this content of the session; it may have changed since, and then content_hash names the one that was drawn"},
}

// labelled is what the labels of a request may be about.
type labelled struct {
	judge []assay.Criterion // of the judge that the request names
	draws map[int64]drawAsked
}

// drawAsked is a draw with the criteria that its judge version asked.
type drawAsked struct {
	assay.Draw
	criteria []assay.Criterion
}

// labelled reads the judge and the draws that labels name. One that is not there fails all of them: it is one mistake,
// and not one for each label.
func (s *server) labelled(ctx context.Context, p assay.Project, n NewLabels) (a labelled, err error) {
	if n.Judge != "" {
		_, version, err := s.Store.Judges().Get(ctx, p.ID, n.Judge)
		if err != nil {
			return a, err
		}
		a.judge = version.Criteria
	}
	a.draws = map[int64]drawAsked{}
	for _, l := range n.Labels {
		if _, known := a.draws[l.Draw]; known || l.Draw == 0 {
			continue
		}
		d, err := s.Store.Labels().Draw(ctx, p.ID, l.Draw)
		if err != nil {
			return a, err
		}
		version, err := s.Store.Judges().Version(ctx, p.ID, d.Version)
		if err != nil {
			return a, err
		}
		a.draws[d.ID] = drawAsked{Draw: d, criteria: version.Criteria}
	}
	return a, nil
}

// label is what is given as it is stored.
func (a labelled) label(n NewLabel) (l assay.Label, err error) {
	draw := a.draws[n.Draw]
	l = assay.Label{
		ContentHash: n.ContentHash, Criterion: cmp.Or(n.Criterion, draw.Criterion, assay.CriterionPass), Rater: n.Rater, Blind: n.Blind, Decided: n.Decided,
		Use: n.Use, Draw: n.Draw, Note: n.Note,
	}
	if n.Probability != nil && n.Draw == 0 {
		l.Probability = *n.Probability
	}
	if l.UserID, l.SessionID, err = assay.ParseSessionName(n.Session); err != nil {
		return l, err
	}
	criterion, err := a.criterion(l.Criterion, n, draw)
	if err != nil {
		return l, err
	}
	if l.Criterion != assay.CriterionPass {
		l.CriterionVersion = n.CriterionVersion
		if l.CriterionVersion == "" && criterion.Type != "" {
			l.CriterionVersion = criterion.Version()
		}
	}
	l.Value, err = criterion.Answer(n.Value)
	return l, err
}

// criterion is what a label answers; without a type where nobody says what it asks. A wording that the label names
// is not the one that a judge has now, so its answers are not held to that one's type.
func (a labelled) criterion(name string, n NewLabel, draw drawAsked) (assay.Criterion, error) {
	if name == assay.CriterionPass {
		return assay.Criterion{Name: name, Type: assay.Boolean}, nil
	}
	for _, c := range append(append([]assay.Criterion{}, draw.criteria...), a.judge...) {
		if c.Name == name && (n.CriterionVersion == "" || c.Version() == n.CriterionVersion) {
			return c, nil
		}
	}
	if a.judge != nil && n.CriterionVersion == "" {
		return assay.Criterion{}, assay.Errorf(assay.CodeInvalid, "the judge asks no criterion %q", name)
	}
	return assay.Criterion{Name: name}, nil
}
