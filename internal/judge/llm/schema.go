package llm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/assay"
	"assay/internal/judge"
)

// Bounds that the schema and the instructions name.
const (
	maxReason = 600 // characters
	maxQuotes = 5
)

// object writes a JSON object whose members keep their order: a model answers in the order of the
// schema, so it must quote before it explains and explain before it decides.
type object []property

type property struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		raw, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(p.name) + ":")
		b.Write(raw)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// strict is an object schema in the form that strict structured output asks for: every property
// required, no other allowed.
func strict(properties object) object {
	required := make([]string, len(properties))
	for i, p := range properties {
		required[i] = p.name
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}}
}

// answerForm is the shape of an answer: about a session, or about so many units of one.
type answerForm struct {
	criteria []assay.Criterion
	units    int // 0: the session
}

// unitField is the member of a unit's object that repeats the unit's name.
const unitField = judge.UnitField

// slot names the nth unit of a question, from 0. A schema with the units' own names would be a new one
// for every session, and providers take seconds to prepare a new one.
func slot(n int) string { return fmt.Sprintf("unit_%d", n+1) }

// schema is the JSON Schema of an answer: the token, then each criterion in order; of units, the token,
// then each unit with its name and each criterion in order.
func (f answerForm) schema() json.RawMessage {
	properties := object{{judge.TokenField, object{{"type", "string"}, {"description", "The token that the instructions give, copied exactly."}}}}
	var asked object
	for _, c := range f.criteria {
		asked = append(asked, property{c.Name, criterionSchema(c)})
	}
	if f.units == 0 {
		properties = append(properties, asked...)
	}
	for n := range f.units {
		properties = append(properties, property{slot(n), strict(append(object{{unitField, object{{"type", "string"}}}}, asked...))})
	}
	raw, err := json.Marshal(strict(properties))
	if err != nil {
		panic(err) // texts and numbers only
	}
	return raw
}

func criterionSchema(c assay.Criterion) object {
	var p object
	if c.Evidence != assay.EvidenceNone {
		quote := strict(object{
			{"turn", object{{"type", "integer"}}},
			{"message", object{{"type", "integer"}}},
			{"quote", object{{"type", "string"}, {"description", "Copied word for word from that message."}}},
		})
		p = append(p, property{"evidence", object{{"type", "array"}, {"items", quote}, {"maxItems", maxQuotes}}})
	}
	p = append(p, property{"reason", object{{"type", "string"}, {"maxLength", maxReason}, {"description", fmt.Sprintf("At most %d characters.", maxReason)}}})
	if statuses := judge.Statuses(c); statuses != nil {
		p = append(p, property{"status", object{{"type", "string"}, {"enum", statuses}}})
	}
	return strict(append(p, property{"value", valueSchema(c)}))
}

func valueSchema(c assay.Criterion) object {
	nullable := judge.Statuses(c) != nil
	kind := map[assay.CriterionType]string{assay.Boolean: "boolean", assay.Number: "number"}[c.Type]
	if kind == "" {
		kind = "string"
	}
	s := object{{"type", kind}}
	if nullable {
		s = object{{"type", []string{kind, "null"}}}
	}
	if len(c.Values) > 0 {
		values := make([]any, 0, len(c.Values)+1)
		for _, v := range c.Values {
			values = append(values, v)
		}
		if nullable {
			values = append(values, nil)
		}
		s = append(s, property{"enum", values})
	}
	if c.Min != nil {
		s = append(s, property{"minimum", *c.Min})
	}
	if c.Max != nil {
		s = append(s, property{"maximum", *c.Max})
	}
	return s
}
