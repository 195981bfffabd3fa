package assay

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxAddress = 2000 // bytes

// WebAddress says whether s is an address that may become a link: http or https, with a host, without a
// name or password before it, and without a character that an address has only in disguise.
func WebAddress(s string) bool {
	if len(s) > maxAddress || !utf8.ValidString(s) || strings.ContainsFunc(s, unprinted) || strings.ContainsAny(s, " \"<>\\`") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// unprinted is what does not print, among it what turns the direction of writing.
func unprinted(r rune) bool { return !unicode.IsPrint(r) }
