// Package native reads and writes Assay's own format: JSONL with one session a line
// (docs/formats/native.md, docs/formats/session.schema.json).
//
// It owns the envelope around a session: the format's name and the labels. It refuses versions that
// it does not know. Its invariant: what is written and read again is equal.
package native

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

// DefaultRater gave a label that names no rater.
const DefaultRater = "import"

type line struct {
	Format    *string      `json:"format"`
	UserID    string       `json:"user_id"`
	SessionID string       `json:"session_id"`
	SourceURL string       `json:"source_url"`
	Turns     []assay.Turn `json:"turns"`
	Labels    []label      `json:"labels"`
}

type label struct {
	Criterion   string         `json:"criterion"`
	Version     string         `json:"criterion_version"`
	Value       jsontext.Value `json:"value"`
	Rater       string         `json:"rater"`
	Blind       bool           `json:"blind"`
	Decided     bool           `json:"decided"`
	Note        string         `json:"note"`
	Use         assay.LabelUse `json:"use"`
	Probability jsontext.Value `json:"probability"` // null is not known, which is not what absent means
}

// Parse reads one line. Members that it does not know are passed over.
func Parse(raw []byte) piece.Record {
	// The version is looked at first and alone: another one may give the other members other types.
	v, _, fault := piece.Decode[struct {
		Format jsontext.Value `json:"format"`
	}](raw)
	if fault == nil {
		fault = checkVersion(v.Format)
	}
	if fault != nil {
		return piece.Record{Fault: fault}
	}
	l, repaired, fault := piece.Decode[line](raw)
	if fault != nil {
		return piece.Record{Fault: fault}
	}
	if l.Turns == nil {
		return piece.Record{Fault: piece.Faultf("", "no member \"turns\" with a list")}
	}
	r := piece.Record{
		Session:  &assay.Session{UserID: l.UserID, SessionID: l.SessionID, SourceURL: l.SourceURL, Turns: l.Turns},
		Repaired: repaired,
	}
	for i := range l.Labels {
		a, fault := l.Labels[i].label(i)
		if fault != nil {
			return piece.Record{Fault: fault}
		}
		r.Labels = append(r.Labels, a)
	}
	return r
}

func checkVersion(v jsontext.Value) *piece.Fault {
	var name string
	switch {
	case len(v) == 0:
		return piece.Faultf("/format", "is missing; it names the version, %q", assay.FormatVersion)
	case v.Kind() != '"' || json.Unmarshal(v, &name) != nil:
		return piece.Faultf("/format", "is not a string; it names the version, %q", assay.FormatVersion)
	case name != assay.FormatVersion:
		return piece.Faultf("/format", "version %q is not known; this program reads %q", name, assay.FormatVersion)
	}
	return nil
}

func (l *label) label(i int) (assay.Label, *piece.Fault) {
	a := assay.Label{
		Criterion: l.Criterion, CriterionVersion: l.Version, Value: json.RawMessage(l.Value), Rater: cmp.Or(l.Rater, DefaultRater), Blind: l.Blind,
		Decided: l.Decided, Note: l.Note, Use: l.Use, Probability: 1,
	}
	switch {
	case a.Criterion == "":
		return a, piece.Faultf("", "label %d names no criterion", i)
	case !slices.Contains([]jsontext.Kind{'t', 'f', '"', '0'}, l.Value.Kind()):
		return a, piece.Faultf("", "label %d: the value is neither a boolean nor a number nor a string", i)
	case a.Use != "" && !a.Use.Valid():
		return a, piece.Faultf("", "label %d: the use %q is not known; it is measure, queue or prompt", i, string(a.Use))
	}
	switch l.Probability.Kind() {
	case 0:
	case 'n':
		a.Probability = 0
	default:
		if json.Unmarshal(l.Probability, &a.Probability) != nil || !(a.Probability > 0 && a.Probability <= 1) {
			return a, piece.Faultf("", "label %d: the probability %s is not in (0, 1]", i, l.Probability)
		}
	}
	return a, nil
}
