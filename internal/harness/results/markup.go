package results

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds of XML, in bytes: of one text between tags, of one attribute, and of one tag.
const (
	maxMarkupText = maxText + 16
	maxAttribute  = maxReason + 16
	maxTag        = 256 << 10
)

// markup makes XML that can be read in bounded memory out of what harnesses write: texts and attributes
// that are too long lose their end, comments and declarations of document types are left out (so no entity
// is ever declared), and characters that XML forbids become U+FFFD, written out or by number.
type markup struct {
	src  io.Reader
	buf  []byte
	out  []byte
	read int
	err  error

	state markupState
	quote byte   // that ends the attribute or the declaration's string
	depth int    // of brackets in a declaration
	line  int64  // so far
	lost  int64  // lines that were left out
	size  int64  // of the text, attribute or tag
	tag   int64  // of the tag, attributes too
	tail  []byte // the newest bytes where an end of several is looked for
	ref   []byte // a reference that is held, from its &
	char  []byte // a character of several bytes that is held
}

type markupState int

const (
	inText    markupState = iota
	inOpening             // < and perhaps more: which kind it is is not known yet
	inTag
	inAttribute
	inCDATA
	inComment
	inInstruction
	inDeclaration
	inDeclarationString
)

var errTag = errors.New("a tag is longer than any that a result file needs")

func newMarkup(src io.Reader) *markup {
	return &markup{src: src, buf: make([]byte, 32<<10), line: 1}
}

func (m *markup) Read(b []byte) (int, error) {
	for m.read == len(m.out) {
		if m.err != nil {
			return 0, m.err
		}
		m.out, m.read = m.out[:0], 0
		n, err := m.src.Read(m.buf)
		for _, c := range m.buf[:n] {
			if c == '\n' {
				m.line++
			}
			m.feed(c)
			if m.err != nil {
				break
			}
		}
		if err != nil && m.err == nil {
			m.endReference(false)
			m.err = err
		}
	}
	n := copy(b, m.out[m.read:])
	m.read += n
	return n, nil
}

func (m *markup) feed(c byte) {
	switch m.state {
	case inText:
		if c == '<' {
			m.endReference(false)
			m.endChar()
			m.state, m.tail = inOpening, append(m.tail[:0], c)
			return
		}
		m.text(c, true)
	case inOpening:
		m.opening(c)
	case inTag:
		m.inTag(c)
	case inAttribute:
		if c == m.quote {
			m.endReference(false)
			m.endChar()
			m.state = inTag
			m.emit(c)
			return
		}
		m.text(c, true)
	case inCDATA:
		m.cdata(c)
	case inComment:
		m.leave(c)
		if m.seen(c, "-->") {
			m.state = inText
		}
	case inInstruction:
		m.emit(c)
		if m.tag++; m.tag > maxTag {
			m.err = errTag
		}
		if m.seen(c, "?>") {
			m.state, m.size = inText, 0
		}
	default:
		m.declaration(c)
	}
}

// opening takes what follows <, until it is known what it opens.
func (m *markup) opening(c byte) {
	m.tail = append(m.tail, c)
	s := string(m.tail)
	m.tag = 0
	switch { // what is left out of a text does not end it
	case s == "<!--":
		m.state = inComment
	case s == "<![CDATA[":
		m.state, m.size = inCDATA, 0
		m.out = append(m.out, s...)
	case s == "<?":
		m.state, m.size = inInstruction, 0
		m.out = append(m.out, s...)
	case len(s) < len("<![CDATA[") && (prefixed("<!--", s) || prefixed("<![CDATA[", s)):
		return
	case s[1] == '!':
		m.state, m.depth = inDeclaration, 0
	default:
		m.state, m.size = inTag, 0
		m.emit('<')
		for _, c := range m.tail[1:] {
			m.inTag(c)
		}
	}
	m.tail = m.tail[:0]
}

func prefixed(whole, s string) bool { return len(s) <= len(whole) && whole[:len(s)] == s }

func (m *markup) inTag(c byte) {
	m.emit(c)
	if m.tag++; m.tag > maxTag {
		m.err = errTag
	}
	switch c {
	case '>':
		m.state, m.size = inText, 0
	case '"', '\'':
		m.state, m.quote, m.size = inAttribute, c, 0
	}
}

