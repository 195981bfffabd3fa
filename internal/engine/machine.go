package engine

import (
	"time"

	"assay/internal/assay"
)

// Event is something that may move a run to another state.
type Event string

const (
	EventAccept     Event = "accept"      // a start is stored
	EventTold       Event = "told"        // a start is stored of a harness that runs already, elsewhere
	EventTakeUp     Event = "take_up"     // a driver begins or goes on
	EventDriverDead Event = "driver_dead" // the driver that held it is gone; another takes it up
	EventStop       Event = "stop"        // its process stops gracefully; or its harness was lost and is started again
	EventPause      Event = "pause"       // asked for, or a pausing cause, and nothing is in flight
	EventResume     Event = "resume"      // asked for
	EventWake       Event = "wake"        // wake_at has come
	EventDone       Event = "done"        // every item ended
	EventEnd        Event = "end"         // asked for; the rest is abandoned
	EventFail       Event = "fail"        // it cannot be carried on
	EventCancel     Event = "cancel"      // asked for, and nothing is in flight
	EventLost       Event = "lost"        // a harness that is gone without having said how it ended
)

// Transition is a row of the machine. From is "" where a run begins.
type Transition struct {
	Event Event
	From  assay.RunState
	To    assay.RunState
}

// Machine is every transition that exists. What is not here is refused.
var Machine = []Transition{
	{EventAccept, "", assay.RunQueued}, // these two: store.NewRun.Begins
	{EventTold, "", assay.RunRunning},
	{EventTakeUp, assay.RunQueued, assay.RunRunning},
	{EventDriverDead, assay.RunRunning, assay.RunRunning},
	{EventStop, assay.RunRunning, assay.RunQueued},
	{EventPause, assay.RunRunning, assay.RunPaused},
	{EventResume, assay.RunPaused, assay.RunQueued},
	{EventWake, assay.RunPaused, assay.RunQueued},
	{EventDone, assay.RunRunning, assay.RunCompleted},
	{EventEnd, assay.RunRunning, assay.RunCompleted},
	{EventEnd, assay.RunPaused, assay.RunCompleted},
	{EventFail, assay.RunRunning, assay.RunFailed},
	{EventCancel, assay.RunQueued, assay.RunCancelled},
	{EventCancel, assay.RunRunning, assay.RunCancelled},
	{EventCancel, assay.RunPaused, assay.RunCancelled},
	{EventLost, assay.RunRunning, assay.RunStateLost},
}

// From lists the states in which an event is allowed, and To the state that it leads to. Each event
// leads to one state only.
func From(e Event) (from []assay.RunState, to assay.RunState) {
	for _, t := range Machine {
		if t.Event == e {
			from, to = append(from, t.From), t.To
		}
	}
	return from, to
}

// ConfirmFor is how long a driver may start calls after it last read its run's row.
const ConfirmFor = time.Second

// StopGrace is how long calls in flight may finish when a process stops.
const StopGrace = 10 * time.Second
