package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// AnswerVersion names the shape of an answer and the rules by which it is read.
const AnswerVersion = "answer/1"

// Statuses that a criterion's answer may have where the criterion allows them.
const (
	StatusAnswered      = "answered"
	StatusNotApplicable = "not_applicable"
	StatusCannotTell    = "cannot_tell"
)

// Statuses lists those that c allows, or nil when it must simply be answered.
func Statuses(c assay.Criterion) []string {
	if !c.MayNotApply && !c.MayAbstain {
		return nil
	}
	s := []string{StatusAnswered}
	if c.MayNotApply {
		s = append(s, StatusNotApplicable)
	}
	if c.MayAbstain {
		s = append(s, StatusCannotTell)
	}
	return s
}

// MaxQuotes bounds the quotes that are kept per criterion.
const MaxQuotes = 20

// ReadFindings reads an answer's JSON object, which holds one member per criterion:
//
//	{"resolved": {"evidence": [{"quote": "…"}], "reason": "…", "status": "answered", "value": true}}
//
// A missing criterion, a missing or wrong value, an unknown status and a key that is given twice are
// errors, each a sentence that names the criterion. Members of other names are left to the caller.
// Quotes are not verified yet.
func ReadFindings(object json.RawMessage, criteria []assay.Criterion) ([]assay.Finding, error) {
	members, err := Members(object)
	if err != nil {
		return nil, err
	}
	return FindingsIn(members, criteria)
}

// FindingsIn is ReadFindings of an object whose Members are at hand.
func FindingsIn(members []Member, criteria []assay.Criterion) (findings []assay.Finding, err error) {
	findings = make([]assay.Finding, len(criteria))
	for i, c := range criteria {
		raw, ok := Lookup(members, c.Name)
		if !ok {
			return nil, fmt.Errorf("the criterion %s is missing", c.Name)
		}
		if findings[i], err = readFinding(c, raw); err != nil {
			return nil, err
		}
	}
	return findings, nil
}

func readFinding(c assay.Criterion, raw json.RawMessage) (assay.Finding, error) {
	f := assay.Finding{Criterion: c.Name, Applies: true}
	if len(raw) == 0 || raw[0] != '{' {
		return f, fmt.Errorf("%s must be an object with a value, not %s", c.Name, excerpt(raw))
	}
	members, err := split(raw)
	if err != nil {
		return f, fmt.Errorf("%s: %w", c.Name, err)
	}
	status := StatusAnswered
	for _, m := range members {
		switch m.Name {
		case "reason":
			err = json.Unmarshal(m.Value, &f.Reason)
		case "status":
			err = json.Unmarshal(m.Value, &status)
		case "evidence":
			f.Evidence, err = readQuotes(m.Value)
		}
		if err != nil {
			return f, fmt.Errorf("%s: %s is not of the right form: %s", c.Name, m.Name, excerpt(m.Value))
		}
	}
	value, given := Lookup(members, "value")
	given = given && string(value) != "null"
	allowed := Statuses(c)
	switch {
	case status != StatusAnswered && !slices.Contains(allowed, status):
		if len(allowed) == 0 {
			return f, fmt.Errorf("%s must be answered; its status cannot be %q", c.Name, status)
		}
		return f, fmt.Errorf("%s has the status %q, which is not one of %s", c.Name, status, quoted(allowed))
	case status != StatusAnswered && given:
		return f, fmt.Errorf("%s has the status %q and a value all the same; one of them is wrong", c.Name, status)
	case status != StatusAnswered:
		f.Applies = status != StatusNotApplicable
		f.Abstained = status == StatusCannotTell
		return f, nil
	case !given:
		return f, fmt.Errorf("%s has no value", c.Name)
	}
	f.Value, err = CheckValue(c, value)
	return f, err
}

func readQuotes(raw json.RawMessage) ([]assay.Evidence, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	var quotes []json.RawMessage
	if err := json.Unmarshal(raw, &quotes); err != nil {
		return nil, err
	}
	var evidence []assay.Evidence
	for _, q := range quotes[:min(len(quotes), MaxQuotes)] {
		e := struct {
			Turn, Message *int
			Quote         string
		}{}
		var err error
		if len(q) > 0 && q[0] == '"' {
			err = json.Unmarshal(q, &e.Quote)
		} else {
			err = json.Unmarshal(q, &e)
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(e.Quote) == "" {
			continue
		}
		place := assay.Evidence{Turn: -1, Message: -1, Quote: e.Quote}
		if e.Turn != nil {
			place.Turn = *e.Turn
		}
		if e.Message != nil {
			place.Message = *e.Message
		}
		evidence = append(evidence, place)
	}
	return evidence, nil
}

// Member is one member of a JSON object as it stood there.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members splits a JSON object and refuses a name that is given twice: which of the two was meant
// cannot be known.
func Members(object json.RawMessage) (members []Member, err error) {
	if !json.Valid(object) {
		return nil, errors.New("it is not valid JSON")
	}
	return split(object)
}

// split is Members of what is known to be valid JSON.
func split(object json.RawMessage) (members []Member, err error) {
	parsed := gjson.ParseBytes(object)
	if !parsed.IsObject() {
		return nil, errors.New("it is not a JSON object")
	}
	parsed.ForEach(func(key, value gjson.Result) bool {
		if _, twice := Lookup(members, key.Str); twice {
			err = fmt.Errorf("%s is given twice", excerpt([]byte(key.Str)))
			return false
		}
		members = append(members, Member{key.Str, json.RawMessage(value.Raw)})
		return true
	})
	if err != nil {
		return nil, err
	}
	return members, nil
}

// Lookup finds a member by its exact name.
func Lookup(members []Member, name string) (json.RawMessage, bool) {
	for _, m := range members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// scalar gives a checked value to CEL.
func scalar(raw json.RawMessage) ref.Val {
	switch raw[0] {
	case 't', 'f':
		return types.Bool(raw[0] == 't')
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return types.NewErr("not a text: %s", excerpt(raw))
		}
		return types.String(s)
	default:
		var f float64
		if json.Unmarshal(raw, &f) != nil {
			return types.NewErr("not a number: %s", excerpt(raw))
		}
		return types.Double(f)
	}
}
