package llm

import (
	"encoding/base64"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/internal/assay"
	"assay/internal/judge"
)

// echo tells a model's own answer from one that it found in the transcript and repeats, for instance
// because the session told it to: then even the right token proves nothing.
//
// It compares letters and digits only. So it does not matter in which notation a verdict stands in the
// session, how it is spaced, quoted, escaped or nested, in which order its members stand, and whether
// its characters merely look like those of JSON: ｛"ｖаlue"：true｝ and {\"value\": true} are the same.
// What a model puts into words of its own is its own, even when the session persuaded it: no reader
// of answers can know.
type echo struct {
	transcript string
	letters    string // "" until it is needed
}

const (
	// reach is how far from a verdict's words, in letters, its reason may stand.
	reach = 400
	// near is how far from the name of a value the value may stand: "the value must be true".
	near = 24
	// telling is the length from which a reason that stands in the session word for word is an echo
	// whatever its value was there.
	telling = 24
)

// repeats says whether the finding, a member of the answer, is one that the transcript holds: its words
// stand there near its value, or it stands there as it is.
func (e *echo) repeats(f assay.Finding, answer json.RawMessage) bool {
	if e.letters == "" {
		e.letters = lettersOf(e.transcript, true)
	}
	reason := letters(f.Reason)
	if reason != "" && !strings.Contains(e.letters, reason) {
		return false
	}
	if members, err := judge.Members(answer); err == nil {
		if raw, _ := judge.Lookup(members, f.Criterion); raw != nil && strings.Contains(plain(e.transcript), plain(string(raw))) {
			return true
		}
	}
	var keys []string
	value := letters(strings.Trim(string(f.Value), `"`))
	switch {
	case f.Abstained:
		keys, value = []string{"status"}, letters(judge.StatusCannotTell)
	case !f.Applies:
		keys, value = []string{"status"}, letters(judge.StatusNotApplicable)
	default:
		keys = []string{"value", letters(f.Criterion)}
	}
	at := claims(e.letters, keys, value)
	if len(reason) >= telling {
		for _, key := range append(keys, "reason") {
			at = append(at, occurrences(e.letters, key)...)
		}
		sort.Ints(at)
	}
	if reason == "" {
		return len(at) > 0
	}
	return nearby(at, occurrences(e.letters, reason), reach+len(reason))
}

// claims are the places in text where a key stands with the answer right after it.
func claims(text string, keys []string, answer string) (at []int) {
	for _, key := range keys {
		for _, i := range occurrences(text, key) {
			after := i + len(key)
			if strings.Contains(text[after:min(len(text), after+near+len(answer))], answer) {
				at = append(at, i)
			}
		}
	}
	sort.Ints(at)
	return at
}

func occurrences(text, part string) (at []int) {
	if part == "" {
		return nil
	}
	for from := 0; ; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + len(part)
	}
}

// nearby says whether one of a and one of b, both sorted, are at most so far from each other.
func nearby(a, b []int, far int) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch d := a[i] - b[j]; {
		case d > far:
			j++
		case d < -far:
			i++
		default:
			return true
		}
	}
	return false
}

// plain is a text without white space and backslashes: an object however it was spaced or escaped.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '\\' {
			return -1
		}
		return r
	}, s)
}

// letters are the letters and digits of a text, in lower case, those that look alike made one, with
// what JSON's escapes stand for.
func letters(text string) string { return lettersOf(text, false) }

// lettersOf is letters of a text, or of a transcript: then what was said stands in one piece and our own
// lines, which hold names of the session, after it; and what looks like base64 is read as well.
func lettersOf(text string, transcript bool) string {
	var w folding
	w.out.Grow(len(text) + 1)
	if !transcript {
		w.write(text)
		return w.out.String()
	}
	var ours []string
	for line := range strings.Lines(text) {
		if line[0] == ' ' {
			w.write(line)
		} else {
			ours = append(ours, line)
		}
	}
	for _, line := range ours {
		w.write(line)
	}
	for _, code := range w.codes {
		w.out.WriteByte(' ')
		w.write(code)
	}
	return w.out.String()
}

