package report

import (
	"bytes"
	"regexp"
	"strconv"
	"time"

	"assay/internal/assay"
	"assay/internal/logs"
)

// newest is the end of the output, long enough for a progress bar.
type newest struct {
	tail []byte
	lost bool // more stood before it
}

const maxNewest = 1 << 10

func (n *newest) add(p []byte) {
	if len(p) >= maxNewest {
		n.lost = n.lost || len(p) > maxNewest || len(n.tail) > 0
		n.tail = append(n.tail[:0], p[len(p)-maxNewest:]...)
		return
	}
	n.tail = append(n.tail, p...)
	if over := len(n.tail) - maxNewest; over > 0 {
		n.tail, n.lost = append(n.tail[:0], n.tail[over:]...), true
	}
}

// line is the newest line with something in it. ended says that its last word is whole; of a line whose
// begin is not known a number at the begin is left out.
func (n *newest) line() (line []byte, ended bool) {
	line = bytes.TrimRight(n.tail, "\r\n ")
	ended = len(line) < len(n.tail)
	if begin := bytes.LastIndexAny(line, "\r\n"); begin >= 0 {
		return line[begin+1:], ended
	}
	if n.lost {
		line = bytes.TrimLeft(line, "0123456789/")
	}
	return line, ended
}

// bar is a count as progress bars show it: "37%|███   | 37/100 [", "(3/20)", "12/40". A date or a path has
// more than one slash, a zero in front, or letters around it.
var bar = regexp.MustCompile(`(?:^|[\s|(\[])(0|[1-9]\d{0,8})/([1-9]\d{0,8})($|[\s)\],:])`)

// guess looks at the newest line.
func (w *Watcher) guess(now time.Time, events []Event) []Event {
	p, ok := count(w.newest.line())
	if !ok || p.Done == w.last.Done && p.Total == w.last.Total {
		return events
	}
	w.last = p
	p.At = now
	return append(events, Event{At: now, Progress: &p})
}

// count is the last one in a line of which the first number is not more than the second. A number at the end
// may not be whole while more can follow in the line.
func count(line []byte, ended bool) (p assay.Progress, ok bool) {
	if bytes.IndexByte(line, '/') < 0 {
		return p, false
	}
	line = logs.Plain(line)
	for {
		m := bar.FindSubmatchIndex(line)
		if m == nil {
			return p, ok
		}
		done, _ := strconv.ParseFloat(string(line[m[2]:m[3]]), 64)
		total, _ := strconv.ParseFloat(string(line[m[4]:m[5]]), 64)
		if done <= total && (ended || m[6] < m[7]) {
			p, ok = assay.Progress{Done: done, Total: total, Guessed: true}, true
		}
		line = line[m[5]:]
	}
}
