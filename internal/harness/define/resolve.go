package define

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/internal/assay"
	"assay/internal/definition"
)

// maxValue bounds a value in bytes: the kernel takes no argument of more than 128 KiB.
const maxValue = 64 << 10

// Resolve says what a run of def is started with: what was given, else the defaults, in the order of the
// definition. Values of a type other than string may be given as texts ("10", "true"); null is not
// given, and an empty text leaves a parameter out although it has a default. The error is CodeInvalid
// and tells everything that is wrong at once.
func Resolve(def assay.SuiteDefinition, given map[string]json.RawMessage, source assay.ParamSource) ([]assay.ParamValue, error) {
	var values []assay.ParamValue
	var wrong []string
	known := make([]string, len(def.Params))
	for i, p := range def.Params {
		known[i] = p.Name
		v, from := p.Default, assay.ParamDefault
		if raw, ok := given[p.Name]; ok && string(raw) != "null" {
			var err error
			if v, err = value(p, raw); err != nil {
				wrong = append(wrong, err.Error())
				continue
			}
			from = source
		}
		switch {
		case v != nil:
			values = append(values, assay.ParamValue{Name: p.Name, Value: v, Source: from})
		case p.Required:
			wrong = append(wrong, fmt.Sprintf("parameter %q is required and was not given", p.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			wrong = append(wrong, fmt.Sprintf("parameter %.60q is not known%s", name, definition.Nearest(name, known)))
		}
	}
	if len(wrong) == 0 {
		return values, nil
	}
	hint := "this suite has no parameters"
	if len(known) > 0 {
		hint = "the parameters are " + strings.Join(known, ", ")
	}
	return nil, assay.Errorf(assay.CodeInvalid, "%s", strings.Join(wrong, "; ")).WithHint("%s", hint)
}

// value reads one value and checks its bounds. What comes back is compact JSON of the parameter's type,
// or nil where the value is empty. The error begins with the parameter's name.
func value(p assay.SuiteParam, raw json.RawMessage) (json.RawMessage, error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("parameter %q %s", p.Name, fmt.Sprintf(format, args...))
	}
	text, quoted := strings.TrimSpace(string(raw)), false
	if strings.HasPrefix(text, `"`) {
		quoted = true
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, wrong("is not valid JSON")
		}
	}
	if text == "" {
		return nil, nil
	}
	switch p.Type {
	case assay.ParamBool:
		if text != "true" && text != "false" {
			return nil, wrong("must be true or false, not %.40q", text)
		}
		return json.RawMessage(text), nil
	case assay.ParamInt:
		return whole(p, text, wrong)
	case assay.ParamNumber:
		f, err := strconv.ParseFloat(text, 64)
		if !isNumber(text) || err != nil {
			return nil, wrong("must be a number, not %.40q", text)
		}
		if err := inBounds(p, f, wrong); err != nil {
			return nil, err
		}
		return json.Marshal(f)
	}
	if !quoted {
		return nil, wrong("must be a text, not %.40s: put it in quotes", text)
	}
	if err := textFits(p, text, wrong); err != nil {
		return nil, err
	}
	return json.Marshal(text)
}

func whole(p assay.SuiteParam, text string, wrong func(string, ...any) error) (json.RawMessage, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if !isNumber(text) || err != nil {
		// 10.0 and 1e3 are whole too, as far as a float is exact.
		f, err := strconv.ParseFloat(text, 64)
		if !isNumber(text) || err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return nil, wrong("must be a whole number, not %.40q", text)
		}
		n = int64(f)
	}
	if err := inBounds(p, float64(n), wrong); err != nil {
		return nil, err
	}
	return json.RawMessage(strconv.FormatInt(n, 10)), nil
}

// isNumber says whether s is written as JSON writes a number: no hexadecimal, no inf, no underscores.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && len(s) < 400 && json.Valid([]byte(s)) && !strings.ContainsAny(s, " \t\r\n")
}

func inBounds(p assay.SuiteParam, f float64, wrong func(string, ...any) error) error {
	switch {
	case p.Min != nil && f < *p.Min:
		return wrong("is %v, below its least value %v", f, *p.Min)
	case p.Max != nil && f > *p.Max:
		return wrong("is %v, above its greatest value %v", f, *p.Max)
	}
	return nil
}

func textFits(p assay.SuiteParam, text string, wrong func(string, ...any) error) error {
	switch {
	case strings.ContainsRune(text, 0):
		return wrong("holds a NUL, which no argument can")
	case len(text) > maxValue:
		return wrong("is longer than %d bytes", maxValue)
	case p.MaxLength > 0 && utf8.RuneCountInString(text) > p.MaxLength:
		return wrong("is longer than %d characters", p.MaxLength)
	case p.Values != nil && !slices.Contains(p.Values, text):
		return wrong("must be one of %s, not %.40q%s", strings.Join(p.Values, ", "), text, definition.Nearest(text, p.Values))
	}
	if p.Pattern == "" {
		return nil
	}
	pattern, err := wholePattern(p.Pattern)
	if err != nil {
		return wrong("has a pattern that cannot be read: %v", err)
	}
	if !pattern.MatchString(text) {
		return wrong("does not match its pattern %.100s: %.40q", p.Pattern, text)
	}
	return nil
}