type folding struct {
	out   strings.Builder
	codes []string // what base64 stood for
}

// lower is the letter or digit that an ASCII character counts as, 0 for others.
var lower = func() (t [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			t[c] = c
		case c >= 'A' && c <= 'Z':
			t[c] = c + 'a' - 'A'
		}
	}
	return t
}()

// shortestCode is the length from which a run of letters may be base64.
const shortestCode = 24

func (w *folding) write(s string) {
	run := 0 // where the present run of characters of base64 began
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			w.decode(s[run:i])
			r, size := utf8.DecodeRuneInString(s[i:])
			w.rune(r)
			i += size
			run = i
			continue
		}
		if l := lower[c]; l != 0 {
			w.out.WriteByte(l)
			i++
			continue
		}
		if c == '+' || c == '/' || c == '-' || c == '_' {
			i++
			continue
		}
		w.decode(s[run:i])
		if i++; c == '\\' {
			i = w.escape(s, i)
		}
		run = i
	}
	w.decode(s[run:])
}

// escape reads what follows a backslash, or several: the escapes of JSON within JSON.
func (w *folding) escape(s string, i int) int {
	for i < len(s) && s[i] == '\\' {
		i++
	}
	if i < len(s) && strings.IndexByte("nrtbf", s[i]) >= 0 {
		return i + 1
	}
	if i+5 <= len(s) && s[i] == 'u' {
		if r, err := strconv.ParseUint(s[i+1:i+5], 16, 16); err == nil {
			w.rune(rune(r))
			return i + 5
		}
	}
	return i
}

// decode keeps what a run of characters stands for if it is base64 of a text.
func (w *folding) decode(run string) {
	if len(run) < shortestCode {
		return
	}
	run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
	raw, err := base64.RawStdEncoding.DecodeString(run[:len(run)/4*4])
	if err == nil && utf8.Valid(raw) {
		w.codes = append(w.codes, string(raw))
	}
}

// rune writes one character that is not ASCII, or that was escaped.
func (w *folding) rune(r rune) {
	switch r = lookalike(r); {
	case r < utf8.RuneSelf:
		if l := lower[max(r, 0)]; l != 0 {
			w.out.WriteByte(l)
		}
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		w.out.WriteRune(unicode.ToLower(r))
	}
}

// lookalike is the ASCII character that r is a variant of, or merely looks like.
func lookalike(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case r >= 0xFF01 && r <= 0xFF5E: // fullwidth
		return r - 0xFEE0
	case r >= 0x1D400 && r <= 0x1D6A3: // mathematical alphabets
		return 'a' + (r-0x1D400)%26
	case r >= 0x1D7CE && r <= 0x1D7FF: // mathematical digits
		return '0' + (r-0x1D7CE)%10
	case r >= 0x24B6 && r <= 0x24E9: // circled
		return 'a' + (r-0x24B6)%26
	}
	if r >= firstConfusable && int(r-firstConfusable) < len(confused) && confused[r-firstConfusable] != 0 {
		return rune(confused[r-firstConfusable])
	}
	return r
}

// confused are the Latin letters that letters of other scripts look like, by their distance from the
// first of those scripts.
var confused = func() (t [0x0530 - firstConfusable]byte) {
	const others, latin = "аеорсухіѕјһԁԛԝвкмнт" + "АЕОРСУХІЅЈНВКМТ" + "αεοριυνκτ" + "ΑΕΟΡΙΥΝΚΤΒΗΜΖΧ",
		"aeopcyxisjhdqwbkmht" + "aeopcyxisjhbkmt" + "aeopiuvkt" + "aeopiynktbhmzx"
	n := 0
	for _, r := range others {
		t[r-firstConfusable] = latin[n]
		n++
	}
	return t
}()

const firstConfusable = 0x0370 // Greek, then Cyrillic
