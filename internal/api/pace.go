package api

import (
	"time"

	"assay/internal/assay"
)

// worked counts items that ended by being judged: reused ones cost no time.
func worked(c assay.Counts) int64 { return c.Graded - c.Reused + c.Errored + c.Ungradable }

// pace sets the rate from n items in d, and the time that the pending ones take at it. Too little to
// go by leaves both absent.
func (v *RunView) pace(n int64, d time.Duration) {
	if n <= 0 || d <= 0 {
		return
	}
	rate := float64(n) / d.Seconds()
	left := float64(v.Counts.Pending) / rate
	v.Rate, v.Remaining = &rate, &left
}

// paceWindow is how far back a watched run's rate looks.
const paceWindow = 15 * time.Second

// pacer measures a watched run's rate over the last seconds.
type pacer struct {
	epoch int64
	marks []mark // oldest first
}

type mark struct {
	at     time.Time
	worked int64
}

// measure replaces the rate since the start, which pauses and restarts falsify, by the present one.
func (p *pacer) measure(v *RunView, now time.Time) {
	v.Rate, v.Remaining = nil, nil
	if v.State != assay.RunRunning || v.Epoch != p.epoch {
		p.epoch, p.marks = v.Epoch, nil
	}
	if v.State != assay.RunRunning || v.Suite != nil { // the items of a harness come all at once, at its end
		return
	}
	for len(p.marks) > 1 && now.Sub(p.marks[0].at) > paceWindow {
		p.marks = p.marks[1:]
	}
	done := worked(v.Counts)
	if len(p.marks) > 0 {
		v.pace(done-p.marks[0].worked, now.Sub(p.marks[0].at))
	}
	p.marks = append(p.marks, mark{at: now, worked: done})
}
