package logs

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// mask stands in a secret's place, and in that of several which overlap.
const mask = "****"

// Masker takes secrets out of a stream, however it is cut into writes: what comes out is what would come
// out if the whole were given at once. What may be the beginning of a secret is held back until more comes.
type Masker struct {
	known   *known
	held    []byte
	covered int // bytes of held that a mask stands for already
}

// known are the texts to look for, found by their first four bytes.
type known struct {
	bits    [1 << 10]uint64 // a set of hashes: says no for almost every place, and costs one load
	begin   map[uint32][]string
	all     []string
	longest int
}

// NewMasker masks secrets, and their forms in base64, URLs and JSON. One that is shorter than MinSecret is
// an error that names its place in the list, not its text. Empty ones count for nothing.
func NewMasker(secrets []string) (*Masker, error) {
	k := &known{begin: map[uint32][]string{}}
	for i, s := range secrets {
		if s == "" {
			continue
		}
		if len(s) < MinSecret {
			return nil, fmt.Errorf("secret %d is shorter than %d bytes and cannot be masked", i+1, MinSecret)
		}
		for _, form := range forms(s) {
			k.add(form)
		}
	}
	for _, list := range k.begin {
		slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return &Masker{known: k}, nil
}

// fork masks the same secrets in another stream.
func (m *Masker) fork() *Masker { return &Masker{known: m.known} }

// Text masks a text of its own. It touches no stream, any number may do it at once, and a nil Masker masks
// nothing.
func (m *Masker) Text(s string) string { return m.text(s, true) }

// Head masks the beginning of a text whose rest is not there: what may begin a secret at its end is left out.
func (m *Masker) Head(s string) string { return m.text(s, false) }

func (m *Masker) text(s string, whole bool) string {
	if m == nil || len(m.known.all) == 0 {
		return s
	}
	own := m.fork()
	out := own.Append(nil, []byte(s))
	if whole {
		out = own.Rest(out)
	}
	return string(out)
}

func (k *known) add(form string) {
	first := binary.LittleEndian.Uint32([]byte(form[:4]))
	if slices.Contains(k.begin[first], form) {
		return
	}
	h := hash(first)
	k.bits[h>>6] |= 1 << (h & 63)
	k.begin[first] = append(k.begin[first], form)
	k.all = append(k.all, form)
	k.longest = max(k.longest, len(form))
}

func hash(first uint32) uint32 { return first * 0x9e3779b1 >> 16 }

// next is the first place from i on at which a known text may begin; len(text) where there is none.
func (k *known) next(text []byte, i int) int {
	for ; i+4 <= len(text); i++ {
		if h := hash(binary.LittleEndian.Uint32(text[i:])); k.bits[h>>6]&(1<<(h&63)) != 0 {
			return i
		}
	}
	return len(text)
}

// at is the length of the longest known text that stands at the beginning of text.
func (k *known) at(text []byte) int {
	for _, form := range k.begin[binary.LittleEndian.Uint32(text)] {
		if len(text) >= len(form) && string(text[:len(form)]) == form {
			return len(form)
		}
	}
	return 0
}

// partial is where the longest end of text begins that could go on to be a known text.
func (k *known) partial(text []byte) int {
	i := max(0, len(text)-k.longest+1)
	for i = k.next(text, i); i+4 <= len(text); i = k.next(text, i+1) {
		if begins(k.begin[binary.LittleEndian.Uint32(text[i:])], text[i:]) {
			return i
		}
	}
	for i = max(0, len(text)-3); i < len(text); i++ {
		if begins(k.all, text[i:]) {
			return i
		}
	}
	return len(text)
}

func begins(forms []string, text []byte) bool {
	for _, form := range forms {
		if len(form) > len(text) && form[:len(text)] == string(text) {
			return true
		}
	}
	return false
}

// Append appends p to dst with every secret masked, except for what it holds back.
func (m *Masker) Append(dst, p []byte) []byte {
	if len(m.known.all) == 0 {
		return append(dst, p...)
	}
	text := p
	if len(m.held) > 0 {
		m.held = append(m.held, p...)
		text = m.held
	}
	keep := m.known.partial(text)
	dst, m.covered = m.write(dst, text, keep)
	m.held = append(m.held[:0], text[keep:]...)
	return dst
}

// Rest appends what is held back: masked where it is a whole secret, else as it is. Nothing more may come,
// or the two halves of a secret stand in the clear.
func (m *Masker) Rest(dst []byte) []byte {
	dst, _ = m.write(dst, m.held, len(m.held))
	m.held, m.covered = m.held[:0], 0
	return dst
}

// write appends text[:end] masked, and says how many bytes behind end a mask covers already. No known text
// that begins before end goes on behind text.
func (m *Masker) write(dst, text []byte, end int) ([]byte, int) {
	at := m.covered // text before it is written, or a mask stands for it
	for i := m.known.next(text, 0); i < end; i = m.known.next(text, i+1) {
		n := m.known.at(text[i:])
		if n == 0 {
			continue
		}
		if i >= at {
			dst = append(append(dst, text[at:i]...), mask...)
		}
		at = max(at, i+n)
	}
	if at >= end {
		return dst, at - end
	}
	return append(dst, text[at:end]...), 0
}
