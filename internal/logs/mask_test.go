package logs

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func masker(t testing.TB, secrets ...string) *Masker {
	t.Helper()
	m, err := NewMasker(secrets)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func masked(m *Masker, parts ...string) string {
	var out []byte
	for _, p := range parts {
		out = m.Append(out, []byte(p))
	}
	return string(m.Rest(out))
}

func TestMaskForms(t *testing.T) {
	const secret = "p@ss wörd/+\"<&>\\?"
	encoded := base64.StdEncoding.EncodeToString
	inJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{
		"itself":          secret,
		"base64":          encoded([]byte(secret)),
		"base64 raw":      base64.RawStdEncoding.EncodeToString([]byte(secret)),
		"base64 url":      base64.URLEncoding.EncodeToString([]byte(secret)),
		"base64 raw url":  base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"query":           url.QueryEscape(secret),
		"path":            url.PathEscape(secret),
		"python quote":    strings.ReplaceAll(percent(secret, ""), "%2F", "/"),
		"encodeURI":       "p@ss%20w%C3%B6rd/+%22%3C&%3E%5C?",
		"JSON":            string(inJSON[1 : len(inJSON)-1]),
		"JSON, no HTML":   `p@ss wörd/+\"<&>\\?`,
		"JSON, ASCII":     `p@ss w\u00f6rd/+\"<&>\\?`,
		"JSON, PHP":       `p@ss w\u00f6rd\/+\"<&>\\?`,
		"JSON, slashes":   `p@ss wörd\/+\"<&>\\?`,
		"JSON, .NET":      `p@ss w\u00F6rd/\u002B\u0022\u003C\u0026\u003E\\?`,
		"JSON in JSON":    `p@ss wörd/+\\\"<&>\\\\?`,
		"JSON in it too":  `p@ss w\\u00f6rd/+\\\"<&>\\\\?`,
		"HTML, Go":        `p@ss wörd/+&#34;&lt;&amp;&gt;\?`,
		"HTML, Python":    `p@ss wörd/+&quot;&lt;&amp;&gt;\?`,
		"XML text":        `p@ss wörd/+"&lt;&amp;&gt;\?`,
		"query, small":    "p%40ss+w%c3%b6rd%2f%2b%22%3c%26%3e%5c%3f",
		"percent, small":  "p%40ss%20w%c3%b6rd%2f%2b%22%3c%26%3e%5c%3f",
		"Python's text":   `p@ss wörd/+"<&>\\?`,
		"Python's bytes":  `p@ss w\xc3\xb6rd/+"<&>\\?`,
		"hex":             hex.EncodeToString([]byte(secret)),
		"hex, large":      strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"twice, touching": secret + secret,
	} {
		got := masked(masker(t, secret), "key="+shown+";")
		want := "key=" + strings.Repeat(mask, 1+strings.Count(name, "twice")) + ";"
		if got != want {
			t.Errorf("%s: %q shown as %q, want %q", name, shown, got, want)
		}
	}
}

// Basic auth holds the base64 of user:password: the secret's own base64 is not in it.
func TestMaskInsideBase64(t *testing.T) {
	const secret = "sk-live-0123456789"
	for _, before := range []string{"", "u:", "user:", "user1:", "alpha:"} {
		for _, after := range []string{"", "x", "yy", "zzz"} {
			text := base64.StdEncoding.EncodeToString([]byte(before + secret + after))
			got := masked(masker(t, secret), "Basic "+text)
			if !strings.Contains(got, mask) || strings.Contains(got, text[(len(before)+2)*4/3:(len(before)+10)*4/3]) {
				t.Errorf("%q, %q: %s of %s", before, after, got, text)
			}
		}
	}
}

// base64 and Python's encodebytes break their lines.
func TestMaskBase64InLines(t *testing.T) {
	secret := strings.Repeat("0123456789-abcdefghij.", 12)
	for _, width := range []int{64, 76} {
		text := base64.StdEncoding.EncodeToString([]byte(secret + "\n"))
		for at := width; at < len(text); at += width + 1 {
			text = text[:at] + "\n" + text[at:]
		}
		for line := range strings.SplitSeq(masked(masker(t, secret), text), "\n") {
			if rest := strings.ReplaceAll(line, mask, ""); len(rest) > 4 {
				t.Errorf("%d: %s", width, line)
			}
		}
	}
}

func TestMaskTexts(t *testing.T) {
	m := masker(t, "hunter2")
	if got := m.Text("is hunter2, is hunt"); got != "is ****, is hunt" {
		t.Error(got)
	}
	if got := m.Head("is hunter2, is hunt"); got != "is ****, is " {
		t.Error(got)
	}
	m.Append(nil, []byte("hun")) // a stream beside it
	if got := m.Text("ter2") + string(m.Append(nil, []byte("ter2"))); got != "ter2****" {
		t.Error(got)
	}
	var none *Masker
	if none.Text("hunter2") != "hunter2" || none.Head("hunter2") != "hunter2" {
		t.Error("no masker masks something")
	}
}

func TestMaskSecretsFromFiles(t *testing.T) {
	const key = "-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcN\nLYLInFEX6Ppy1tPf9Cnzj4p4WGeK\n-----END KEY-----\n"
	m := masker(t, "token-1234\n", key)
	if got := masked(m, "Bearer token-1234 ", "and LYLInFEX6Ppy1tPf9Cnzj4p4WGeK alone"); got != "Bearer **** and **** alone" {
		t.Error(got)
	}
	if got := masked(m, "<"+key+">"); got != "<****>" {
		t.Error(got)
	}
}

func TestMaskRefusesShortSecrets(t *testing.T) {
	_, err := NewMasker([]string{"long enough", "", "abc"})
	if err == nil || !strings.Contains(err.Error(), "secret 3") || strings.Contains(err.Error(), "abc") {
		t.Fatal(err)
	}
	if got := masked(masker(t, ""), "abc"); got != "abc" {
		t.Error(got)
	}
}

func TestMaskHoldsBackNoMoreThanItMust(t *testing.T) {
	m := masker(t, "hunter2")
	if got := string(m.Append(nil, []byte("a line\nhun"))); got != "a line\n" {
		t.Errorf("%q", got)
	}
	if got := string(m.Append(nil, []byte("gry\n"))); got != "hungry\n" {
		t.Errorf("%q", got)
	}
}

// replaced is what a Masker must say, from the whole and slowly: every place of every form counts.
func replaced(all []string, text string) string {
	secret := make([]bool, len(text))
	joined := make([]bool, len(text)+1) // at i: a form covers i-1 and i
	for _, form := range all {
		for i := 0; i+len(form) <= len(text); i++ {
			if text[i:i+len(form)] == form {
				for j := i; j < i+len(form); j++ {
					secret[j] = true
					joined[j] = joined[j] || j > i
				}
			}
		}
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !secret[i]:
			out.WriteByte(text[i])
		case !joined[i]:
			out.WriteString(mask)
		}
	}
	return out.String()
}

func TestMaskIsReplaceOnTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("ab/ \n")), 4, 12, -1)
		secrets := rapid.SliceOfN(letters, 1, 4).Draw(t, "secrets")
		var all, pieces []string
		for _, s := range secrets {
			all = append(all, forms(s)...)
		}
		pieces = append(append(pieces, all...), "a", "b", "ab", "/", "YWFh", "%2")
		var text string
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces") {
			text += p[:rapid.IntRange(1, len(p)).Draw(t, "cut")]
		}
		m, err := NewMasker(secrets)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for rest := text; rest != ""; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "write")
			got = m.Append(got, []byte(rest[:n]))
			if rest = rest[n:]; len(m.held) >= m.known.longest {
				t.Fatalf("holds back %d bytes", len(m.held))
			}
		}
		if got := string(m.Rest(got)); got != replaced(all, text) {
			t.Fatalf("%q masked as\n%q, want\n%q", text, got, replaced(all, text))
		}
	})
}

func FuzzMasker(f *testing.F) {
	f.Add("hunter2", "secretsecret", "my hunter2 is aHVudGVyMg== or secretsecretsecret", 5)
	f.Add("aaaa", "aaaaaa", "aaaaaaaaaaaaabaaa", 3)
	f.Add("abab", "baba", "abababab", 1)
	f.Fuzz(func(t *testing.T, one, two, text string, step int) {
		m, err := NewMasker([]string{one, two})
		if err != nil {
			return
		}
		var got []byte
		for part := []byte(text); len(part) > 0; {
			n := min(len(part), 1+max(0, step)%64)
			got = m.Append(got, part[:n])
			part = part[n:]
		}
		got = m.Rest(got)
		if want := replaced(m.known.all, text); string(got) != want {
			t.Fatalf("%q by %d: %q, want %q", text, step, got, want)
		}
		for _, s := range []string{one, two} {
			if s != "" && !strings.Contains(s, "*") && bytes.Contains(got, []byte(s)) {
				t.Fatalf("%q stands in %q", s, got)
			}
		}
	})
}
