package otlp

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

// request is an ExportTraceServiceRequest as OTLP's JSON encoding has it: 64-bit numbers may be
// strings, attributes are arrays of key and value. Only what is read here is named.
type request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource struct {
		Attributes attributes `json:"attributes"`
	} `json:"resource"`
	ScopeSpans []struct {
		Spans []wireSpan `json:"spans"`
	} `json:"scopeSpans"`
}

type wireSpan struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	ParentID   string     `json:"parentSpanId"`
	Name       string     `json:"name"`
	Start      integer    `json:"startTimeUnixNano"`
	End        integer    `json:"endTimeUnixNano"`
	Attributes attributes `json:"attributes"`
	Events     []struct {
		Name       string     `json:"name"`
		Attributes attributes `json:"attributes"`
	} `json:"events"`
}

// integer is a number or a number in a string.
type integer int64

func (n *integer) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text := string(v)
	if v.Kind() == '"' {
		b, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return err
		}
		text = string(b)
	}
	if text == "" || v.Kind() == 'n' {
		return nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || !(math.Abs(f) < math.MaxInt64/2) {
			return piece.Faultf("", "%.40q is not a whole number", text)
		}
		i = int64(f)
	}
	*n = integer(i)
	return nil
}

// time is nil for 0, which OTLP writes where there is none.
func (n integer) time() *time.Time {
	if n <= 0 {
		return nil
	}
	t := time.Unix(0, int64(n)).UTC()
	return &t
}

// attributes are key-value pairs whose values have been turned into plain JSON. The first of a
// repeated key stays.
type attributes map[string]json.RawMessage

func (a *attributes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var pairs []keyValue
	if err := unmarshal(dec, &pairs); err != nil {
		return err
	}
	*a = make(attributes, len(pairs))
	for _, p := range pairs {
		if _, ok := (*a)[p.Key]; !ok && p.Value != nil {
			(*a)[p.Key] = p.Value.json()
		}
	}
	return nil
}

type keyValue struct {
	Key   string    `json:"key"`
	Value *anyValue `json:"value"`
}

type anyValue struct {
	String *string        `json:"stringValue"`
	Bool   *bool          `json:"boolValue"`
	Int    *integer       `json:"intValue"`
	Double jsontext.Value `json:"doubleValue"`
	Bytes  *string        `json:"bytesValue"`
	Array  *struct {
		Values []anyValue `json:"values"`
	} `json:"arrayValue"`
	List *struct {
		Values []keyValue `json:"values"`
	} `json:"kvlistValue"`
}

// json is the value as plain JSON. Doubles that JSON cannot hold ("NaN") stay strings.
func (v *anyValue) json() json.RawMessage {
	switch {
	case v.String != nil:
		return assay.AppendString(nil, *v.String)
	case v.Bool != nil:
		return strconv.AppendBool(nil, *v.Bool)
	case v.Int != nil:
		return strconv.AppendInt(nil, int64(*v.Int), 10)
	case len(v.Double) > 0:
		return json.RawMessage(v.Double)
	case v.Bytes != nil:
		if text, err := base64.StdEncoding.DecodeString(*v.Bytes); err == nil && json.Valid(text) {
			return text
		}
		return assay.AppendString(nil, *v.Bytes)
	case v.Array != nil:
		out := []byte{'['}
		for i := range v.Array.Values {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, v.Array.Values[i].json()...)
		}
		return append(out, ']')
	case v.List != nil:
		out := []byte{'{'}
		for i, p := range v.List.Values {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(assay.AppendString(out, p.Key), ':')
			if p.Value == nil {
				out = append(out, "null"...)
			} else {
				out = append(out, p.Value.json()...)
			}
		}
		return append(out, '}')
	}
	return json.RawMessage("null")
}

// text is a string attribute, or another scalar as it is written.
func (a attributes) text(keys ...string) string {
	for _, k := range keys {
		raw := a[k]
		if len(raw) == 0 || raw[0] == 'n' {
			continue
		}
		if raw[0] != '"' {
			return string(raw)
		}
		var s string
		if json.Unmarshal(raw, &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// value is an attribute that holds JSON, as such or inside a string; a string that is not JSON stays
// a string.
func (a attributes) value(keys ...string) json.RawMessage {
	for _, k := range keys {
		raw := a[k]
		if len(raw) == 0 || raw[0] == 'n' {
			continue
		}
		if raw[0] == '"' {
			var s string
			if json.Unmarshal(raw, &s) != nil || s == "" {
				continue
			}
			if inner, _ := piece.Mend([]byte(s)); json.Valid(inner) {
				return inner
			}
		}
		return raw
	}
	return nil
}
