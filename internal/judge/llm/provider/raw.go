package provider

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Content is the model's text inside a response that was kept as judge.Reply.Raw, also when it was cut
// at its bound. It is "" where the response holds none.
func (c *Client) Content(raw string) string { return content(c.settings.API, c.format, raw) }

func content(api API, format, raw string) string {
	whole := completed(raw)
	if !gjson.Valid(whole) {
		return ""
	}
	a := readers[api](gjson.Parse(whole))
	if a.refused && a.refusal != "" && a.text == "" {
		return a.refusal
	}
	return a.content(format)
}

// completed closes what a cut JSON text left open. A text that is whole comes back as it is.
func completed(raw string) string {
	var open []byte
	quoted, escaped := false, 0 // escaped counts the bytes of an escape that are still to come
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case escaped > 0:
			if escaped--; escaped == 0 && c == 'u' && raw[i-1] == '\\' {
				escaped = 4
			}
		case quoted && c == '\\':
			escaped = 1
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 && !quoted {
		return raw
	}
	return closed(raw, open, quoted)
}

// closed cuts a text back to where a value may end, and closes what is open.
func closed(raw string, open []byte, quoted bool) string {
	var b strings.Builder
	tail := raw
	if quoted {
		// An escape that was cut has at most five bytes: \u12.
		if i := strings.LastIndexByte(tail[max(0, len(tail)-5):], '\\'); i >= 0 {
			at := max(0, len(tail)-5) + i
			slashes := 0
			for at-slashes >= 0 && tail[at-slashes] == '\\' {
				slashes++
			}
			if rest := tail[at:]; slashes%2 == 1 && (len(rest) == 1 || rest[1] == 'u' && len(rest) < 6) {
				tail = tail[:at]
			}
		}
		tail = strings.ToValidUTF8(tail, "") + `"`
	}
	ends := func() string {
		b.Reset()
		for i := len(open) - 1; i >= 0; i-- {
			b.WriteByte(open[i])
		}
		return b.String()
	}()
	// What stands last may be a name without its value, half a word or a comma.
	trimmed := strings.TrimRight(tail, " \t\r\n")
	for _, try := range []string{trimmed + ends, trimmed + ":null" + ends, trimmed + "null" + ends, strings.TrimRight(trimmed, ",") + ends, strings.TrimRight(trimmed, "truefalsn-+.eE0123456789") + "null" + ends} {
		if gjson.Valid(try) {
			return try
		}
	}
	return tail + ends
}
