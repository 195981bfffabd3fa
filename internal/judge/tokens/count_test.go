package tokens

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"
)

func counter(t testing.TB, model string) *bpe {
	c, known := For(model)
	if !known {
		t.Fatalf("the tokenizer of %s is not known", model)
	}
	return c.(*bpe)
}

// The counts are published: by OpenAI's cookbook ("How to count tokens with tiktoken", section 5), by
// tiktoken's own tests (tests/test_encoding.py), and for o200k_base by the tests of tiktoken-go/tokenizer.
func TestPublishedCounts(t *testing.T) {
	for _, c := range []struct {
		model, text string
		want        int64
	}{
		{"gpt-4", "tiktoken is great!", 6},
		{"gpt-4", "antidisestablishmentarianism", 6},
		{"gpt-4", "2 + 2 = 4", 7},
		{"gpt-4", "お誕生日おめでとう", 9},
		{"gpt-3.5-turbo", "hello world", 2},
		{"gpt-4", "rer", 1},
		{"gpt-4", "'rer", 2},
		{"gpt-4", "today\n \n", 2},
		{"gpt-4", "today\n  \n", 2},
		{"gpt-4", " \u00850", 4},
		{"gpt-4", "👍", 3},
		{"gpt-4o", "hello world", 2},
		{"gpt-4o", "hello   world", 3},
		{"gpt-4o", "supercalifragilistic", 6},
		{"gpt-4o", "'RE", 2},
		{"gpt-4o", "We know what we are, but know not what we may be.", 14},
		{"gpt-4o", "", 0},
	} {
		if got := counter(t, c.model).Count(c.text); got != c.want {
			t.Errorf("%s: %q has %d tokens, want %d", c.model, c.text, got, c.want)
		}
	}
}

func TestModelsByName(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-4o": o200k, "gpt-4o-mini-2024-07-18": o200k, "gpt-4.1": o200k, "gpt-4.1-mini-2025-04-14": o200k, "chatgpt-4o-latest": o200k,
		"gpt-5": o200k, "gpt-5-nano": o200k, "gpt-5.4-mini": o200k, "o1": o200k, "o1-preview": o200k, "o3-mini": o200k, "o4-mini": o200k,
		"gpt-oss-120b": o200k, "gpt-oss:20b": o200k, "openai/gpt-oss-20b:free": o200k, "openai/gpt-4.1-mini": o200k, "GPT-4o": o200k,
		"openrouter/openai/gpt-5": o200k, "ft:gpt-4.1-mini-2025-04-14:acme::a1": o200k, "ft:gpt-4o:acme": o200k,
		"gpt-4": cl100k, "gpt-4-turbo": cl100k, "gpt-4-0613": cl100k, "gpt-3.5-turbo": cl100k, "gpt-35-turbo": cl100k, "ft:gpt-3.5-turbo:a": cl100k,
		"": "", "claude-sonnet-4-5": "", "gemini-2.5-pro": "", "llama3": "", "gpt-2": "", "gpt-41": "", "gpt-50": "", "o10": "", "o1x": "",
		"someone/gpt-4-clone": "", "anthropic/claude-sonnet-4.5": "", "openai": "", "openai/": "", "/": "", ":": "", "my-gpt-4o": "",
	} {
		c, known := For(model)
		if known != (want != "") || known && c.Name() != want {
			t.Errorf("%q: %v, want %q", model, c, want)
		}
	}
}

// texts are made of what the patterns treat apart.
func texts() *rapid.Generator[string] {
	words := rapid.SampledFrom([]string{
		"word", "Word", "WORD", "camelCase", "it's", "I'LL", "'s", "'", "don't", "'ſ", "ſ'ſ", "'RE", "'Ve", "ǅ", "ʰ", "中A", "A中", "12", "12345", "٣٤", "½", "x2", "3x",
		" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n ", "\r", "\u00a0", "\u3000", "\u2028", "\u0085", "\v", "\u200b",
		".", ",", "...", "!?", "//", "/\n", "./\n/", "=====", "{\"a\":", "\"},", "$5", "€", "<|endoftext|>", "’s", "—", "\x00",
		"中文", "，", "。", "日本語の", "한국어", "Привет", "e\u0301", "\u0301", "नमस्ते", "ไทย", "😀", "👩‍👩‍👧", "\ufffd", "\xff", "\xe4\xb8",
	})
	return rapid.Map(rapid.SliceOfN(words, 0, 60), func(s []string) string { return strings.Join(s, "") })
}

// The patterns themselves, by a regular expression engine. The group keeps it from taking the compiled
// form that the library registers for its own spelling.
const (
	patternO200k  = `(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)`
	patternCL100k = `(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)`
)

