package logs

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MinSecret is the length in bytes below which a text is not masked: it would be found everywhere.
const MinSecret = 4

// minPart is the length below which a part of a secret (a line of it, the inside of its base64 in a longer
// text) is not masked by itself.
const minPart = 8

// forms are the texts by which a secret shows itself: as it is, a line of it, in base64 alone or inside a
// longer text ("user:secret" of basic auth), in hexadecimal, in a URL, in JSON and HTML, and as Python prints
// texts and bytes.
func forms(secret string) (out []string) {
	seen := map[string]bool{}
	add := func(form string, least int) {
		if len(form) >= least && !seen[form] {
			seen[form] = true
			out = append(out, form)
		}
	}
	for _, s := range []string{secret, strings.TrimSpace(secret)} { // a secret from a file ends in a newline
		if len(s) < MinSecret {
			continue
		}
		add(s, MinSecret)
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			add(e.EncodeToString([]byte(s)), MinSecret)
		}
		for before := range 3 {
			add(inside(base64.RawStdEncoding, s, before), minPart)
			add(inside(base64.RawURLEncoding, s, before), minPart)
		}
		for _, width := range []int{64, 76} { // PEM and MIME break lines so
			for rest, n := s, width/4*3; len(s) > n && rest != ""; rest = rest[min(n, len(rest)):] {
				add(inside(base64.RawStdEncoding, rest[:min(n, len(rest))], 0), minPart)
			}
		}
		add(hex.EncodeToString([]byte(s)), MinSecret)
		add(strings.ToUpper(hex.EncodeToString([]byte(s))), MinSecret)
		for _, form := range []string{url.QueryEscape(s), url.PathEscape(s),
			percent(s, ""), percent(s, "/"), percent(s, "!'()*"), percent(s, "!'()*;,/?:@&=+$#")} { // RFC 3986, Python, JavaScript's two
			add(form, MinSecret)
			add(percents.ReplaceAllStringFunc(form, strings.ToLower), MinSecret)
		}
		for _, escape := range quotings {
			add(escape.text(s), MinSecret)
			add(bareJSON.text(escape.text(s)), MinSecret) // JSON in a text of JSON
		}
		for _, e := range entities {
			add(e.Replace(s), MinSecret)
		}
	}
	if lines := strings.Split(strings.TrimSpace(secret), "\n"); len(lines) > 1 { // a key in PEM is often shown by lines
		for _, line := range lines {
			add(strings.TrimSpace(line), minPart)
		}
	}
	return out
}

// inside is what of a secret's base64 is the same whatever stands before it (so many bytes, modulo 3) and
// behind it.
func inside(e *base64.Encoding, secret string, before int) string {
	text := e.EncodeToString([]byte(strings.Repeat("x", before) + secret))
	from, to := (before*8+5)/6, (before+len(secret))*8/6
	return text[from:max(from, to)]
}

// percent encodes every byte of s that is neither unreserved nor in keep.
func percent(s, keep string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~"+keep, c) >= 0 {
			out.WriteByte(c)
		} else {
			out.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return out.String()
}

// percents are the bytes that a URL escapes.
var percents = regexp.MustCompile(`%[0-9A-F]{2}`)

// entities are how HTML and XML are written: in text, and in attributes by Go, Python and others.
var entities = []*strings.Replacer{
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;"),
}

// quotings are how a text stands between quotes: in JSON by writers that care for HTML, for ASCII or for
// closing tags, and in what Python prints.
var quotings = []escaping{
	bareJSON,
	{quotes: `"`, number: `\u%04x`, numbered: "<>&\u2028\u2029"},            // Go
	{quotes: `"/`, number: `\u%04x`},                                        // JavaScript in HTML
	{quotes: `"`, number: `\u%04x`, ascii: true},                            // Python
	{quotes: `"/`, number: `\u%04x`, ascii: true},                           // PHP
	{quotes: ``, number: `\u%04X`, ascii: true, numbered: "\"'<>&+`\u007f"}, // .NET
	{quotes: ``, number: `\x%02x`, numbered: "\u007f"},                      // Python's repr
	{quotes: `'`, number: `\x%02x`, numbered: "\u007f"},                     // of a text with both quotes
	{quotes: ``, number: `\x%02x`, ascii: true, bytes: true},                // of bytes
	{quotes: `'`, number: `\x%02x`, ascii: true, bytes: true},
}

// bareJSON is JSON that escapes only what it must.
var bareJSON = escaping{quotes: `"`, number: `\u%04x`}

// escaping is a way to write a text between quotes.
type escaping struct {
	quotes   string // get a backslash, as a backslash itself does
	number   string // of a character that is written by its number
	numbered string // these, and control characters without a letter
	ascii    bool   // and all that are not ASCII
	bytes    bool   // byte by byte, else by units of UTF-16
}

func (e escaping) text(s string) string {
	var out strings.Builder
	for rest := s; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		raw := rest[:size]
		rest = rest[size:]
		letter := strings.IndexRune("\b\f\n\r\t", r)
		switch {
		case r == '\\' || strings.ContainsRune(e.quotes, r):
			out.WriteByte('\\')
			out.WriteRune(r)
		case letter >= 0 && !(e.bytes && letter < 2):
			out.WriteByte('\\')
			out.WriteByte("bfnrt"[letter])
		case r >= ' ' && !strings.ContainsRune(e.numbered, r) && !(e.ascii && r > '~'):
			out.WriteRune(r)
		case e.bytes:
			for _, c := range []byte(raw) {
				fmt.Fprintf(&out, e.number, c)
			}
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, e.number, unit)
			}
		}
	}
	return out.String()
}
