package provider

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// refusedKeywords are the keywords of JSON Schema that a provider's strict mode refuses. This is the
// one place where a schema is changed: what is taken out stands in the prompt in words as well, and
// the parser behind a provider checks it.
//
// Anthropic takes no bounds but minItems 0 and 1. Azure takes none of those by type. OpenAI takes all,
// but not for fine-tuned models. Gemini's list has no lengths of strings.
func refusedKeywords(p Params, api API, profile Profile) []string {
	numbers := []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	lengths := []string{"minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties"}
	all := slices.Concat(numbers, lengths, []string{"minItems", "pattern", "format", "contains", "minContains", "maxContains", "patternProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties"})
	switch {
	case api == Messages && p.Format == FormatTool:
		return nil // the tool is not strict there
	case api == Messages:
		return slices.Concat(numbers, lengths)
	case profile.Name == "azure", profile.Name == "openai" && strings.HasPrefix(p.Model, "ft:"):
		return all
	case profile.Name == "gemini":
		return []string{"minLength", "maxLength", "pattern", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "minProperties", "maxProperties"}
	}
	return nil
}

// suited is the schema as the provider takes it; its members keep their order.
func suited(p Params, api API, profile Profile) json.RawMessage {
	if p.Format != FormatSchema && p.Format != FormatTool {
		return nil
	}
	refused := refusedKeywords(p, api, profile)
	if len(refused) == 0 {
		return p.Schema
	}
	return appendSchema(nil, gjson.ParseBytes(p.Schema), refused)
}

// appendSchema copies a schema without the refused keywords. Properties and definitions hold names,
// which are no keywords.
func appendSchema(b []byte, schema gjson.Result, refused []string) []byte {
	if !schema.IsObject() {
		return append(b, schema.Raw...)
	}
	return appendObject(b, schema, func(b []byte, key string, value gjson.Result) ([]byte, bool) {
		switch {
		case slices.Contains(refused, key):
			return b, false
		case (key == "properties" || key == "$defs" || key == "definitions") && value.IsObject():
			return appendObject(b, value, func(b []byte, _ string, value gjson.Result) ([]byte, bool) {
				return appendSchema(b, value, refused), true
			}), true
		case (key == "anyOf" || key == "allOf" || key == "oneOf" || key == "prefixItems") && value.IsArray():
			b = append(b, '[')
			for i, v := range value.Array() {
				if i > 0 {
					b = append(b, ',')
				}
				b = appendSchema(b, v, refused)
			}
			return append(b, ']'), true
		case key == "items" || key == "additionalProperties" || key == "not":
			return appendSchema(b, value, refused), true
		}
		return append(b, value.Raw...), true
	})
}

func appendObject(b []byte, object gjson.Result, member func([]byte, string, gjson.Result) ([]byte, bool)) []byte {
	b = append(b, '{')
	first := true
	object.ForEach(func(key, value gjson.Result) bool {
		at := len(b)
		if !first {
			b = append(b, ',')
		}
		b = append(append(b, key.Raw...), ':')
		var kept bool
		if b, kept = member(b, key.String(), value); !kept {
			b = b[:at]
			return true
		}
		first = false
		return true
	})
	return append(b, '}')
}
