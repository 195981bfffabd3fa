package logs

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
)

// MinSecret is the length in bytes below which a text is not masked: it would be found everywhere.
const MinSecret = 4

// mask stands in a secret's place.
const mask = "****"

// Masker takes secrets out of a stream, however it is cut into writes. What may be the beginning of a
// secret is held back until more comes.
type Masker struct {
	secrets [][]byte
	held    []byte
	covered int // bytes of held that a mask stands for already
}

// NewMasker masks secrets, and their base64 and URL-encoded forms. One that is shorter than MinSecret is
// an error that names its place in the list, not its text.
func NewMasker(secrets []string) (*Masker, error) {
	m := &Masker{}
	for i, s := range secrets {
		if s == "" {
			continue
		}
		if len(s) < MinSecret {
			return nil, fmt.Errorf("secret %d is shorter than %d bytes and cannot be masked", i+1, MinSecret)
		}
		for _, form := range []string{s, base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)),
			base64.RawStdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)), url.QueryEscape(s), url.PathEscape(s)} {
			if !slices.ContainsFunc(m.secrets, func(o []byte) bool { return string(o) == form }) {
				m.secrets = append(m.secrets, []byte(form))
			}
		}
	}
	return m, nil
}

// span is a part of a text, [from, to).
type span struct{ from, to int }

// Append appends p to dst with every secret masked, except for what it holds back.
func (m *Masker) Append(dst, p []byte) []byte {
	if len(m.secrets) == 0 {
		return append(dst, p...)
	}
	text := p
	if len(m.held) > 0 {
		text = append(m.held, p...)
	}
	keep := m.partial(text)
	dst, covered := m.write(dst, text, keep)
	// The copy is into what text may lie in, which is fine: it moves to the front.
	m.held, m.covered = append(m.held[:0], text[keep:]...), covered
	return dst
}

// Rest appends what is held back, which is no whole secret.
func (m *Masker) Rest(dst []byte) []byte {
	dst, _ = m.write(dst, m.held, len(m.held))
	m.held, m.covered = m.held[:0], 0
	return dst
}

// write appends text[:end] masked, and says how many bytes after end a mask covers already.
func (m *Masker) write(dst, text []byte, end int) ([]byte, int) {
	at := 0
	for _, s := range m.find(text) {
		if s.from >= end {
			break
		}
		if s.from > 0 || m.covered == 0 {
			dst = append(append(dst, text[at:s.from]...), mask...)
		}
		at = s.to
	}
	if at >= end {
		return dst, at - end
	}
	return append(dst, text[at:end]...), 0
}

// find lists the parts of text that are secrets, in order, touching ones as one.
func (m *Masker) find(text []byte) (found []span) {
	if m.covered > 0 {
		found = append(found, span{0, m.covered})
	}
	for _, s := range m.secrets {
		for at := 0; ; at++ {
			i := bytes.Index(text[at:], s)
			if i < 0 {
				break
			}
			at += i
			found = append(found, span{at, at + len(s)})
		}
	}
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	merged := found[:1]
	for _, s := range found[1:] {
		if last := &merged[len(merged)-1]; s.from <= last.to {
			last.to = max(last.to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// partial is where the longest end of text begins that could go on to be a secret.
func (m *Masker) partial(text []byte) int {
	from := len(text)
	for _, s := range m.secrets {
		for n := min(len(s)-1, len(text)); n > len(text)-from; n-- {
			if bytes.HasPrefix(s, text[len(text)-n:]) {
				from = len(text) - n
				break
			}
		}
	}
	return from
}
