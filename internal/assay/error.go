package assay

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Code names a kind of error for programs. Codes are part of the API: they are never renamed.
type Code string

const (
	CodeInvalid      Code = "invalid_input"        // the request does not validate; nothing was changed
	CodeNotFound     Code = "not_found"            // no such project, session, run, judge, set
	CodeConflict     Code = "run_conflict"         // an active run holds the key; Details["run"] names it
	CodeRefused      Code = "state_refused"        // the run's state does not allow this
	CodeIdempotency  Code = "idempotency_mismatch" // same Idempotency-Key, other body
	CodeLost         Code = "run_lost"             // this driver no longer holds the run
	CodeRejected     Code = "input_rejected"       // some of the input was rejected; the rest was kept
	CodeGate         Code = "gate_not_passed"      // of a command: a gate failed or is inconclusive; Details["decision"] says which
	CodeUnauthorized Code = "unauthorized"         // no token or a wrong one
	CodeForbidden    Code = "forbidden"            // origin, host or door not allowed
	CodeUnavailable  Code = "unavailable"          // try again: no owner, shutting down, busy
	CodeInternal     Code = "internal"
)

// Error is the one application error. Message says what is wrong and where, Hint what to do.
type Error struct {
	Code    Code
	Message string
	Hint    string
	Details map[string]string // machine-readable facts, e.g. "run": "r17"
	Cause   error             // what Message already tells in words; kept for errors.Is and As
}

func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, &Error{Code: c}) true for every error of that code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// Errorf makes an Error with a formatted message; a %w operand becomes its cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// WithHint returns e with a sentence that says what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// With returns e with one more machine-readable detail.
func (e *Error) With(key, value string) *Error {
	if e.Details == nil {
		e.Details = map[string]string{}
	}
	e.Details[key] = value
	return e
}

// About says before an error what it is about, and keeps its code, hint and details, however it was wrapped.
// nil stays nil.
func About(what string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &Error{Code: e.Code, Message: what + ": " + err.Error(), Hint: e.Hint, Details: maps.Clone(e.Details), Cause: err}
}

// mostTogether bounds how many mistakes one error tells of.
const mostTogether = 20

// Together is one error of several mistakes: the first one, and in its Details, as "also", the others, one a
// line with what to do. An error that is none of ours stands alone. nil where there is none.
func Together(errs []error) error {
	var first *Error
	var also []string
	for _, err := range errs {
		var e *Error
		switch {
		case err == nil:
			continue
		case !errors.As(err, &e):
			return err
		case first == nil:
			twin := *e
			twin.Details = maps.Clone(e.Details)
			first = &twin
		default:
			also = append(also, e.line())
		}
		if more := e.Details["also"]; more != "" {
			also = append(also, strings.Split(more, "\n")...)
		}
	}
	switch {
	case first == nil:
		return nil
	case len(also) == 0:
		return first
	case len(also) >= mostTogether:
		also = append(also[:mostTogether-1:mostTogether-1], fmt.Sprintf("and %d more", len(also)-mostTogether+1))
	}
	return first.With("also", strings.Join(also, "\n"))
}

// line is what an error says and what to do about it.
func (e *Error) line() string {
	text := e.Message
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return strings.Join(strings.Fields(text), " ")
}

// CodeOf returns the code of the first Error in err's chain, or CodeInternal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// ErrLost says that the run was taken over, ended or is no longer running: whoever held it must
// stop without writing anything else under its epoch.
var ErrLost = &Error{Code: CodeLost}
