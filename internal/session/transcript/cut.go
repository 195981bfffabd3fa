package transcript

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"assay/internal/assay"
)

// Bound is how long a transcript may be. Count must be a function of the text alone and never more than
// the text's bytes; the same Count cuts the same session in the same way.
type Bound struct {
	Most  int64
	Count func(text string) int64
}

// MinBound is the least Most with which every session can be cut.
const MinBound = 1000

// Within writes s with at most b.Most tokens. Where that is too few it keeps whole messages from the
// beginning and from the end, always the user's first request and the last message, and says in a line
// of its own what it left out:
//
//	[41 messages of turns 3 to 17 are left out here, 20,311 bytes]
//	[18,200 bytes of this message are left out here]
//
// The second stands inside a message that is too long itself. ok is false where even that does not fit.
func Within(s *assay.Session, o Options, b Bound) (t Transcript, ok bool) {
	w := write(s, o)
	text := w.b.String()
	if t = framed(text, false); int64(len(t.Text)) <= b.Most || b.Count(t.Text) <= b.Most {
		return t, true
	}
	// Counts of parts need not sum up to that of the whole, so the whole is counted, and cut shorter
	// where it is over.
	room := b.Most
	for range maxRounds {
		c := newCut(w, text, b.Count, room)
		if c == nil {
			break
		}
		t = framed(c.write(), true)
		over := b.Count(t.Text) - b.Most
		if over <= 0 {
			return t, true
		}
		room -= over
	}
	return Transcript{}, false
}

const (
	maxRounds = 8
	forMarks  = 200 // tokens that are kept for our own lines about what is left out
)

// cut decides what stays of each block.
type cut struct {
	text     string
	blocks   []block
	preamble string
	count    func(string) int64
	costs    []int64 // -1: not counted yet
	kept     []string
}

// newCut chooses; nil where not even the least fits into room.
func newCut(w *writer, text string, count func(string) int64, room int64) *cut {
	c := &cut{text: text, blocks: w.blocks, preamble: text[:w.preamble], count: count, costs: make([]int64, len(w.blocks)), kept: make([]string, len(w.blocks))}
	for i := range c.costs {
		c.costs[i] = -1
	}
	room -= count(framed(c.preamble, false).Text) + forMarks
	if room <= 0 || len(c.blocks) == 0 {
		return nil
	}
	rest, ok := c.keepEnds(room)
	if !ok {
		return nil
	}
	c.keepMore(room, rest)
	return c
}

// keepEnds keeps the user's first request and the last message, each cut inside where both do not fit.
func (c *cut) keepEnds(room int64) (rest int64, ok bool) {
	first, last := 0, len(c.blocks)-1
	for i, b := range c.blocks {
		if b.user {
			first = i
			break
		}
	}
	if first == last {
		return c.keep(last, room)
	}
	forFirst := min(c.cost(first), max(room/2, room-c.cost(last)))
	left, ok := c.keep(first, forFirst)
	if !ok {
		return 0, false
	}
	left, ok = c.keep(last, room-forFirst+left)
	return left, ok
}

// keepMore fills the rest: half of it from the beginning, then from the end. The message at which the end
// stops is cut inside where much room is left for it, else the beginning goes on.
func (c *cut) keepMore(room, rest int64) {
	head, half := 0, rest/2
	fill := func(budget int64) (unused int64) {
		for ; head < len(c.blocks); head++ {
			if c.kept[head] != "" {
				continue
			}
			if c.cost(head) > budget {
				break
			}
			budget, _ = c.keep(head, budget)
		}
		return budget
	}
	rest = fill(half) + rest - half
	for tail := len(c.blocks) - 1; tail >= 0; tail-- {
		switch {
		case c.kept[tail] != "":
		case c.cost(tail) <= rest:
			rest, _ = c.keep(tail, rest)
		case rest >= room/4:
			c.keep(tail, rest)
			return
		default:
			fill(rest)
			return
		}
	}
}

func (c *cut) block(i int) string {
	if i+1 < len(c.blocks) {
		return c.text[c.blocks[i].at:c.blocks[i+1].at]
	}
	return c.text[c.blocks[i].at:]
}

func (c *cut) cost(i int) int64 {
	if c.costs[i] < 0 {
		c.costs[i] = c.count(c.block(i))
	}
	return c.costs[i]
}

// keep keeps a block with at most budget tokens, cut inside where it has more, and returns what it did
// not use.
func (c *cut) keep(i int, budget int64) (unused int64, ok bool) {
	text := c.block(i)
	if c.cost(i) <= budget {
		c.kept[i] = text
		return budget - c.cost(i), true
	}
	// A token is a byte or more, so as many bytes as there are tokens fit; from there a few steps come
	// near to the most.
	for bytes, step := budget, 0; step < 4; step++ {
		shorter := inside(text, int(min(bytes, int64(len(text)))))
		used := c.count(shorter)
		if used <= budget {
			c.kept[i], unused, ok = shorter, budget-used, true
		}
		next := bytes * budget / max(1, used)
		if used > budget {
			next -= next / 32
		}
		if next == bytes {
			break
		}
		bytes = next
	}
	return unused, ok
}

// inside keeps about as many bytes of a block, half from its beginning and half from its end. Lines of
// ours stay whole or go; what begins in the middle of a line that was said is indented like one.
func inside(text string, bytes int) string {
	from, to := bytes/2, len(text)-bytes/2
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	switch begin := lineStart(text, from); {
	case begin == 0:
		from = lineEnd(text, 0) // the line that says whose message it is
	case text[begin] == '[' || from-begin <= len(indent):
		from = begin
	}
	resume := ""
	switch begin := lineStart(text, to); {
	case to <= from:
		to = from
	case to == len(text) || begin == to:
	case text[begin] == '[':
		to = lineEnd(text, to)
	case to-begin <= len(indent):
		to = begin
	default:
		resume = indent
	}
	if to <= from {
		return text
	}
	end := "\n"
	if from == 0 || text[from-1] == '\n' {
		end = ""
	}
	return text[:from] + end + fmt.Sprintf("[%s bytes of this message are left out here]\n", humanize.Comma(int64(to-from))) + resume + text[to:]
}

// lineStart is where the line begins in which a place stands, lineEnd where the next one does.
func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// write puts together what was kept, with a line for each stretch that was not.
func (c *cut) write() string {
	var b strings.Builder
	b.WriteString(c.preamble)
	for i := 0; i < len(c.blocks); {
		if c.kept[i] != "" {
			b.WriteString(c.kept[i])
			i++
			continue
		}
		from, bytes := i, 0
		for ; i < len(c.blocks) && c.kept[i] == ""; i++ {
			bytes += len(c.block(i))
		}
		b.WriteString(leftOut(c.blocks[from:i], bytes))
	}
	return b.String()
}

func leftOut(blocks []block, bytes int) string {
	n := 0
	for _, b := range blocks {
		if b.message >= 0 {
			n++
		}
	}
	turns := fmt.Sprintf("turn %d", blocks[0].turn)
	if last := blocks[len(blocks)-1].turn; last > blocks[0].turn {
		turns = fmt.Sprintf("turns %d to %d", blocks[0].turn, last)
	}
	what := fmt.Sprintf("%s messages of %s are", humanize.Comma(int64(n)), turns)
	switch n {
	case 0:
		what = "lines about " + turns + " are"
	case 1:
		what = "1 message of " + turns + " is"
	}
	return fmt.Sprintf("[%s left out here, %s bytes]\n", what, humanize.Comma(int64(bytes)))
}
