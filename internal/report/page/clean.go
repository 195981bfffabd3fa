package page

import (
	"strings"
	"unicode"
)

// Clean makes text of others safe for a line: control characters, which could move a cursor or fake a line, marks
// that turn the direction of text, and what has no width but changes a name are shown as a replacement character.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029',
			r >= '\u200b' && r <= '\u200f', r == '\u2060', r == '\ufeff', r >= '\U000e0000' && r <= '\U000e007f':
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
