package builtin

import (
	"encoding/json"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/judge"
)

// Mark is one right answer of an example and what a judge gave in its place.
type Mark struct {
	Session, Unit, Criterion string // the criterion `pass` is the judge's own rule
	Want, Got                string // a value, not_applicable, cannot_tell, or missing
	Reason                   string // the judge's
}

// missing stands for an answer that is not there.
const missing = "missing"

// Right says whether the judge agreed.
func (m Mark) Right() bool { return m.Want == m.Got }

// Marks compares a judge's answers with the right ones, criterion by criterion, about each unit and about the
// session.
func (e Example) Marks(answers []assay.Answer) []Mark {
	var marks []Mark
	for _, want := range e.Answers {
		var got assay.Answer
		there := false
		if i := slices.IndexFunc(answers, func(a assay.Answer) bool { return a.Unit == want.Unit }); i >= 0 {
			got, there = answers[i], true
		}
		for i, f := range want.Findings {
			m := Mark{Session: e.Session.SessionID, Unit: want.Unit, Criterion: f.Criterion, Want: word(f), Got: missing}
			if i < len(got.Findings) {
				m.Got, m.Reason = word(got.Findings[i]), got.Findings[i].Reason
			}
			marks = append(marks, m)
		}
		if want.Unit == "" {
			m := Mark{Session: e.Session.SessionID, Criterion: assay.CriterionPass, Want: passed(want.Pass), Got: missing}
			if there {
				m.Got = passed(got.Pass)
			}
			marks = append(marks, m)
		}
	}
	return marks
}

// word is a finding in one word.
func word(f assay.Finding) string {
	switch {
	case !f.Applies:
		return judge.StatusNotApplicable
	case f.Abstained || f.Value == nil:
		return judge.StatusCannotTell
	}
	var text string
	if json.Unmarshal(f.Value, &text) == nil {
		return text
	}
	return strings.TrimSpace(string(f.Value))
}

// passed is a pass in one word; neither where it cannot be told.
func passed(p *bool) string {
	switch {
	case p == nil:
		return "neither"
	case *p:
		return "true"
	}
	return "false"
}
