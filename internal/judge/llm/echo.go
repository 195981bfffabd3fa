package llm

import (
	"bytes"
	"sort"
	"strings"

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
//
// An echo is reset for each transcript and keeps its memory: judges read thousands of answers in a second.
type echo struct {
	transcript string
	letters    []byte // of the transcript; empty until they are needed
	plain      string // likewise
}

// most memory that an echo keeps from one transcript to the next.
const mostKept = 256 << 10

func (e *echo) reset(transcript string) {
	kept := e.letters[:0]
	if cap(kept) > mostKept {
		kept = nil
	}
	*e = echo{transcript: transcript, letters: kept}
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

// repeats says whether the finding, made of the object, is one that the transcript holds: its words stand
// there near its value, or it stands there as it is.
func (e *echo) repeats(f assay.Finding, object string) bool {
	if len(e.letters) == 0 {
		e.letters = transcriptLetters(e.transcript, e.letters)
	}
	reason := letters(f.Reason)
	if len(reason) > 0 && !contains(e.letters, reason) {
		return false
	}
	if e.holds(object) {
		return true
	}
	var keys []string
	value := strings.Trim(string(f.Value), `"`)
	switch {
	case f.Abstained:
		keys, value = []string{"status"}, judge.StatusCannotTell
	case !f.Applies:
		keys, value = []string{"status"}, judge.StatusNotApplicable
	default:
		keys = []string{"value", string(letters(f.Criterion))}
	}
	at := claims(e.letters, keys, letters(value))
	if len(reason) >= telling {
		for _, key := range append(keys, "reason") {
			at = append(at, occurrences(e.letters, []byte(key))...)
		}
		sort.Ints(at)
	}
	if len(reason) == 0 {
		return len(at) > 0
	}
	return nearby(at, occurrences(e.letters, reason), reach+len(reason))
}

// holds says whether an object stands in the transcript, however it is spaced or escaped there.
func (e *echo) holds(object string) bool {
	if e.plain == "" {
		e.plain = plain(e.transcript)
	}
	return strings.Contains(e.plain, plain(object))
}

// contains is bytes.Contains for letters that are hardly ever there: a stretch of them that begins with the
// rarest letter is looked for. A text that is full of that stretch is searched as a whole.
func contains(text, part []byte) bool {
	const most = 32 // bytes of the stretch, and looks
	from := rarest(part[:max(1, len(part)-most)])
	stretch := part[from:min(len(part), from+most)]
	for at, look := from, 0; look < most; look++ {
		if at >= len(text) {
			return false
		}
		i := bytes.Index(text[at:], stretch)
		if i < 0 {
			return false
		}
		at += i
		if bytes.HasPrefix(text[at-from:], part) {
			return true
		}
		at++
	}
	return bytes.Contains(text, part)
}

// rarest is where the letter stands that is rarest in English; digits and others are rarer still.
func rarest(letters []byte) (at int) {
	least := 26
	for i, l := range letters {
		if n := bytes.IndexByte(common, l); n < least {
			at, least = i, n
		}
	}
	return at
}

var common = []byte("zqxjkvbpygfwmucldrhsnioate")

// claims are the places in text where a key stands with the answer right after it.
func claims(text []byte, keys []string, answer []byte) (at []int) {
	for _, key := range keys {
		for _, i := range occurrences(text, []byte(key)) {
			after := i + len(key)
			if bytes.Contains(text[after:min(len(text), after+near+len(answer))], answer) {
				at = append(at, i)
			}
		}
	}
	sort.Ints(at)
	return at
}

func occurrences(text, part []byte) (at []int) {
	if len(part) == 0 {
		return nil
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], part)
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
