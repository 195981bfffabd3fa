package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"assay/internal/assay"
)

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{assay.Errorf(assay.CodeInternal, "x"), 1},
		{assay.Errorf(assay.CodeNotFound, "x"), 1},
		{assay.Errorf(assay.CodeUnavailable, "x"), 1},
		{misuse("x"), 2},
		{assay.Errorf(assay.CodeInvalid, "x"), 2},
		{assay.Errorf(assay.CodeConflict, "x"), 5},
		{fmt.Errorf("wrapped: %w", assay.Errorf(assay.CodeConflict, "x")), 5},
		{assay.Errorf(assay.CodeRefused, "x"), 5},
		{assay.Errorf(assay.CodeIdempotency, "x"), 5},
		{assay.Errorf(assay.CodeRejected, "x"), 6},
	} {
		if got := exitStatus(c.err); got != c.want {
			t.Errorf("exitStatus(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestErrorsArePrintedForPeopleAndPrograms(t *testing.T) {
	var out bytes.Buffer
	a := &app{err: &out}
	err := assay.Errorf(assay.CodeConflict, "judge j is held by r1\x1b[2J").WithHint("cancel it").With("run", "r1")
	a.printError(err)
	if want := "assay: judge j is held by r1 [2J\nhint: cancel it\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	a.JSON = true
	a.printError(err)
	var got errorJSON
	if json.Unmarshal(out.Bytes(), &got) != nil || got.Code != assay.CodeConflict || got.Details["run"] != "r1" || got.Hint != "cancel it" {
		t.Errorf("got %s", out.String())
	}
}
