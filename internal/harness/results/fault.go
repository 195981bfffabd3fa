package results

import (
	"errors"
	"fmt"
	"strings"

	"assay/internal/logs"
)

// Error says what was wrong with a file of which everything else was read.
type Error struct {
	Name   string
	Count  int     // of everything that was wrong
	Faults []Fault // the first of it
	Partly bool    // cases may be missing, or the harness says that it did not finish
	mask   *logs.Masker
}

// Fault is one thing that is wrong with a file.
type Fault struct {
	Where  string // line, member or entry; "" is the file
	Reason string
}

// maxFaults is how many faults are told in words.
const maxFaults = 5

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Name)
	for i, f := range e.Faults {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		if f.Where != "" {
			b.WriteString(f.Where + ": ")
		}
		b.WriteString(f.Reason)
	}
	if more := e.Count - len(e.Faults); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// Whole says whether a file may count as read, given the error of Read: every case that it was to hold
// was given, and its harness does not say that it broke off.
func Whole(err error) bool {
	if err == nil {
		return true
	}
	var e *Error
	return errors.As(err, &e) && !e.Partly
}

// add notes a fault by which cases may be missing.
func (e *Error) add(where, format string, args ...any) {
	e.Partly = true
	e.note(where, format, args...)
}

// note notes a fault that cost no case.
func (e *Error) note(where, format string, args ...any) {
	e.Count++
	if len(e.Faults) < maxFaults {
		where, _ = cut(oneLine(e.mask.Text(where)), maxWhere)
		reason, _ := cut(oneLine(e.mask.Text(fmt.Sprintf(format, args...))), maxReason)
		e.Faults = append(e.Faults, Fault{Where: where, Reason: reason})
	}
}
