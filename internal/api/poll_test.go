package api_test

import (
	"testing"
	"time"
)

// waitFor asks until done says yes. What it waits for has no signal of its own.
func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen in 10 s")
		}
		<-time.After(2 * time.Millisecond)
	}
}
