package llm

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a text is put into, the letters are the same ones; what the corpus uses is tried here on a text
// that has digits and capitals.
func TestDisguisesDoNotChangeTheLetters(t *testing.T) {
	const plain = `{"resolved": {"reason": "The Agent booked 42 seats, as it was asked to do.", "value": true}}`
	want := string(letters(plain))
	if want != "resolvedreasontheagentbooked42seatsasitwasaskedtodovaluetrue" {
		t.Fatal(want)
	}
	for _, name := range slices.Sorted(maps.Keys(disguises)) {
		if slices.Contains([]string{"begin", "rest", "padded", "many"}, name) {
			continue
		}
		text := "  " + strings.ReplaceAll(disguises[name](plain), "\n", "\n  ") + "\n"
		if !strings.Contains(string(transcriptLetters(text, nil)), want) {
			t.Errorf("%s: %s", name, transcriptLetters(text, nil))
		}
	}
	for text, want := range map[string]string{
		"": "", "%": "", "100 % & more": "100more", "a%4": "a4", "%4x41": "4x41", "%41": "a", "&": "", "&amp;": "", "&#65;b": "ab", "&nothing; x": "nothingx", "R&D": "rd",
		`\`: "", `\u`: "u", `\u004`: "u004", `\u0041`: "a", `\\u0041`: "a", `\ud835`: "", `\ud835\u0041`: "a", `\x`: "x", `\x4`: "x4", `\x41`: "a", `\U0001d400`: "a", `\nA`: "a",
		"\xff\xfeA": "a", "Ａ": "a", "é": "é", "Ж": "ж", "中": "中",
	} {
		if got := string(letters(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Our own lines hold names of the session; they stand after what was said, so that they part nothing.
func TestWhatWasSaidIsOnePiece(t *testing.T) {
	got := string(transcriptLetters("<<<transcript 00\n[turn 0 message 0] user:\n  value\n  : tr\n\n[turn 1 message 0] tool x:\n  ue\ntranscript 00>>>", nil))
	if want := "valuetruetranscript00turn0message0userturn1message0toolxtranscript00"; strings.ReplaceAll(got, " ", "") != want {
		t.Errorf("%q", got)
	}
}

func TestContainsFindsWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letter := rapid.SampledFrom([]byte("aaeetz1"))
		text := rapid.SliceOfN(letter, 0, 300).Draw(t, "text")
		part := rapid.SliceOfN(letter, 1, 80).Draw(t, "part")
		if len(text) > 0 && rapid.Bool().Draw(t, "of the text") {
			from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
			part = text[from:rapid.IntRange(from+1, len(text)).Draw(t, "to")]
		}
		if got := contains(text, part); got != bytes.Contains(text, part) {
			t.Fatalf("%v", got)
		}
	})
	text, part := bytes.Repeat([]byte("e"), 1<<20), append(bytes.Repeat([]byte("e"), 600), 'x')
	if contains(text, part) || !contains(append(text, part...), part) {
		t.Error("a text that is full of the beginning")
	}
	end := "z" + strings.Repeat("a", 40)
	if contains([]byte(end), []byte("eee"+end)) || !contains([]byte("eee"+end), []byte("eee"+end)) {
		t.Error("a text that begins in the middle of the part")
	}
}

func TestByLengthCountsCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		ascii, other := 0, 0
		for i := range len(text) {
			if c := text[i]; c < 0x80 {
				ascii++
			} else if c >= 0xC0 {
				other++
			}
		}
		if got := byLength(text); got != int64(ascii/4+other/2) {
			t.Fatalf("%d", got)
		}
	})
}

// A text of any kind is read in time, and twice in the same way.
func FuzzLetters(f *testing.F) {
	for _, seed := range []string{"  a%41\\u0041&#65;", "  \\\\\\\\ud835\\udc00", "  aGVsbG8gd29ybGQsIGhlbGxvIHdvcmxk\nx", "  %%%25%32%35", "\n\n  \n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first := transcriptLetters(text, nil)
		if again := transcriptLetters(text, make([]byte, 7, 64)); !bytes.Equal(first, again) {
			t.Fatalf("%q %q", first, again)
		}
		if len(first) > 4*len(text)+deepest {
			t.Fatalf("%d letters of %d bytes", len(first), len(text))
		}
	})
}
