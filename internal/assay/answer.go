package assay

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// truths are the texts that people write for an answer to a yes or no question.
var truths = map[string]bool{"true": true, "pass": true, "yes": true, "1": true, "false": false, "fail": false, "no": false, "0": false}

// Answer is a person's value as the criterion's verdicts hold it, to the byte: "pass" and "yes" are true, a number may come as
// text, and a value of a scale as a number. A criterion without a type, which is one that nobody described, takes any
// boolean, number or text.
func (c Criterion) Answer(value json.RawMessage) (json.RawMessage, error) {
	value = bytes.TrimSpace(value)
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return nil, c.refuse("%q is not JSON", short(string(value)))
	}
	text := string(value)
	switch t := v.(type) {
	case bool, float64:
	case string:
		text = strings.TrimSpace(t)
	default:
		return nil, c.refuse("%s is neither a boolean nor a number nor a text", short(text))
	}
	switch c.Type {
	case Boolean:
		yes, ok := truths[strings.ToLower(text)]
		if !ok {
			return nil, c.refuse("%q is neither true nor false", short(text))
		}
		return json.RawMessage(strconv.FormatBool(yes)), nil
	case Number:
		return c.number(text)
	case Ordinal, Category:
		if !slices.Contains(c.Values, text) {
			return nil, c.refuse("%q is none of its values: %s", short(text), strings.Join(c.Values, ", "))
		}
		return json.Marshal(text)
	}
	if t, isText := v.(string); isText {
		return json.Marshal(t)
	}
	return value, nil
}

func (c Criterion) number(text string) (json.RawMessage, error) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return nil, c.refuse("%q is not a number", short(text))
	case c.Min != nil && n < *c.Min, c.Max != nil && n > *c.Max:
		return nil, c.refuse("%s is outside of what it may be", short(text))
	}
	return json.Marshal(n)
}

func (c Criterion) refuse(format string, args ...any) error {
	return Errorf(CodeInvalid, "an answer to "+strconv.Quote(c.Name)+": "+format, args...).WithHint("it takes %s", c.takes())
}

// takes says what an answer may be.
func (c Criterion) takes() string {
	switch c.Type {
	case Boolean:
		return "true or false, pass or fail, yes or no"
	case Number:
		low, high := "any", "any"
		if c.Min != nil {
			low = strconv.FormatFloat(*c.Min, 'g', -1, 64)
		}
		if c.Max != nil {
			high = strconv.FormatFloat(*c.Max, 'g', -1, 64)
		}
		return "a number, at least " + low + " and at most " + high
	case Ordinal, Category:
		return "one of " + strings.Join(c.Values, ", ")
	}
	return "a boolean, a number or a text"
}

// short cuts what people gave for a message.
func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}
