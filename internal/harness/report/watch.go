package report

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"assay/internal/assay"
	"assay/internal/logs"
)

// guessEvery is how often output is looked at for a progress bar.
const guessEvery = 200 * time.Millisecond

// maxWatched bounds the part of an unfinished line that is kept to find an address in it.
const maxWatched = 8 << 10

// Watcher looks at masked output as it passes. It costs little: of a line is asked first whether it can hold
// an address and the text with which the pattern begins, and for a progress bar only the newest line is
// looked at, five times a second.
type Watcher struct {
	first   bool
	pattern *regexp.Regexp // nil: no address is looked for
	begins  []byte         // every match begins so
	line    []byte         // not finished
	found   string

	newest  newest
	guessed time.Time
	last    assay.Progress
}

// NewWatcher makes one; a nil rule looks for no address. The error says what is wrong with its pattern.
func NewWatcher(rule *assay.LinkRule) (*Watcher, error) {
	w := &Watcher{}
	if rule == nil {
		return w, nil
	}
	pattern, err := regexp.Compile(rule.Pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern of the experiment's address: %w", err)
	}
	prefix, _ := pattern.LiteralPrefix()
	w.first, w.pattern, w.begins = rule.First, pattern, []byte(prefix)
	return w, nil
}

// See takes the next piece of output.
func (w *Watcher) See(p []byte, now time.Time) (events []Event) {
	events = w.watch(p, now)
	w.newest.add(p)
	if now.Sub(w.guessed) >= guessEvery {
		w.guessed = now
		events = w.guess(now, events)
	}
	return events
}

// Rest looks at what the last lines had that was not looked at yet, an end without a line's end too.
func (w *Watcher) Rest(now time.Time) (events []Event) {
	if w.pattern != nil {
		events = w.search(w.line, now)
		w.line = nil
	}
	return w.guess(now, events)
}

// watch searches the lines that p ends.
func (w *Watcher) watch(p []byte, now time.Time) (events []Event) {
	if w.pattern == nil || w.first && w.found != "" {
		return nil
	}
	if whole := bytes.LastIndexAny(p, "\n\r") + 1; whole > 0 {
		text := p[:whole]
		if len(w.line) > 0 {
			text = append(w.line, text...)
		}
		events = w.search(text, now)
		w.line, p = w.line[:0], p[whole:]
	}
	w.line = append(w.line, p[max(0, len(p)-maxWatched):]...)
	if over := len(w.line) - maxWatched; over > 0 {
		w.line = append(w.line[:0], w.line[over:]...)
	}
	return events
}

// search finds the last address in lines, or the first where the rule says so. A match stands in one line.
func (w *Watcher) search(lines []byte, now time.Time) []Event {
	if bytes.IndexByte(lines, '\x1b') >= 0 {
		lines = logs.Plain(lines)
	}
	if !w.may(lines) {
		return nil
	}
	found := w.found
	for len(lines) > 0 && !(w.first && found != "") {
		line := lines
		if end := bytes.IndexAny(lines, "\n\r"); end >= 0 {
			line, lines = lines[:end], lines[end+1:]
		} else {
			lines = nil
		}
		if w.may(line) {
			found = w.address(line, found)
		}
	}
	if found == w.found {
		return nil
	}
	w.found = found
	return []Event{{At: now, Experiment: found}}
}

// may says whether an address could be found in text: what has no :// is none.
func (w *Watcher) may(text []byte) bool {
	return bytes.Contains(text, []byte("://")) && bytes.Contains(text, w.begins)
}

// address is the one of line that counts, or found where it has none.
func (w *Watcher) address(line []byte, found string) string {
	for _, m := range w.pattern.FindAllSubmatch(line, -1) {
		a := string(logs.Plain(m[min(1, len(m)-1)]))
		if !assay.WebAddress(a) {
			continue
		}
		if found = a; w.first {
			break
		}
	}
	return found
}
