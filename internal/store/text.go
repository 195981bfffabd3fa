package store

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"assay/internal/assay"
)

// Clean makes a text storable: no NUL, valid UTF-8. Both become U+FFFD.
func Clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

// Encode makes JSON of what people or programs gave, which may not be encodable: a number that is not
// finite, a part that is no JSON. Parts that are JSON stay as they are but for white space. what names it in
// the error.
func Encode(v any, what string) (string, error) {
	b, err := encode(v)
	if err != nil {
		return "", assay.Errorf(assay.CodeInvalid, "store %s: %w", what, err).
			WithHint("numbers must be finite, and what is given as JSON must be JSON")
	}
	return string(b), nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Decode is the inverse of Encode.
func Decode(text []byte, v any, what string) error {
	if err := json.Unmarshal(text, v); err != nil {
		return assay.Errorf(assay.CodeInternal, "read %s: %w", what, err).WithHint("the database is damaged: run `assay doctor`")
	}
	return nil
}
