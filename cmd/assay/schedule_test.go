package main

import (
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

// A tick that waits for a run, or for a server, is not shown as if it were still to come.
func TestATickThatIsOwedSaysSo(t *testing.T) {
	for in, owed := range map[time.Duration]bool{time.Hour: false, -time.Hour: true} {
		at := time.Now().Add(in)
		s := assay.Schedule{NextAt: &at, Def: assay.ScheduleDef{Zone: "Europe/Berlin"}}
		if text := nextText(s); strings.HasSuffix(text, ", still owed") != owed {
			t.Errorf("in %s: %q", in, text)
		}
		s.Paused = true
		if text := nextText(s); text != "paused" {
			t.Errorf("paused: %q", text)
		}
	}
}
