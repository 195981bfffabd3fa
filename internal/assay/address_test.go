package assay_test

import (
	"strings"
	"testing"

	"assay/internal/assay"
)

func TestWebAddress(t *testing.T) {
	for _, good := range []string{"http://a", "https://a.example:8443/p?q=1|2#f", "HTTPS://A", "https://bücher.example/ä",
		"https://a/" + strings.Repeat("x", 1500)} {
		if !assay.WebAddress(good) {
			t.Errorf("%.60q is an address", good)
		}
	}
	for _, bad := range []string{"", "a", "//a", "/a", "http:", "http://", "http:///a", "http://:80", "ftp://a", "file:///etc/passwd",
		"javascript:alert(1)", "JavaScript://a/%0aalert(1)", "data:text/html,<script>", "vbscript:x", "blob:https://a", "mailto:a@b.example",
		" https://a", "https://a b", "https://a/\"onclick=x", "https://a/<script>", "https://a/`", "https://good.example\\@evil.example",
		"https://user:secret@a", "https://good.example@evil.example", "https://a/\u202e", "https://a/\x00", "https://a\n", "java\tscript:alert(1)",
		"https://a/" + strings.Repeat("x", 2000)} {
		if assay.WebAddress(bad) {
			t.Errorf("%.60q is no address", bad)
		}
	}
}
