package main

import "testing"

func TestAnEndByForceSaysHowToGoOn(t *testing.T) {
	a := &app{}
	if got := a.afterForce(); got != "" {
		t.Errorf("no run was followed: %q", got)
	}
	a.followed.Store(3)
	if got, want := a.afterForce(), "; what was answered is kept, and `assay watch r3` goes on with it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
