package main

import (
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

func TestTextOfOthersCannotDriveTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		"a\x1b[31mred\nnext": "a [31mred next",
		"tab\tbell\a":        "tab bell ",
		"rtl\u202eevil":      "rtl evil",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 200 * time.Second: "3m20s", 125 * time.Minute: "2h05m",
		59*time.Minute + 59*time.Second + 600*time.Millisecond: "1h00m",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestProgressText(t *testing.T) {
	rate, left := 412.34, 12.0
	v := api.RunView{Rate: &rate, Remaining: &left}
	v.State, v.Phase = assay.RunRunning, assay.PhaseGrading
	v.Counts = assay.Counts{Total: 2000, Pending: 1360, Graded: 638, Errored: 2, InFlight: 50, Waiting: 1}
	v.Spend.Spend = assay.Spend{Attempts: 700, Unpriced: 700, Usage: assay.Usage{Known: true, Input: 1_234_567, Output: 890}}
	want := "grading  640/2,000 (32%)  412.3/s  ETA 12s  50 in flight  1 waiting  2 errors  1,234,567 tokens in, 890 out, USD unknown for 700 calls"
	if got := progressText(v); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSumsOfTokensSayWhatIsNotInThem(t *testing.T) {
	s := assay.Spend{Attempts: 9, Unmetered: 6, Usage: assay.Usage{Known: true, Input: 6248, Output: 12}}
	if got := tokensText(s); got != "6,248 tokens in, 12 out + unknown for 6 calls" {
		t.Errorf("%q", got)
	}
	if got := strings.Join(spendCells(9, s, 4), "|"); got != "9|6,248 + unknown for 6 calls|-|12 + unknown|-|0.0000" {
		t.Errorf("%q", got)
	}
}

func TestOutcome(t *testing.T) {
	wake := time.Now()
	view := func(state assay.RunState, change func(*api.RunView)) api.RunView {
		v := api.RunView{}
		v.ID, v.State, v.Sentence = 3, state, "because"
		if change != nil {
			change(&v)
		}
		return v
	}
	for _, c := range []struct {
		name    string
		v       api.RunView
		settled bool
		status  int
	}{
		{"completed", view(assay.RunCompleted, nil), true, 0},
		{"failed", view(assay.RunFailed, nil), true, 1},
		{"cancelled", view(assay.RunCancelled, nil), true, 1},
		{"lost", view(assay.RunStateLost, nil), true, 1},
		{"paused", view(assay.RunPaused, nil), true, 1},
		{"paused until", view(assay.RunPaused, func(v *api.RunView) { v.WakeAt = &wake }), false, 1},
		{"paused and cancelled", view(assay.RunPaused, func(v *api.RunView) { v.Cancelling = true }), false, 1},
		{"running", view(assay.RunRunning, nil), false, 1},
		{"queued", view(assay.RunQueued, nil), false, 1},
	} {
		if settled(c.v) != c.settled {
			t.Errorf("%s: settled is %v", c.name, !c.settled)
		}
		if c.settled && exitStatus(outcome(c.v)) != c.status {
			t.Errorf("%s: status %d, want %d", c.name, exitStatus(outcome(c.v)), c.status)
		}
	}
}
