package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/definition"
)

// RollUpVersion names the rules by which answers about units make the answer about their session.
const RollUpVersion = "rollup/1"

// rollUps are those that a criterion of a type can have.
var rollUps = map[assay.CriterionType][]assay.RollUp{
	assay.Boolean: {assay.RollAll, assay.RollAny, assay.RollShare, assay.RollCount},
	assay.Number:  {assay.RollMin, assay.RollMax, assay.RollMean},
	assay.Ordinal: {assay.RollMin, assay.RollMax},
}

// CheckRollUp says what is wrong with the roll-up of a criterion of a judge of units, or of a session.
func CheckRollUp(c assay.Criterion, unit assay.UnitKind) *assay.Error {
	bad := func(format string, args ...any) *assay.Error {
		return assay.Errorf(assay.CodeInvalid, "criterion %q: "+format, append([]any{c.Name}, args...)...)
	}
	var names []string
	for _, r := range rollUps[c.Type] {
		names = append(names, string(r))
	}
	choice := strings.Join(names, ", ")
	switch {
	case unit == assay.UnitSession && c.RollUp != "":
		return bad("a judge of whole sessions rolls nothing up").WithHint("drop roll_up, or set `unit: turn` or `unit: tool_call`")
	case unit == assay.UnitSession:
		return nil
	case c.Name == UnitField:
		return bad("the name is reserved in judges of units").WithHint("choose another, for instance %s_ok", c.Name)
	case len(names) == 0:
		return bad("a %s cannot be rolled up from units", c.Type).WithHint("ask one boolean per value, with roll_up any, share or count")
	case c.RollUp == "":
		return bad("it has no roll_up").WithHint("say how the answers about units make the session's: %s", choice)
	case !slices.Contains(rollUps[c.Type], c.RollUp):
		return bad("a %s has no roll_up %q%s", c.Type, c.RollUp, definition.Nearest(string(c.RollUp), names)).WithHint("use %s", choice)
	}
	return nil
}

// RolledUp is how criteria are answered for the session: a share is a number from 0 to 1, a count a
// number of at least 0, all else is of its own type. Criteria without a roll-up are as they are.
func RolledUp(criteria []assay.Criterion) []assay.Criterion {
	out := slices.Clone(criteria)
	for i := range out {
		zero, one := 0.0, 1.0
		switch out[i].RollUp {
		case assay.RollShare:
			out[i].Type, out[i].Min, out[i].Max = assay.Number, &zero, &one
		case assay.RollCount:
			out[i].Type, out[i].Min = assay.Number, &zero
		}
	}
	return out
}

// RollUp makes the findings about a session of the answers about its units. criteria are those that the
// units were asked, and every answer holds a finding for each, in their order.
//
// Units to which a criterion does not apply are left out; where it applies to none, it does not apply to
// the session. Units on which the judge abstained are unknown: the session's value is given only where
// they could not change it, else the judge abstained on the session. So one false decides all, one true
// any, the lowest value min and the highest max; share, count and mean need every unit.
//
// A session without units: a criterion that may not apply does not, a count is 0, and for all else there
// is nothing to say, which the error tells.
func RollUp(criteria []assay.Criterion, answers []assay.Answer) ([]assay.Finding, error) {
	findings := make([]assay.Finding, len(criteria))
	for i, c := range criteria {
		r := rolling{c: c}
		for _, a := range answers {
			r.add(a.Unit, a.Findings[i])
		}
		var err error
		if findings[i], err = r.finding(); err != nil {
			return nil, err
		}
	}
	return findings, nil
}

// about is what a unit was found to be.
type about struct {
	unit string
	f    assay.Finding
}

type rolling struct {
	c                assay.Criterion
	known, abstained []about
	left             int // units to which it does not apply
}

func (r *rolling) add(unit string, f assay.Finding) {
	switch {
	case !f.Applies:
		r.left++
	case f.Abstained || f.Value == nil:
		r.abstained = append(r.abstained, about{unit, f})
	default:
		r.known = append(r.known, about{unit, f})
	}
}

