package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"math"
	"reflect"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// toValue turns an argument into what the driver takes. Every text passes clean here, those that
// are looked for too, so that what was written under a text is found under it.
func toValue(a any) driver.Value {
	switch v := a.(type) {
	case nil:
		return nil
	case int64:
		return v
	case int:
		return int64(v)
	case bool:
		return v
	case float64:
		return v
	case string:
		return clean(v)
	case json.RawMessage:
		if v == nil {
			return nil
		}
		return clean(string(v))
	case []byte:
		return v
	case time.Time:
		return v.UnixMicro()
	case *time.Time:
		if v == nil {
			return nil
		}
		return v.UnixMicro()
	case time.Duration:
		return int64(v)
	case *int64:
		if v == nil {
			return nil
		}
		return *v
	case *bool:
		if v == nil {
			return nil
		}
		return *v
	}
	// The named kinds of package assay: ids are int64, states and hashes are strings.
	switch v := reflect.ValueOf(a); v.Kind() {
	case reflect.Int64, reflect.Int:
		return v.Int()
	case reflect.String:
		return clean(v.String())
	default:
		panic("sqlite: argument of type " + v.Type().String())
	}
}

func clean(s string) string { return store.Clean(s) }

// row is one row of a result; NULL reads as the zero value.
type row []driver.Value

func (r row) int(i int) int64 {
	v, _ := r[i].(int64)
	return v
}

func (r row) bool(i int) bool { return r.int(i) != 0 }

func (r row) float(i int) float64 {
	switch v := r[i].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}

func (r row) text(i int) string {
	v, _ := r[i].(string)
	return v
}

func (r row) blob(i int) []byte {
	v, _ := r[i].([]byte)
	return v
}

func (r row) json(i int) json.RawMessage {
	v, ok := r[i].(string)
	if !ok {
		return nil
	}
	return json.RawMessage(v)
}

func (r row) time(i int) time.Time { return time.UnixMicro(r.int(i)).UTC() }

func (r row) timePtr(i int) *time.Time {
	if r[i] == nil {
		return nil
	}
	t := r.time(i)
	return &t
}

func (r row) boolPtr(i int) *bool {
	if r[i] == nil {
		return nil
	}
	b := r.bool(i)
	return &b
}

func (r row) intPtr(i int) *int64 {
	if r[i] == nil {
		return nil
	}
	n := r.int(i)
	return &n
}

// usd is a sum of money that is told in two columns, whole dollars and billionths: in one the sum of
// many could be too great.
func (r row) usd(i int) assay.USD {
	dollars, rest := r.int(i)+r.int(i+1)/int64(assay.Dollar), r.int(i+1)%int64(assay.Dollar)
	if dollars >= math.MaxInt64/int64(assay.Dollar) {
		return math.MaxInt64
	}
	return assay.USD(dollars)*assay.Dollar + assay.USD(rest)
}

// toJSON encodes what is always encodable: our own nouns. nil maps and slices become NULL.
func toJSON(v any) any {
	rv := reflect.ValueOf(v)
	if (rv.Kind() == reflect.Map || rv.Kind() == reflect.Slice) && rv.IsNil() {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic("sqlite: encode " + rv.Type().String() + ": " + err.Error())
	}
	return string(b)
}