// cdata is text in which only its end means anything.
func (m *markup) cdata(c byte) {
	if m.seen(c, "]]>") {
		m.endChar()
		m.out = append(m.out, "]]>"...)
		m.state, m.size = inText, 0
		return
	}
	for len(m.tail) > 0 && !prefixed("]]>", string(m.tail)) { // what is held is no end
		held := m.tail[0]
		m.tail = append(m.tail[:0], m.tail[1:]...)
		m.text(held, false)
	}
}

// seen holds the newest bytes and says whether they are end.
func (m *markup) seen(c byte, end string) bool {
	m.tail = append(m.tail, c)
	if m.state != inCDATA && len(m.tail) > len(end) {
		m.tail = append(m.tail[:0], m.tail[1:]...)
	}
	if string(m.tail) == end {
		m.tail = m.tail[:0]
		return true
	}
	return false
}

// leave leaves a byte out.
func (m *markup) leave(c byte) {
	if c == '\n' {
		m.lost++
	}
}

// declaration passes over <!DOCTYPE and the like.
func (m *markup) declaration(c byte) {
	m.leave(c)
	switch {
	case m.state == inDeclarationString:
		if c == m.quote {
			m.state = inDeclaration
		}
	case c == '"' || c == '\'':
		m.state, m.quote = inDeclarationString, c
	case c == '[' || c == '<':
		m.depth++
	case c == ']':
		m.depth--
	case c == '>' && m.depth > 0:
		m.depth--
	case c == '>':
		m.state = inText
	}
}

// text takes a byte of a text or an attribute. References and characters are passed on whole.
func (m *markup) text(c byte, references bool) {
	switch {
	case len(m.ref) > 0:
		m.ref = append(m.ref, c)
		if c == ';' || len(m.ref) > 12 {
			m.endReference(c == ';')
		}
		return
	case c == '&' && references:
		m.endChar()
		m.ref = append(m.ref, c)
		return
	}
	if len(m.char) > 0 && c&0xC0 != 0x80 {
		m.endChar()
	}
	if c >= utf8.RuneSelf {
		if m.char = append(m.char, c); utf8.FullRune(m.char) {
			m.endChar()
		}
		return
	}
	if c < ' ' && c != '\n' && c != '\t' && c != '\r' {
		m.put("\uFFFD", 3)
		return
	}
	m.put(string(c), 1)
}

// put passes on what belongs together, if there is room for what it means: so many bytes.
func (m *markup) put(s string, bytes int64) {
	most := int64(maxMarkupText)
	if m.state == inAttribute {
		most = maxAttribute
	}
	if m.size += bytes; m.size > most {
		m.lost += int64(strings.Count(s, "\n"))
		return
	}
	m.out = append(m.out, s...)
	if m.state == inAttribute {
		if m.tag += bytes; m.tag > maxTag {
			m.err = errTag
		}
	}
}

func (m *markup) endChar() {
	if len(m.char) > 0 {
		c := strings.ToValidUTF8(string(m.char), "\uFFFD")
		if r, _ := utf8.DecodeRuneInString(c); !allowed(r) {
			c = "\uFFFD"
		}
		m.put(c, int64(len(c)))
		m.char = m.char[:0]
	}
}

// endReference passes a reference on; one to a character that XML forbids becomes U+FFFD. What has no end
// is left to the reader of XML, which refuses it.
func (m *markup) endReference(whole bool) {
	if len(m.ref) == 0 {
		return
	}
	ref, size := string(m.ref), int64(1)
	m.ref = m.ref[:0]
	if n, ok := numbered(ref); whole && ok {
		if !allowed(n) {
			ref, n = "\uFFFD", '\uFFFD'
		}
		size = int64(utf8.RuneLen(n))
	}
	m.put(ref, size)
}

// numbered reads &#27; and &#x1B;.
func numbered(ref string) (n rune, ok bool) {
	format := "&#%d;"
	if len(ref) > 2 && ref[2] == 'x' {
		format = "&#x%x;"
	}
	if k, err := fmt.Sscanf(ref, format, &n); err != nil || k != 1 {
		return 0, false
	}
	return n, true
}

// allowed says whether XML allows a character.
func allowed(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= 0x10FFFF
}

func (m *markup) emit(c byte) { m.out = append(m.out, c) }
