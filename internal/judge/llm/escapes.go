package llm

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// unescape reads the backslash at i and what follows it: the escapes of JSON and of programs, also
// within each other. r is the character that it stands for, 0 where that is none of interest.
func unescape(s string, i int) (end int, r rune) {
	i = afterSlashes(s, i)
	if i < len(s) && strings.IndexByte("nrtbf", s[i]) >= 0 {
		return i + 1, 0
	}
	if r, ok := digits(s, i, 'x', 2); ok {
		return i + 3, r
	}
	if r, ok := digits(s, i, 'U', 8); ok {
		return i + 9, r
	}
	r, ok := digits(s, i, 'u', 4)
	if !ok {
		return i, 0
	}
	end = i + 5
	if !utf16.IsSurrogate(r) {
		return end, r
	}
	next := afterSlashes(s, end)
	if low, ok := digits(s, next, 'u', 4); ok && next > end {
		if pair := utf16.DecodeRune(r, low); pair != unicode.ReplacementChar {
			return next + 5, pair
		}
	}
	return end, 0
}

func afterSlashes(s string, i int) int {
	for i < len(s) && s[i] == '\\' {
		i++
	}
	return i
}

// digits reads the mark at i and the n hexadecimal digits of a character after it.
func digits(s string, i int, mark byte, n int) (rune, bool) {
	if i+1+n > len(s) || s[i] != mark {
		return 0, false
	}
	r, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
	return rune(r), err == nil
}

// percent reads the bytes that URLs write as %7B, as many as follow each other from i.
func percent(s string, i int) (end int, stands string) {
	var b []byte
	for {
		c, ok := digits(s, i, '%', 2)
		if !ok {
			return i, string(b)
		}
		b = append(b, byte(c))
		i += 3
	}
}

// entity reads the character that HTML writes as &quot; or &#123; at i.
func entity(s string, i int) (end int, stands string) {
	const longest = 32
	n := strings.IndexByte(s[i:min(len(s), i+longest)], ';')
	if n < 0 {
		return i + 1, ""
	}
	if stands = html.UnescapeString(s[i : i+n+1]); strings.HasSuffix(stands, ";") { // none, or &not in &nothing;
		return i + 1, ""
	}
	return i + n + 1, stands
}
