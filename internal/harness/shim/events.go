package shim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay/internal/durable"
	"assay/internal/harness/report"
)

// maxKeys bounds how many different things are remembered of a harness that reports without end.
const maxKeys = 2000

// events is the file of what was reported. Of each thing (the progress, a metric by name) the newest value
// is written, at most a few a second and ever less often as the file grows, so that a harness that reports
// in a loop fills neither disk nor reader. The last value of each is always written.
type events struct {
	disk    durable.Disk
	changed func()

	mu       sync.Mutex
	file     *os.File
	n        int64
	size     int64
	torn     bool // the file ends inside a line
	reported bool // the harness reports its progress: guesses count no more
	written  map[string]time.Time
	waiting  map[string]report.Event
	timer    *time.Timer
	closed   bool
}

// openEvents makes the file. changed is called when a value was written that had waited.
func openEvents(dir string, disk durable.Disk, changed func()) (*events, error) {
	f, err := os.OpenFile(filepath.Join(dir, eventsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open events: %w", err)
	}
	e := &events{disk: disk, changed: changed, file: f, written: map[string]time.Time{}, waiting: map[string]report.Event{}}
	e.timer = time.AfterFunc(time.Hour, e.wake)
	e.timer.Stop()
	return e, nil
}

// keyOf names what an event is a new value of.
func keyOf(e report.Event) string {
	switch {
	case e.Progress != nil:
		return "progress"
	case e.Metric != nil:
		return "metric " + e.Metric.Name
	case e.Link != nil:
		return "link " + e.Link.URL + " " + e.Link.Text
	}
	return "experiment"
}

// pause is how long a value waits after another of the same key.
func (e *events) pause() time.Duration {
	switch {
	case e.size < 1<<20:
		return 200 * time.Millisecond
	case e.size < 8<<20:
		return time.Second
	}
	return 10 * time.Second
}

func (e *events) count() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

// add takes events in the order in which they came.
func (e *events) add(list []report.Event) {
	if len(list) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range list {
		e.take(event, time.Now())
	}
}

func (e *events) take(event report.Event, now time.Time) {
	if p := event.Progress; p != nil {
		if p.Guessed && e.reported {
			return
		}
		e.reported = e.reported || !p.Guessed
	}
	key := keyOf(event)
	at, known := e.written[key]
	_, waits := e.waiting[key]
	switch {
	case e.closed, !known && len(e.written) >= maxKeys, known && event.Link != nil: // a link is said once
	case waits, known && now.Sub(at) < e.pause():
		if len(e.waiting) == 0 {
			e.timer.Reset(e.pause() - now.Sub(at))
		}
		e.waiting[key] = event
	default:
		e.write(key, event, now)
	}
}

// write appends one line. What the disk does not take waits.
func (e *events) write(key string, event report.Event, now time.Time) {
	event.N = e.n + 1
	raw, err := json.Marshal(event)
	if err != nil {
		return
	}
	raw = append(raw, '\n')
	if e.torn {
		raw = append([]byte{'\n'}, raw...)
	}
	e.written[key] = now
	written, err := e.file.Write(raw)
	e.size += int64(written)
	if err != nil {
		e.torn = e.torn || written > 0
		if len(e.waiting) == 0 {
			e.timer.Reset(time.Second)
		}
		e.waiting[key] = event
		return
	}
	e.n, e.torn = event.N, false
	delete(e.waiting, key)
}

// wake writes what has waited long enough.
func (e *events) wake() {
	e.mu.Lock()
	before := e.n
	if !e.closed {
		e.flush(time.Now(), false)
	}
	wrote := e.n > before
	e.mu.Unlock()
	if wrote {
		e.changed()
	}
}

func (e *events) flush(now time.Time, all bool) {
	keys := make([]string, 0, len(e.waiting))
	for key := range e.waiting {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return e.waiting[a].At.Compare(e.waiting[b].At) })
	next := e.pause()
	for _, key := range keys {
		if rest := e.pause() - now.Sub(e.written[key]); rest > 0 && !all {
			next = min(next, rest)
			continue
		}
		e.write(key, e.waiting[key], now)
	}
	if len(e.waiting) > 0 {
		e.timer.Reset(next)
	}
}

// close writes what waits and makes all of it durable.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flush(time.Now(), true)
	e.timer.Stop()
	e.closed = true
	e.disk.SyncFile(e.file)
	e.file.Close()
}