func (r *rolling) finding() (assay.Finding, error) {
	f := assay.Finding{Criterion: r.c.Name, Applies: true}
	switch {
	case len(r.known)+len(r.abstained) > 0:
		value, deciding, err := r.value()
		if err != nil {
			return f, err
		}
		if value == nil {
			f.Abstained, f.Reason = true, reasons("cannot tell for", r.abstained)
			return f, nil
		}
		f.Value = value
		f.Reason = reasons(fmt.Sprintf("%s is %s, by", r.c.RollUp, value), deciding)
		for _, d := range deciding {
			f.Evidence = append(f.Evidence, d.f.Evidence[:min(len(d.f.Evidence), MaxQuotes-len(f.Evidence))]...)
		}
		return f, nil
	case r.c.MayNotApply:
		f.Applies = false
		if r.left > 0 {
			f.Reason = fmt.Sprintf("it applies to none of %d units", r.left)
		} else {
			f.Reason = "the session has no units"
		}
		return f, nil
	case r.c.RollUp == assay.RollCount:
		f.Value, f.Reason = json.RawMessage("0"), "the session has no units"
		return f, nil
	}
	return f, fmt.Errorf("the session has no unit that %s could be asked about", r.c.Name)
}

// value is the rolled-up value and the units that decided it; nil where units that are not known could
// change it.
func (r *rolling) value() (json.RawMessage, []about, error) {
	complete := len(r.abstained) == 0
	switch r.c.RollUp {
	case assay.RollAll, assay.RollAny:
		decisive := r.c.RollUp == assay.RollAny
		if found := r.where(decisive); len(found) > 0 {
			return truth(decisive), found, nil
		}
		if complete {
			return truth(!decisive), r.known, nil
		}
	case assay.RollShare, assay.RollCount:
		if complete {
			found := r.where(true)
			n := float64(len(found))
			if r.c.RollUp == assay.RollShare {
				n /= float64(len(r.known))
			}
			value, err := json.Marshal(n)
			return value, found, err
		}
	case assay.RollMean:
		if complete {
			return r.mean()
		}
	case assay.RollMin, assay.RollMax:
		return r.extreme(complete)
	}
	return nil, nil, nil
}

func truth(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

func (r *rolling) where(value bool) (found []about) {
	for _, k := range r.known {
		if string(k.f.Value) == string(truth(value)) {
			found = append(found, k)
		}
	}
	return found
}

func (r *rolling) mean() (json.RawMessage, []about, error) {
	sum := 0.0
	for _, k := range r.known {
		// Divided first: a sum of large numbers could overflow.
		sum += r.rank(k) / float64(len(r.known))
	}
	if r.c.Min != nil {
		sum = max(sum, *r.c.Min)
	}
	if r.c.Max != nil {
		sum = min(sum, *r.c.Max)
	}
	value, err := json.Marshal(sum)
	return value, r.known, err
}

// extreme is the least or greatest known value, which stands when all is known or when no value can go
// beyond it.
func (r *rolling) extreme(complete bool) (json.RawMessage, []about, error) {
	sign := 1.0
	if r.c.RollUp == assay.RollMax {
		sign = -1
	}
	var found []about
	for _, k := range r.known {
		switch {
		case len(found) == 0 || sign*r.rank(k) < sign*r.rank(found[0]):
			found = []about{k}
		case r.rank(k) == r.rank(found[0]):
			found = append(found, k)
		}
	}
	if len(found) == 0 || !complete && r.rank(found[0]) != r.end() {
		return nil, nil, nil
	}
	return found[0].f.Value, found, nil
}

// rank orders values: numbers by themselves, an ordinal's by their place.
func (r *rolling) rank(a about) float64 {
	if r.c.Type == assay.Ordinal {
		var s string
		if json.Unmarshal(a.f.Value, &s) != nil {
			return -1
		}
		return float64(slices.Index(r.c.Values, s))
	}
	var n float64
	if json.Unmarshal(a.f.Value, &n) != nil {
		return 0
	}
	return n
}

// end is the rank beyond which no value goes; nothing equals a number's end that is not bounded.
func (r *rolling) end() float64 {
	least := r.c.RollUp == assay.RollMin
	switch {
	case r.c.Type == assay.Ordinal && least:
		return 0
	case r.c.Type == assay.Ordinal:
		return float64(len(r.c.Values) - 1)
	case least && r.c.Min != nil:
		return *r.c.Min
	case !least && r.c.Max != nil:
		return *r.c.Max
	}
	return math.NaN()
}

const maxRolledReason = 1000

// reasons names units, each with its own reason, as far as there is room.
func reasons(what string, units []about) string {
	var b strings.Builder
	b.WriteString(what)
	for i, u := range units {
		words := " " + u.unit
		if u.f.Reason != "" {
			words += " (" + u.f.Reason + ")"
		}
		if b.Len()+len(words) > maxRolledReason {
			fmt.Fprintf(&b, " and %d more", len(units)-i)
			break
		}
		b.WriteString(words)
		if i+1 < len(units) {
			b.WriteByte(',')
		}
	}
	if len(units) == 0 {
		b.WriteString(" no unit")
	}
	return b.String()
}
