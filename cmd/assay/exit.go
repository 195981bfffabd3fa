package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/internal/assay"
)

// Exit statuses. They are part of the interface to scripts.
const (
	exitDone         = 0
	exitError        = 1
	exitUsage        = 2
	exitGateFailed   = 3
	exitInconclusive = 4
	exitConflict     = 5
	exitRejected     = 6
)

// The two ways in which gates do not pass.
var (
	errGateFailed   = errors.New("gate failed")
	errInconclusive = errors.New("gate inconclusive")
)

// exitStatus maps an error to the status of the process.
func exitStatus(err error) int {
	if err == nil {
		return exitDone
	}
	var command wrapped
	if errors.As(err, &command) {
		return int(command)
	}
	switch {
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errGateFailed):
		return exitGateFailed
	case errors.Is(err, errInconclusive):
		return exitInconclusive
	}
	switch assay.CodeOf(err) {
	case assay.CodeInvalid:
		return exitUsage
	case assay.CodeConflict, assay.CodeRefused, assay.CodeIdempotency:
		return exitConflict
	case assay.CodeRejected:
		return exitRejected
	}
	return exitError
}

// printError tells a person, or with --json a program, what went wrong.
func (a *app) printError(err error) {
	var e *assay.Error
	if !errors.As(err, &e) {
		e = &assay.Error{Code: assay.CodeInternal, Message: err.Error()}
	}
	if a.JSON {
		line, jsonErr := json.Marshal(errorJSON{Code: e.Code, Message: e.Error(), Hint: e.Hint, Details: e.Details})
		if jsonErr == nil {
			fmt.Fprintf(a.err, "%s\n", line)
			return
		}
	}
	fmt.Fprintf(a.err, "assay: %s\n", clean(e.Error()))
	if e.Hint != "" {
		fmt.Fprintf(a.err, "hint: %s\n", clean(e.Hint))
	}
	if more := e.Details["also"]; more != "" {
		for line := range strings.SplitSeq(more, "\n") {
			fmt.Fprintf(a.err, "also: %s\n", clean(line))
		}
	}
}

// errorJSON is the shape of an error with --json.
type errorJSON struct {
	Code    assay.Code        `json:"code"`
	Message string            `json:"message"`
	Hint    string            `json:"hint,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}
