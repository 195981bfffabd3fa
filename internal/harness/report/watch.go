package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"assay/internal/assay"
	"assay/internal/logs"
)

// guessEvery is how often output is looked at for a progress bar.
const guessEvery = 200 * time.Millisecond

// maxWatched bounds the part of an unfinished line that is kept to find an address in it.
const maxWatched = 8 << 10

// Watcher looks at masked output as it passes. It costs little: lines are searched by one expression, and
// for a progress bar only the newest line is looked at, five times a second.
type Watcher struct {
	rule    *assay.LinkRule
	pattern *regexp.Regexp
	line    []byte // not finished
	found   string
	guessed time.Time
	last    assay.Progress
}

// NewWatcher makes one; a nil rule looks for no address. The error says what is wrong with its pattern.
func NewWatcher(rule *assay.LinkRule) (*Watcher, error) {
	w := &Watcher{rule: rule}
	if rule != nil {
		var err error
		if w.pattern, err = regexp.Compile(rule.Pattern); err != nil {
			return nil, fmt.Errorf("pattern of the experiment's address: %w", err)
		}
	}
	return w, nil
}

// See takes the next piece of output.
func (w *Watcher) See(p []byte, now time.Time) (events []Event) {
	whole := bytes.LastIndexAny(p, "\n\r") + 1
	if w.pattern != nil {
		if whole > 0 {
			events = w.search(append(w.line, p[:whole]...), now, events)
			w.line = w.line[:0]
		}
		w.line = append(w.line, p[whole:]...)
		if over := len(w.line) - maxWatched; over > 0 {
			w.line = append(w.line[:0], w.line[over:]...)
		}
	}
	if now.Sub(w.guessed) >= guessEvery {
		w.guessed = now
		if bar, ok := guess(lastLine(p)); ok && (bar.Done != w.last.Done || bar.Total != w.last.Total) {
			w.last = bar
			bar.At = now
			events = append(events, Event{At: now, Progress: &bar})
		}
	}
	return events
}

// Rest looks at a last line that had no end.
func (w *Watcher) Rest(now time.Time) []Event {
	if w.pattern == nil {
		return nil
	}
	return w.search(w.line, now, nil)
}

func (w *Watcher) search(text []byte, now time.Time, events []Event) []Event {
	if w.rule.First && w.found != "" {
		return events
	}
	matches := w.pattern.FindAllSubmatch(text, -1)
	if w.rule.First && len(matches) > 1 {
		matches = matches[:1]
	}
	for i := len(matches) - 1; i >= 0; i-- { // the last one that is an address
		m := matches[i]
		address := m[0]
		if len(m) > 1 {
			address = m[1]
		}
		if a := string(logs.Plain(address)); Address(a) {
			if a != w.found {
				w.found = a
				events = append(events, Event{At: now, Experiment: a})
			}
			break
		}
	}
	return events
}

// lastLine is the newest line in p with something in it.
func lastLine(p []byte) []byte {
	const most = 1 << 10
	p = bytes.TrimRight(p[max(0, len(p)-most):], "\r\n ")
	return p[bytes.LastIndexAny(p, "\n\r")+1:]
}

// bar is a count as progress bars show it: "37%|███   | 37/100 [", "(3/20)", "12/40". A date or a path has
// more than one slash, or letters around it.
var bar = regexp.MustCompile(`(?:^|[\s|(\[])(\d{1,9})/(\d{1,9})(?:$|[\s)\],:])`)

func guess(line []byte) (p assay.Progress, ok bool) {
	if bytes.IndexByte(line, '/') < 0 {
		return p, false
	}
	m := bar.FindSubmatch(logs.Plain(line))
	if m == nil {
		return p, false
	}
	done, _ := strconv.ParseFloat(string(m[1]), 64)
	total, _ := strconv.ParseFloat(string(m[2]), 64)
	if total == 0 || done > total {
		return p, false
	}
	return assay.Progress{Done: done, Total: total, Guessed: true}, true
}