func TestPiecesAreThePatterns(t *testing.T) {
	patterns := map[*bpe]*regexp2.Regexp{
		o200kCounter:  regexp2.MustCompile(patternO200k, regexp2.None),
		cl100kCounter: regexp2.MustCompile(patternCL100k, regexp2.None),
	}
	rapid.Check(t, func(t *rapid.T) {
		text := sent(strings.Join(rapid.SliceOfN(rapid.OneOf(texts(), rapid.String()), 1, 20).Draw(t, "texts"), ""))
		for c, pattern := range patterns {
			var want, got []string
			for m, err := pattern.FindStringMatch(text); m != nil; m, err = pattern.FindNextMatch(m) {
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, m.String())
			}
			for rest := text; rest != ""; {
				n := c.next(rest)
				got, rest = append(got, rest[:n]), rest[n:]
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s splits %q into\n%q, the pattern into\n%q", c.name, text, got, want)
			}
		}
	})
}

func TestPiecesThatAreEasilyWrong(t *testing.T) {
	for text, want := range map[string][]string{
		"\u0301A":               {"\u0301", "A"}, // a mark is a word before it leads one
		"\u0301a":               {"\u0301a"},     // but it leads one that ends small
		"中AB":                   {"中", "AB"},     // what is both gives way
		"ABcD":                  {"ABc", "D"},
		"ſ'ſx":                  {"ſ'ſ", "x"}, // the long s
		"we'LL'":                {"we'LL", "'"},
		" \n  \n x":             {" \n  \n", " x"},
		"a   b":                 {"a", "  ", " b"},
		"a  ":                   {"a", "  "},
		"\tx //\n/ 1234":        {"\tx", " //\n/", " ", "123", "4"},
		"{\"a\":\u00a0\u00a0b}": {"{\"", "a", "\":", "\u00a0", "\u00a0b", "}"},
	} {
		var got []string
		for rest := text; rest != ""; {
			n := nextO200k(rest)
			got, rest = append(got, rest[:n]), rest[n:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is split into %q, want %q", text, got, want)
		}
	}
}

// Where the library splits rightly, its counts are ours.
func TestCountsAreTheLibrarys(t *testing.T) {
	libraries := map[*bpe]*codec.Codec{o200kCounter: codec.NewO200kBase(), cl100kCounter: codec.NewCl100kBase()}
	long := rapid.StringOfN(rapid.RuneFrom([]rune("aeinrstAB中é")), 0, 400, -1)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(texts(), rapid.String(), long), 1, 10).Draw(t, "texts"), "")
		text = sent(strings.NewReplacer("\n", "", "\r", "", "\x7f", "").Replace(text))
		for c, library := range libraries {
			want, err := library.Count(text)
			if got := c.Count(text); err != nil || got != int64(want) {
				t.Fatalf("%s: %q has %d tokens, by the library %d, %v", c.name, text, got, want, err)
			}
		}
	})
}

func TestMostIsNeverLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		most := most(text)
		if most < int64(len(text)) || utf8.ValidString(text) && most != int64(len(text)) {
			t.Fatalf("most of %d bytes is %d", len(text), most)
		}
		for _, c := range []*bpe{o200kCounter, cl100kCounter} {
			if n := c.Count(text); n > most || (n == 0) != (text == "") {
				t.Fatalf("%s: %q has %d tokens, at most %d", c.name, text, n, most)
			}
		}
	})
}

// A byte that is not UTF-8 leaves as U+FFFD, so it weighs as much.
func TestBadBytesWeighWhatIsSent(t *testing.T) {
	bad, sent := "a\xff\xfeb \xe4\xb8 c", "a\ufffd\ufffdb \ufffd\ufffd c"
	if got, want := o200kCounter.Count(bad), o200kCounter.Count(sent); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
	if got := most(bad); got != int64(len(sent)) {
		t.Errorf("most is %d, %d bytes are sent", got, len(sent))
	}
}

// Nothing in a text makes counting slow: of none of these does a quarter of a MiB take long.
func TestTimeIsBounded(t *testing.T) {
	const size = 1 << 18
	for _, unit := range []string{
		"a", "A", "Aa", " ", "\n", " \n", "\t", "=", "'s", "1", "é", "中", "한", "😀", "\u0301", "\xff", "a ", "iVBORw0KGgoAAAANSUhEUgAAAAUA", "\u3000", "字，",
	} {
		text := strings.Repeat(unit, size/len(unit))
		for _, c := range []*bpe{o200kCounter, cl100kCounter} {
			started := time.Now()
			n := c.Count(text)
			took := time.Since(started)
			if n <= 0 || n > most(text) || took > 5*time.Second {
				t.Errorf("%s: %q again and again: %d tokens in %v", c.name, unit, n, took)
			}
			t.Logf("%s: %q again and again: %d tokens in %v", c.name, unit, n, took.Round(time.Millisecond))
		}
	}
	// Longer than what is counted: its bytes, at once.
	if got := o200kCounter.Count(strings.Repeat("a", 16<<20)); got != 16<<20 {
		t.Errorf("16 MiB of one letter: %d", got)
	}
}

func TestCountersAreForMany(t *testing.T) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1000)
	want := o200kCounter.Count(text)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if got := o200kCounter.Count(text); got != want {
					t.Errorf("%d tokens, want %d", got, want)
				}
			}
		})
	}
	all.Wait()
}
