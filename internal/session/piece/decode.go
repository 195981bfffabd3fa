package piece

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads raw as a T. Valid JSON is read directly; what is not is mended first. repaired says
// that text was replaced.
func Decode[T any](raw []byte) (v *T, repaired bool, fault *Fault) {
	v = new(T)
	err := json.Unmarshal(raw, v, jsontext.AllowDuplicateNames(true))
	if err == nil && !bytes.Contains(raw, []byte(`\u0000`)) {
		return v, false, nil
	}
	mended, repaired := Mend(raw)
	if bytes.Equal(mended, raw) {
		if err == nil {
			return v, false, nil
		}
		return nil, false, FaultOf(err)
	}
	v = new(T)
	if err := json.Unmarshal(mended, v, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, false, FaultOf(err)
	}
	return v, repaired, nil
}

// FaultOf tells a decoding error in words, with its place.
func FaultOf(err error) *Fault {
	var fault *Fault
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return Faultf(string(syntactic.JSONPointer), "not JSON: it ends too early")
		}
		return Faultf(string(syntactic.JSONPointer), "not JSON: %s", strings.TrimPrefix(syntactic.Err.Error(), "jsontext: "))
	case errors.As(err, &fault):
		if errors.As(err, &semantic) {
			return Faultf(string(semantic.JSONPointer)+fault.Where, "%s", fault.Reason)
		}
		return fault
	case errors.As(err, &semantic):
		place := string(semantic.JSONPointer)
		if semantic.Err != nil {
			return Faultf(place, "cannot be read: %s", semantic.Err)
		}
		return Faultf(place, "%s is not expected here", kindWord(semantic.JSONKind))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return Faultf("", "not JSON: it ends too early")
	}
	return Faultf("", "cannot be read: %s", err)
}

func kindWord(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "this"
}
