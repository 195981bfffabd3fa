package logs

import (
	"bytes"
	"context"
	"slices"
	"unicode/utf8"
)

// Hit is a line that holds what was looked for.
type Hit struct {
	Line   int64  `json:"line"`   // from 1
	Offset int64  `json:"offset"` // of the line's first byte
	Text   string `json:"text"`   // plain; of a long line the part around what was found
}

const (
	maxHit      = 400      // bytes of Text
	maxLine     = 64 << 10 // characters: a line that shows more is looked at in parts
	searchBytes = 1 << 20
	blockBytes  = 32 << 10
)

// Search finds lines from an offset on, at most so many, in which text stands as a person sees them: plain,
// with what \r overwrote gone. Case does not matter. next is where to go on, 0 at the end.
func Search(ctx context.Context, dir, text string, from int64, most int) (hits []Hit, next int64, err error) {
	r := reader{dir: dir, at: max(0, from), line: -1, reuse: true}
	s := search{want: bytes.ToLower([]byte(text)), most: max(1, most), begin: r.at}
	s.wide = slices.ContainsFunc(s.want, func(c byte) bool { return c >= utf8.RuneSelf })
	for first := true; ctx.Err() == nil; first = false {
		c, err := r.next(searchBytes, true)
		if err != nil {
			return s.hits, s.begin, err
		}
		if c.Gap > 0 || len(c.Data) == 0 { // what stands before a gap is no beginning of what comes behind it
			s.end()
		}
		if len(c.Data) == 0 {
			return s.hits, 0, nil
		}
		if c.Gap > 0 || first {
			s.begin, s.no = c.From, c.Line
		}
		if s.chunk(c) {
			return s.hits, s.begin, nil
		}
	}
	return s.hits, s.begin, ctx.Err()
}

// search looks at line after line.
type search struct {
	want  []byte // in small letters
	wide  bool   // not all of want is ASCII
	most  int
	hits  []Hit
	begin int64 // offset of the line
	no    int64 // lines before it
	open  bool  // part saw some of it
	told  bool  // it is a hit already
	shown shown
	text  []byte
	low   []byte
}

// chunk looks at the lines of c, and says whether there are hits enough and more lines.
func (s *search) chunk(c Chunk) bool {
	passed := 0 // no line up to there is a hit, or there is one and they are looked at
	for at := 0; at < len(c.Data); {
		if len(s.hits) == s.most && !s.open {
			return true
		}
		if !s.open && at >= passed {
			block := c.Data[at:min(len(c.Data), at+blockBytes)]
			block = block[:bytes.LastIndexByte(block, '\n')+1]
			passed = at + len(block)
			if len(block) > 0 && s.none(block) {
				at, s.begin, s.no = passed, c.From+int64(passed), s.no+int64(bytes.Count(block, newline))
				continue
			}
		}
		n := bytes.IndexByte(c.Data[at:], '\n')
		if n < 0 {
			s.part(c.Data[at:])
			return false
		}
		s.line(c.Data[at : at+n])
		at += n + 1
		s.begin, s.no = c.From+int64(at), s.no+1
	}
	return false
}

// none says that no line of a block can be a hit, and costs little: almost every block has none.
func (s *search) none(block []byte) bool {
	low := slices.Grow(s.low[:0], len(block))[:len(block)]
	n, seen := 0, byte(0)
	for i := 0; i < len(block); i++ {
		c := block[i]
		switch fold := folded[c]; {
		case c1(block[i:]):
			return false
		case fold != 0:
			low[n] = fold
			n++
			seen |= c
		case c == escape:
			length := sequence(block[i:])
			if length == 0 || block[i+length-1] == 'K' { // perhaps it erases
				return false
			}
			i += length - 1
		case c == '\b', c == '\r' && block[i+1] != '\n': // a block ends with a newline
			return false
		}
	}
	low = low[:n]
	s.low = low
	if s.wide {
		if seen < utf8.RuneSelf {
			return true
		}
		low = bytes.ToLower(low)
	}
	return !bytes.Contains(low, s.want)
}

// folded is a byte with letters of ASCII made small; 0 for control characters that a person does not see.
var folded = func() (table [256]byte) {
	for i := range table {
		if c := byte(i); c >= 0x20 && c != 0x7f || c == '\t' || c == '\n' {
			table[i] = c
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		table[c] = byte(c - 'A' + 'a')
	}
	return table
}()

// line looks at a line, or at the rest of one.
func (s *search) line(rest []byte) {
	if text := bytes.TrimSuffix(rest, []byte{'\r'}); !s.open && !controls(text) {
		s.look(text)
		return
	}
	s.part(rest)
	s.end()
}

// part takes a part of a line that goes on.
func (s *search) part(p []byte) {
	s.open = true
	for len(p) > 0 && !s.told {
		n := min(len(p), maxLine)
		if e := edge(p[:n]); n < len(p) && e > 0 {
			n = e
		}
		s.shown.write(p[:n])
		p = p[n:]
		if cells := s.shown.cells; len(cells) > maxLine {
			s.lookShown()
			keep := min(len(cells), max(0, utf8.RuneCount(s.want)-1)) // it may stand across the parts
			s.shown.cells = append(cells[:0], cells[len(cells)-keep:]...)
			s.shown.at = keep
		}
	}
}

// end looks at a line of which there were parts.
func (s *search) end() {
	if s.open {
		s.lookShown()
	}
	s.shown.cells, s.shown.at, s.open, s.told = s.shown.cells[:0], 0, false, false
}

func (s *search) lookShown() {
	s.text = s.shown.bytes(s.text[:0])
	s.look(s.text)
}

func (s *search) look(text []byte) {
	if s.told || len(s.hits) == s.most {
		return
	}
	if s.wide {
		s.low = append(s.low[:0], bytes.ToLower(text)...)
	} else {
		s.low = lower(s.low[:0], text)
	}
	at := bytes.Index(s.low, s.want)
	if at < 0 {
		return
	}
	s.told = s.open
	s.hits = append(s.hits, Hit{Line: s.no + 1, Offset: s.begin, Text: excerpt(text, min(at, len(text)), len(s.want))})
}

// excerpt is the begin of a text, or what stands around a place that is not in it.
func excerpt(text []byte, at, length int) string {
	if at+length <= maxHit {
		return string(bytes.ToValidUTF8(text[:min(len(text), maxHit)], nil))
	}
	at = max(0, at-maxHit/4)
	return "…" + string(bytes.ToValidUTF8(text[at:min(len(text), at+maxHit)], nil))
}

// controls says that there are control characters other than \t in a text.
func controls(text []byte) bool {
	for i, c := range text {
		if c < 0x20 && c != '\t' || c == 0x7f || c == 0xC2 && c1(text[i:]) {
			return true
		}
	}
	return false
}

// lower appends text with the letters of ASCII made small.
func lower(dst, text []byte) []byte {
	dst = append(dst, text...)
	for i, c := range dst {
		if 'A' <= c && c <= 'Z' {
			dst[i] = c + 'a' - 'A'
		}
	}
	return dst
}
