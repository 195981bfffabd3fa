package builtin

import (
	"embed"
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/kinds"
	"assay/internal/session/native"
)

//go:embed sets/*.yaml
var sets embed.FS

// rater is who gave the labels of a set.
const rater = "builtin-set"

// Example is a session of a judge's set with the right answers.
type Example struct {
	Session *assay.Session // its user is the judge's name, so that sets of several judges can be told apart
	Why     string         // one line for people
	// Answers are right: one per unit in the session's order, then what they make of the session (the unit
	// ""); of a judge of sessions that alone. Reasons are ours, and evidence is where it stands.
	Answers []assay.Answer
}

// Set is the labelled set of a built-in judge; CodeNotFound when there is no such judge.
func Set(name string) ([]Example, error) {
	asked, err := formOf(name)
	if err != nil {
		return nil, err
	}
	file := "sets/" + name + ".yaml"
	text, err := sets.ReadFile(file)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "read the set of %s: %w", name, err)
	}
	examples, err := readSet(text, name, asked)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "read %s: %w", file, err)
	}
	return examples, nil
}

// Export is a set as `assay import` reads it: a session a line, with its labels.
func Export(name string) ([]byte, error) {
	examples, err := Set(name)
	if err != nil {
		return nil, err
	}
	var lines []byte
	for _, e := range examples {
		if lines, err = native.Append(lines, e.Session, e.Labels()); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// Labels are the right answers about the session itself: one for each criterion that has a value, and
// one for `pass`. What does not apply or cannot be told is no label.
func (e Example) Labels() []assay.Label {
	own := e.Own()
	var labels []assay.Label
	add := func(criterion string, value json.RawMessage) {
		labels = append(labels, assay.Label{UserID: e.Session.UserID, SessionID: e.Session.SessionID, Criterion: criterion, Value: value, Rater: rater, Probability: 1})
	}
	for _, f := range own.Findings {
		if f.Value != nil {
			add(f.Criterion, f.Value)
		}
	}
	if own.Pass != nil {
		add(assay.CriterionPass, json.RawMessage(passed(own.Pass)))
	}
	return labels
}

// Own is the right answer about the session itself.
func (e Example) Own() assay.Answer { return e.Answers[len(e.Answers)-1] }

// form is what the answers of a judge look like.
type form struct {
	unit     assay.UnitKind
	criteria []assay.Criterion // as they are asked about a unit
	pass     *judge.PassRule
}

func formOf(name string) (form, error) {
	_, version, err := Get(name, kinds.Env{})
	if err != nil {
		return form{}, err
	}
	var d judge.Definition
	if err := json.Unmarshal(version.Canonical, &d); err != nil {
		return form{}, assay.Errorf(assay.CodeInternal, "read the definition of %s: %w", name, err)
	}
	rule, err := judge.NewPassRule(d.Pass, version.Criteria)
	return form{d.Unit, d.Criteria, rule}, err
}

// whole is what right answers about units make of their session.
func (f form) whole(units []assay.Answer) (assay.Answer, error) {
	findings, err := judge.RollUp(f.criteria, units)
	if err != nil {
		return assay.Answer{}, err
	}
	return f.pass.Answer(findings)
}
