package page

import (
	"strings"
	"unicode"
)

// Clean makes text of others safe for a line: control characters, which could move a cursor or fake a line, marks
// that turn the direction of text, and what nobody sees but changes a name are shown as a replacement character.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point), filler(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// filler is a letter that is drawn as nothing.
func filler(r rune) bool { return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' }
