package logs

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// MinSecret is the length in bytes below which a text is not masked: it would be found everywhere.
const MinSecret = 4

// minPart is the length below which a part of a secret (a line of it, the inside of its base64 in a longer
// text) is not masked by itself.
const minPart = 8

// forms are the texts by which a secret shows itself: as it is, a line of it, in base64 alone or inside a
// longer text ("user:secret" of basic auth), in a URL, in JSON.
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
		add(url.QueryEscape(s), MinSecret)
		add(url.PathEscape(s), MinSecret)
		for _, keep := range []string{"", "/", "!'()*", "!'()*;,/?:@&=+$#"} { // RFC 3986, Python, JavaScript's two
			add(percent(s, keep), MinSecret)
		}
		inJSON(s, func(form string) { add(form, MinSecret) })
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

// inJSON gives a secret as it stands between the quotes of a JSON string, by writers that care for HTML and
// by those that do not.
func inJSON(s string, add func(string)) {
	for _, html := range []bool{true, false} {
		var out strings.Builder
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(html)
		if enc.Encode(s) == nil { // a string always encodes
			add(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(out.String()), `"`), `"`))
		}
	}
}
