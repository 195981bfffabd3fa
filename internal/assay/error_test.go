package assay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestTogether(t *testing.T) {
	if err := Together(nil); err != nil {
		t.Error(err)
	}
	if err := Together([]error{nil, nil}); err != nil {
		t.Error(err)
	}
	one := Errorf(CodeInvalid, "one").WithHint("do one").With("line", "1")
	two := Errorf(CodeInvalid, "two").WithHint("do\ntwo")
	var e *Error
	if err := Together([]error{one}); !errors.As(err, &e) || e.Message != "one" || e.Hint != "do one" || e.Details["also"] != "" {
		t.Errorf("one alone: %+v", err)
	}
	nested := Together([]error{one, two})
	if !errors.As(nested, &e) || e.Message != "one" || e.Details["also"] != "two (do two)" || e.Details["line"] != "1" {
		t.Errorf("two: %+v", nested)
	}
	if one.Details["also"] != "" {
		t.Error("the first of them was changed")
	}
	if err := Together([]error{two, nested}); !errors.As(err, &e) || e.Details["also"] != "one (do one)\ntwo (do two)" {
		t.Errorf("nested: %+v", err)
	}
	other := errors.New("other")
	if err := Together([]error{one, other}); err != other {
		t.Errorf("one that is not ours: %v", err)
	}
	var many []error
	for i := range 50 {
		many = append(many, Errorf(CodeInvalid, "%s", strconv.Itoa(i)))
	}
	if err := Together(many); !errors.As(err, &e) || strings.Count(e.Details["also"], "\n") != 19 || !strings.HasSuffix(e.Details["also"], "\nand 30 more") {
		t.Errorf("many: %+v", err)
	}
}

func TestAbout(t *testing.T) {
	if About("x", nil) != nil {
		t.Error("no error is about something")
	}
	inner := Errorf(CodeConflict, "r7 holds it").WithHint("wait").With("run", "r7")
	for _, err := range []error{inner, fmt.Errorf("start: %w", inner)} {
		var e *Error
		got := About("schedule night", err)
		if !errors.As(got, &e) || e.Code != CodeConflict || e.Hint != "wait" || e.Details["run"] != "r7" || got.Error() != "schedule night: "+err.Error() || !errors.Is(got, inner) {
			t.Errorf("%+v", got)
		}
		e.With("run", "r8")
	}
	if inner.Details["run"] != "r7" {
		t.Error("what it is about changed the error")
	}
	other := errors.New("other")
	if got := About("x", other); got.Error() != "x: other" || !errors.Is(got, other) {
		t.Errorf("%v", got)
	}
}
