package postgres

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"assay/internal/assay"
	"assay/internal/store"
)

// values turns arguments into what pgx sends without reflection. Every text passes clean here, those
// that are looked for too, so that what was written under a text is found under it.
func values(args []any) []any {
	for i, a := range args {
		args[i] = value(a)
	}
	return args
}

func value(a any) any {
	switch v := a.(type) {
	case nil, int64, bool, float64, []byte, []int64, []bool, []*int64, []*bool, []float64, [][]byte, *int64, *bool:
		return v
	case int:
		return int64(v)
	case string:
		return clean(v)
	case []string:
		for i := range v {
			v[i] = clean(v[i])
		}
		return v
	case []*string:
		for i := range v {
			if v[i] != nil {
				*v[i] = clean(*v[i])
			}
		}
		return v
	case json.RawMessage:
		if v == nil {
			return nil
		}
		return clean(string(v))
	case time.Time:
		return v.UnixMicro()
	case *time.Time:
		return microsOf(v)
	case time.Duration:
		return int64(v)
	}
	// The named kinds of package assay: ids are int64, states and hashes are strings.
	switch v := reflect.ValueOf(a); v.Kind() {
	case reflect.Int64, reflect.Int:
		return v.Int()
	case reflect.String:
		return clean(v.String())
	default:
		panic("postgres: argument of type " + v.Type().String())
	}
}

func clean(s string) string { return store.Clean(s) }

// microsOf is a time as its column holds it; nil is NULL.
func microsOf(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

// textOf is a JSON value as its column holds it; nil is NULL.
func textOf(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	s := string(raw)
	return &s
}

// toJSON encodes what is always encodable: our own nouns. nil maps and slices become NULL.
func toJSON(v any) *string {
	rv := reflect.ValueOf(v)
	if (rv.Kind() == reflect.Map || rv.Kind() == reflect.Slice) && rv.IsNil() {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic("postgres: encode " + rv.Type().String() + ": " + err.Error())
	}
	s := clean(string(b))
	return &s
}

// The rest are destinations of Scan. NULL reads as the zero value.

type asTime struct{ to *time.Time }

func (d asTime) ScanInt64(v pgtype.Int8) error {
	if v.Valid {
		*d.to = time.UnixMicro(v.Int64).UTC()
	}
	return nil
}

type asTimePtr struct{ to **time.Time }

func (d asTimePtr) ScanInt64(v pgtype.Int8) error {
	*d.to = nil
	if v.Valid {
		t := time.UnixMicro(v.Int64).UTC()
		*d.to = &t
	}
	return nil
}

// asInt reads into any of the integer kinds of package assay.
type asInt[T ~int | ~int64] struct{ to *T }

func (d asInt[T]) ScanInt64(v pgtype.Int8) error {
	*d.to = T(v.Int64)
	return nil
}

func intTo[T ~int | ~int64](to *T) asInt[T] { return asInt[T]{to} }

type asUSDPtr struct{ to **assay.USD }

func (d asUSDPtr) ScanInt64(v pgtype.Int8) error {
	*d.to = nil
	if v.Valid {
		n := assay.USD(v.Int64)
		*d.to = &n
	}
	return nil
}

type asText[T ~string] struct{ to *T }

func (d asText[T]) ScanText(v pgtype.Text) error {
	*d.to = T(v.String)
	return nil
}

func textTo[T ~string](to *T) asText[T] { return asText[T]{to} }

// asRaw reads JSON as it was written.
type asRaw struct{ to *json.RawMessage }

func (d asRaw) ScanText(v pgtype.Text) error {
	*d.to = nil
	if v.Valid {
		*d.to = json.RawMessage(v.String)
	}
	return nil
}

// asJSON decodes JSON.
type asJSON struct{ to any }

func (d asJSON) ScanText(v pgtype.Text) error {
	if !v.Valid {
		return nil
	}
	return json.Unmarshal([]byte(v.String), d.to)
}
