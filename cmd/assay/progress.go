package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/internal/api"
	"assay/internal/assay"
)

// lineEvery is how often a pipe gets a line of progress.
const lineEvery = 3 * time.Second

// newProgress shows a run on stderr: a bar on a terminal, now and then a line elsewhere, nothing
// with --json.
func (a *app) newProgress(id assay.RunID) viewer {
	switch {
	case a.JSON:
		return quiet{}
	case terminal(a.err):
		return newBar(a, id)
	}
	return &lines{app: a}
}

// lines is progress in a pipe.
type lines struct {
	app   *app
	at    time.Time
	state string
	text  string
}

func (l *lines) see(v api.RunView) {
	state, text := phase(v), progressText(v)
	if text == l.text || state == l.state && time.Since(l.at) < lineEvery {
		return
	}
	l.state, l.text, l.at = state, text, time.Now()
	l.app.say("%s %s", v.ID, text)
}

func (l *lines) end() {}

// bar is progress on a terminal.
type bar struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	mu       sync.Mutex
	last     api.RunView
}

func newBar(a *app, id assay.RunID) *bar {
	b := &bar{progress: mpb.New(mpb.WithOutput(a.err), mpb.WithWidth(100), mpb.WithAutoRefresh())}
	b.bar = b.progress.New(0, mpb.BarStyle().Rbound("]").Lbound("["),
		mpb.BarWidth(24),
		mpb.PrependDecorators(decor.Name(id.String()+" ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return b.text() })),
	)
	return b
}

func (b *bar) see(v api.RunView) {
	b.mu.Lock()
	b.last = v
	b.mu.Unlock()
	total, done := max(v.Counts.Total, 1), v.Counts.Total-v.Counts.Pending
	if v.Suite != nil {
		total, done = harnessBar(v)
	}
	b.bar.SetTotal(total, false)
	b.bar.SetCurrent(done)
}

func (b *bar) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.ID == 0 { // nothing was seen yet: not even what kind of run it is
		return ""
	}
	return " " + progressText(b.last)
}

func (b *bar) end() {
	// Both are safe to repeat.
	b.bar.Abort(false)
	b.progress.Wait()
}

// phase is the one word for what a run is at.
func phase(v api.RunView) string {
	switch {
	case v.Cancelling:
		return "cancelling"
	case v.State == assay.RunRunning && v.PauseRequestedAt != nil:
		return "pausing"
	case v.State == assay.RunRunning && v.EndRequestedAt != nil:
		return "ending"
	case v.SilentSince() != nil:
		return "running, silent since " + moment(v.SilentSince(), time.UTC)
	case v.State == assay.RunRunning && v.Phase != assay.PhaseNone:
		return string(v.Phase)
	}
	return string(v.State)
}

// progressText is one line about a run under way.
func progressText(v api.RunView) string {
	if v.Suite != nil {
		return harnessProgress(v)
	}
	parts := []string{phase(v)}
	c := v.Counts
	if c.Total > 0 {
		done := c.Total - c.Pending
		parts = append(parts, fmt.Sprintf("%s/%s (%d%%)", humanize.Comma(done), humanize.Comma(c.Total), done*100/c.Total))
	}
	if v.Rate != nil {
		parts = append(parts, fmt.Sprintf("%s/s", humanize.FormatFloat("#,###.#", *v.Rate)))
	}
	if v.Remaining != nil && c.Pending > 0 {
		parts = append(parts, "ETA "+span(time.Duration(*v.Remaining*float64(time.Second))))
	}
	if c.InFlight > 0 {
		parts = append(parts, fmt.Sprintf("%d in flight", c.InFlight))
	}
	if c.Waiting > 0 && v.State == assay.RunRunning { // in a paused run everything waits
		parts = append(parts, fmt.Sprintf("%d waiting", c.Waiting))
	}
	parts = append(parts, count(c.Errored+c.Ungradable, "error"))
	if v.Spend.Usage.Known || v.Spend.Charged() > 0 {
		spent := tokensText(v.Spend.Spend) + ", USD " + v.Spend.CostRange()
		if v.Budget != nil {
			spent += " of " + v.Budget.String()
		}
		parts = append(parts, spent)
	}
	if v.State == assay.RunPaused && !settled(v) { // else the end says why, once
		parts = append(parts, because(v))
		if v.WakeAt != nil {
			parts = append(parts, "tries again at "+moment(v.WakeAt, time.UTC)+"; Ctrl-C leaves it for later")
		}
	}
	return strings.Join(parts, "  ")
}
