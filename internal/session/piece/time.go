package piece

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Time reads a time as files hold it: RFC 3339; the same without a zone, or with a space for the T
// (both read as UTC); a number of seconds, milliseconds, microseconds or nanoseconds since 1970,
// told apart by its size; such a number in a string. Anything else is no time: nil, never a guess.
func Time(v jsontext.Value) *time.Time {
	switch v.Kind() {
	case '0':
		return number(string(v))
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return nil
		}
		return timeText(strings.TrimSpace(string(text)))
	}
	return nil
}

func timeText(s string) *time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999Z0700",
		"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return utc(&t)
		}
	}
	return number(s)
}

// number keeps whole numbers exact: nanoseconds do not fit a float64.
func number(s string) *time.Time {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return unix(n)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(math.Abs(f) < math.MaxInt64/2) {
		return nil
	}
	if math.Abs(f) < maxSeconds {
		t := time.UnixMicro(int64(math.Round(f * 1e6)))
		return utc(&t)
	}
	return unix(int64(f))
}

const maxSeconds = 1e11 // the year 5138

func unix(n int64) *time.Time {
	var t time.Time
	switch size := math.Abs(float64(n)); {
	case size == 0:
		return nil // an unset field, not 1970
	case size < maxSeconds:
		t = time.Unix(n, 0)
	case size < maxSeconds*1e3:
		t = time.UnixMilli(n)
	case size < maxSeconds*1e6:
		t = time.UnixMicro(n)
	default:
		t = time.Unix(0, n)
	}
	return utc(&t)
}
