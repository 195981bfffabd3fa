package engine

import (
	"slices"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

// The table of the design, written out a second time: a row that is added or lost in the code must be
// added or lost here too.
func TestMachineIsTheTable(t *testing.T) {
	want := map[Event]struct {
		from []assay.RunState
		to   assay.RunState
	}{
		EventAccept:     {[]assay.RunState{""}, "queued"},
		EventTold:       {[]assay.RunState{""}, "running"},
		EventTakeUp:     {[]assay.RunState{"queued"}, "running"},
		EventDriverDead: {[]assay.RunState{"running"}, "running"},
		EventStop:       {[]assay.RunState{"running"}, "queued"},
		EventPause:      {[]assay.RunState{"running"}, "paused"},
		EventResume:     {[]assay.RunState{"paused"}, "queued"},
		EventWake:       {[]assay.RunState{"paused"}, "queued"},
		EventDone:       {[]assay.RunState{"running"}, "completed"},
		EventEnd:        {[]assay.RunState{"running", "paused"}, "completed"},
		EventFail:       {[]assay.RunState{"running"}, "failed"},
		EventCancel:     {[]assay.RunState{"queued", "running", "paused"}, "cancelled"},
		EventLost:       {[]assay.RunState{"running"}, "lost"},
	}
	seen := map[Event]bool{}
	for _, row := range Machine {
		seen[row.Event] = true
		if row.From.Terminal() {
			t.Errorf("%s leaves the terminal state %s", row.Event, row.From)
		}
	}
	for event, w := range want {
		from, to := From(event)
		if !slices.Equal(from, w.from) || to != w.to {
			t.Errorf("%s: from %v to %s, want from %v to %s", event, from, to, w.from, w.to)
		}
		delete(seen, event)
	}
	for event := range seen {
		t.Errorf("event %s is not in the design", event)
	}
	for event, n := range map[Event]store.NewRun{EventAccept: {}, EventTold: {Reporting: true}} {
		if _, to := From(event); n.Begins().State != to {
			t.Errorf("%s: the store lets a run begin as %s, and the table says %s", event, n.Begins().State, to)
		}
	}
}
