// Package tokens counts what a text weighs for a model: exactly where the model's tokenizer is known,
// and as a guess where it is not.
//
// It owns tokenizers and the names of the models that use them. It refuses to know prompts, prices and
// providers: what a request adds around its texts (roles, schemas, hidden instructions) is the caller's
// to add. Its invariants: Count(text) is never more than the bytes of the text as it leaves, and counting
// takes time in proportion to the text, whatever is in it.
package tokens

import (
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Counter counts the tokens of texts. It is safe for concurrent use.
type Counter interface {
	// Name is the tokenizer's: "o200k_base", "cl100k_base".
	Name() string
	// Count is exact, but for a word of more than a MiB: that counts as its bytes. What looks like a
	// special token ("<|endoftext|>") is plain text, as it is for a provider.
	Count(text string) int64
}

// For is the counter for a model by its name, if its tokenizer is known. The vocabulary is read at the
// first count, not here.
func For(model string) (c Counter, known bool) {
	switch encodingOf(model) {
	case o200k:
		return o200kCounter, true
	case cl100k:
		return cl100kCounter, true
	}
	return nil, false
}

var (
	o200kCounter  = &bpe{name: o200k, next: nextO200k, ranks: sync.OnceValue(readO200k)}
	cl100kCounter = &bpe{name: cl100k, next: nextCL100k, ranks: sync.OnceValue(readCL100k)}
)

func readO200k() map[string]uint32  { return vocabulary(codec.NewO200kBase(), 199_998) }
func readCL100k() map[string]uint32 { return vocabulary(codec.NewCl100kBase(), 100_256) }

// vocabulary reads a library's tokens by their rank. The library's own counting is not used: its compiled
// pattern cuts a run of line ends with spaces between ("\n \n") after the first of them, which is neither
// what the pattern says nor what OpenAI counts, and takes time in the square of the run; and it drops DEL.
func vocabulary(c *codec.Codec, size uint) map[string]uint32 {
	ranks := make(map[string]uint32, size)
	for id := range size {
		if token, err := c.Decode([]uint{id}); err == nil {
			ranks[token] = uint32(id)
		}
	}
	return ranks
}

// maxPiece is the longest piece that is counted; merging one of a MiB takes about 0.3 s and 30 MB.
const maxPiece = 1 << 20

// bpe counts by byte-pair encoding of the pieces into which a pattern splits the text.
type bpe struct {
	name  string
	ranks func() map[string]uint32
	next  func(text string) int // length of the first piece of a text that is not empty
}

func (b *bpe) Name() string { return b.name }

func (b *bpe) Count(text string) (n int64) {
	if text == "" {
		return 0
	}
	text = sent(text)
	m := merger{ranks: b.ranks()}
	for text != "" {
		piece := text[:b.next(text)]
		text = text[len(piece):]
		switch _, whole := m.ranks[piece]; {
		case whole:
			n++
		case len(piece) > maxPiece:
			n += most(piece)
		default:
			n += m.count(piece)
		}
	}
	return n
}

// sent is text as it leaves in JSON: each byte that is not UTF-8 becomes U+FFFD.
func sent(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}
