package main

import "testing"

// JSON would make other bytes of what is not UTF-8.
func TestParametersArriveAsTheyAreOrNotAtAll(t *testing.T) {
	given := "text=a=b\n\"'\\ ä\u2028"
	got, err := (&suiteRunCmd{Param: []string{given, "empty="}}).params()
	if err != nil || string(got["text"]) != `"a=b\n\"'\\ ä\u2028"` || string(got["empty"]) != `""` {
		t.Errorf("%s %v", got, err)
	}
	for _, bad := range []string{"file=\xff", "\xff=x", "x", "=x"} {
		if _, err := (&suiteRunCmd{Param: []string{bad}}).params(); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
