package results

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// What harnesses write is read loosely: a member of a type that nobody expects is no reason to lose a case.

// canonical is v written the one way that a hash needs.
func canonical(v gjson.Result) string {
	raw := jsontext.Value(v.Raw)
	if raw = raw.Clone(); raw.Canonicalize() != nil {
		return v.Raw
	}
	return string(raw)
}

// text is a string as it is, and everything else as JSON.
func text(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return v.String()
	case gjson.Null:
		return ""
	}
	return v.Raw
}

// scalar is the value of a finding; nil where v is none, or a number that no float64 holds.
func scalar(v gjson.Result) json.RawMessage {
	switch v.Type {
	case gjson.True, gjson.False:
		return json.RawMessage(v.Raw)
	case gjson.Number:
		if math.IsInf(v.Num, 0) || math.IsNaN(v.Num) {
			return nil
		}
		return json.RawMessage(v.Raw)
	case gjson.String:
		s, _ := cut(clean(v.String()), maxPlace)
		b, _ := json.Marshal(s)
		return b
	}
	return nil
}

// raw is v for Extra.
func raw(v gjson.Result) json.RawMessage { return json.RawMessage(v.Raw) }

// seconds is a time that passed, of which parts are a second; nil where v is none.
func seconds(v gjson.Result, parts float64) *float64 {
	s := v.Num / parts
	if v.Type != gjson.Number || s < 0 || math.IsInf(s, 0) {
		return nil
	}
	return &s
}

// dollars is an amount, to the nearest billionth of a dollar; nil where v is none.
func dollars(v gjson.Result) *assay.USD {
	const most = float64(assay.MaxUSD)
	n := math.Round(v.Num * float64(assay.Dollar))
	if v.Type != gjson.Number || n < 0 || n > most {
		return nil
	}
	u := assay.USD(n)
	return &u
}

// count is a number of tokens.
func count(v gjson.Result) int64 {
	if v.Type != gjson.Number || v.Num < 0 || v.Num > 1e15 {
		return 0
	}
	return int64(v.Num)
}

// truth is a bool; nil where v is none.
func truth(v gjson.Result) *bool {
	if !v.IsBool() {
		return nil
	}
	b := v.Bool()
	return &b
}

func boolean(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

// paragraphs joins texts that are there.
func paragraphs(texts ...string) string {
	var kept []string
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n\n")
}
