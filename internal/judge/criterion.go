package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/internal/assay"
	"assay/internal/definition"
)

var criterionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// reservedNames would mean something else where criteria are named: CEL's words, the fields of an
// answer and of a rule, and `pass`, the name of the judge's own rule.
var reservedNames = strings.Fields(`pass value applies ` + TokenField + `
	true false null in as break const continue else for function if import let loop package namespace return var void while
	bool bytes double dyn duration int list map null_type string timestamp type uint size has all exists exists_one filter`)

// TokenField is the field of a model's answer that repeats the question's token.
const TokenField = "answer_token"

// CheckCriterion says what is wrong with a criterion, in words and with what to do.
func CheckCriterion(c assay.Criterion) *assay.Error {
	bad := func(format string, args ...any) *assay.Error {
		return assay.Errorf(assay.CodeInvalid, "criterion %q: "+format, append([]any{c.Name}, args...)...)
	}
	if !criterionName.MatchString(c.Name) {
		return bad("the name is not valid").WithHint("use 1 to 63 characters: a-z, 0-9, underscore; begin with a letter")
	}
	if slices.Contains(reservedNames, c.Name) {
		return bad("the name is reserved").WithHint("choose another, for instance %s_ok", c.Name)
	}
	switch c.Type {
	case assay.Boolean, assay.Number, assay.Ordinal, assay.Category:
	default:
		return bad("type %q is not known", c.Type).WithHint("use boolean, ordinal, number or category%s", definition.Nearest(string(c.Type), []string{"boolean", "ordinal", "number", "category"}))
	}
	listed := c.Type == assay.Ordinal || c.Type == assay.Category
	switch {
	case listed && len(c.Values) < 2:
		return bad("type %s needs at least two values", c.Type).WithHint("list them under values, an ordinal's from worst to best")
	case !listed && len(c.Values) > 0:
		return bad("type %s takes no values", c.Type).WithHint("use ordinal or category to choose from a list")
	case c.Type != assay.Number && (c.Min != nil || c.Max != nil):
		return bad("min and max belong to numbers only").WithHint("set type: number or drop them")
	}
	for i, v := range c.Values {
		if strings.TrimSpace(v) == "" || len(v) > 200 {
			return bad("value %d is empty or longer than 200 bytes", i+1).WithHint("give every value a short name")
		}
		if slices.Contains(c.Values[:i], v) {
			return bad("value %q is listed twice", v).WithHint("drop one of them")
		}
	}
	if c.Min != nil && c.Max != nil && *c.Min >= *c.Max {
		return bad("min %v is not below max %v", *c.Min, *c.Max).WithHint("swap or widen them")
	}
	for _, b := range []*float64{c.Min, c.Max} {
		if b != nil && (math.IsNaN(*b) || math.IsInf(*b, 0)) {
			return bad("a bound is not a finite number").WithHint("drop the bound")
		}
	}
	switch c.Evidence {
	case assay.EvidenceNone, assay.EvidenceOptional, assay.EvidenceRequired:
	default:
		return bad("evidence %q is not known", c.Evidence).WithHint("use none, optional or required%s", definition.Nearest(string(c.Evidence), []string{"none", "optional", "required"}))
	}
	return nil
}

// CheckValue reads a value that answers c: the JSON of a scalar in its plainest spelling, or a
// sentence that says why raw is none.
func CheckValue(c assay.Criterion, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	switch c.Type {
	case assay.Boolean:
		if s := string(raw); s == "true" || s == "false" {
			return raw, nil
		}
		return nil, fmt.Errorf("%s must be true or false, not %s", c.Name, excerpt(raw))
	case assay.Number:
		var n json.Number
		if len(raw) == 0 || raw[0] == '"' || json.Unmarshal(raw, &n) != nil || n == "" {
			return nil, fmt.Errorf("%s must be a number, not %s", c.Name, excerpt(raw))
		}
		f, err := n.Float64()
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, fmt.Errorf("%s must be a finite number, not %s", c.Name, excerpt(raw))
		}
		return NumberValue(c, f)
	default:
		var s string
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			return nil, fmt.Errorf("%s must be one of %s, not %s", c.Name, quoted(c.Values), excerpt(raw))
		}
		return TextValue(c, s)
	}
}

// NumberValue is CheckValue for a number that is at hand.
func NumberValue(c assay.Criterion, f float64) (json.RawMessage, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%s is not a finite number", c.Name)
	}
	if c.Min != nil && f < *c.Min || c.Max != nil && f > *c.Max {
		return nil, fmt.Errorf("%s is %v, which is outside its bounds (%s)", c.Name, f, bounds(c))
	}
	raw, err := json.Marshal(f)
	return raw, err
}

// TextValue is CheckValue for a text that is at hand.
func TextValue(c assay.Criterion, s string) (json.RawMessage, error) {
	if !slices.Contains(c.Values, s) {
		return nil, fmt.Errorf("%s must be one of %s, not %s", c.Name, quoted(c.Values), excerpt([]byte(strconv.Quote(s))))
	}
	return json.Marshal(s)
}

func bounds(c assay.Criterion) string {
	switch {
	case c.Min != nil && c.Max != nil:
		return fmt.Sprintf("%v to %v", *c.Min, *c.Max)
	case c.Min != nil:
		return fmt.Sprintf("at least %v", *c.Min)
	default:
		return fmt.Sprintf("at most %v", *c.Max)
	}
}

func quoted(values []string) string {
	q := make([]string, len(values))
	for i, v := range values {
		q[i] = strconv.Quote(v)
	}
	return strings.Join(q, ", ")
}

// excerpt shows the beginning of what stood where something else was expected.
func excerpt(raw []byte) string {
	const most = 80
	if len(raw) == 0 {
		return "nothing"
	}
	s := strings.ToValidUTF8(string(raw[:min(len(raw), most)]), "")
	if len(raw) > most {
		s += "…"
	}
	return s
}
