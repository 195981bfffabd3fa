// Package sampling draws the sample: which sessions of each stratum are graded, and in which order.
//
// It owns the hash order and the weights. It refuses to know storage, judges and time; a stratum is
// two texts to it and a session is its two names and a number that the caller understands. Its
// invariant: the sample is a pure function of the sessions, the n of each stratum and the seed. Neither
// the order of the input nor the machine changes it, and raising an n keeps what was drawn.
package sampling

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"
)

// Sampler keeps, per stratum, the n sessions with the smallest digests, and nothing of the others
// but their count. It is not safe for concurrent use.
type Sampler struct {
	n      int          // of a stratum that is not in sizes
	sizes  map[name]int // of single strata; nil where all have n
	mac    hash.Hash
	msg    []byte
	digest [sha256.Size]byte
	strata map[name]*stratum
	last   *stratum // of the session before: sessions often arrive day by day
}

type name struct{ day, arm string }

type stratum struct {
	name
	n    int
	size int64
	kept worst
}

// entry is a session that is kept for now.
type entry struct {
	digest        [sha256.Size]byte
	user, session string
	ref           int64
}

// New makes a sampler that keeps at most perStratum sessions of each stratum.
func New(seed string, perStratum int) *Sampler {
	return &Sampler{n: max(perStratum, 0), mac: hmac.New(sha256.New, []byte(seed)), strata: map[name]*stratum{}}
}

// Size is the n of one stratum.
type Size struct {
	Day, Arm string
	N        int
}

// Sized makes a sampler that keeps at most N sessions of each stratum that is named, of one that is named more than
// once the last N, and only the count of any other. A stratum draws what New draws of it with the same n.
func Sized(seed string, sizes []Size) *Sampler {
	s := New(seed, 0)
	s.sizes = make(map[name]int, len(sizes))
	for _, z := range sizes {
		s.sizes[name{z.Day, z.Arm}] = max(z.N, 0)
	}
	return s
}

// Add offers one session. A session must be offered once only; ref comes back from Result.
func (s *Sampler) Add(day, arm, user, session string, ref int64) {
	h := s.stratum(day, arm)
	h.size++
	if h.n == 0 {
		return
	}
	s.hash(user, session)
	if len(h.kept) == h.n {
		root := &h.kept[0]
		if c := bytes.Compare(s.digest[:], root.digest[:]); c > 0 || (c == 0 && !nameLess(user, session, root)) {
			return
		}
		*root = s.entry(user, session, ref)
		h.kept.down(0)
		return
	}
	h.kept = append(h.kept, s.entry(user, session, ref))
	h.kept.up(len(h.kept) - 1)
}

// entry clones the names, so that a kept session does not hold its caller's read buffer.
func (s *Sampler) entry(user, session string, ref int64) entry {
	return entry{s.digest, strings.Clone(user), strings.Clone(session), ref}
}

// hash sets digest to HMAC-SHA-256(key = seed, user and session, each preceded by its length).
// Without the lengths ("a", "bc") and ("ab", "c") would be one session.
func (s *Sampler) hash(user, session string) {
	m := binary.BigEndian.AppendUint64(s.msg[:0], uint64(len(user)))
	m = append(m, user...)
	m = binary.BigEndian.AppendUint64(m, uint64(len(session)))
	m = append(m, session...)
	s.msg = m
	s.mac.Reset() // after the first use this restores the keyed state instead of hashing the key again
	s.mac.Write(m)
	s.mac.Sum(s.digest[:0])
}

func (s *Sampler) stratum(day, arm string) *stratum {
	if s.last != nil && s.last.day == day && s.last.arm == arm {
		return s.last
	}
	key := name{day, arm}
	h := s.strata[key]
	if h == nil {
		h = &stratum{name: key, n: s.n}
		if s.sizes != nil {
			h.n = s.sizes[key]
		}
		s.strata[key] = h
	}
	s.last = h
	return h
}

// Sample is what was drawn.
type Sample struct {
	Size   int64 // sessions offered: N
	Strata []Stratum
}

// Stratum is one stratum of a sample.
type Stratum struct {
	Day, Arm string
	Size     int64   // sessions offered in it: N_h
	Chosen   []int64 // refs of the n_h = min(n, N_h) sessions drawn, in hash order; n is the stratum's
	entries  []entry // the same, with what orders them over strata
}

// Result ends the drawing. Strata stand in order of day, then arm; a date begins with a digit, so a
// day that is a word ("undated") comes after every date.
func (s *Sampler) Result() Sample {
	out := Sample{Strata: make([]Stratum, 0, len(s.strata))}
	for _, h := range s.strata {
		kept := slices.Clone(h.kept)
		slices.SortFunc(kept, func(a, b entry) int { return compare(&a, &b) })
		st := Stratum{Day: h.day, Arm: h.arm, Size: h.size, Chosen: make([]int64, len(kept)), entries: kept}
		for i := range kept {
			st.Chosen[i] = kept[i].ref
		}
		out.Size += h.size
		out.Strata = append(out.Strata, st)
	}
	slices.SortFunc(out.Strata, func(a, b Stratum) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Arm, b.Arm))
	})
	return out
}

// Drawn is the number of sessions in the sample: n.
func (s Sample) Drawn() int {
	n := 0
	for i := range s.Strata {
		n += len(s.Strata[i].Chosen)
	}
	return n
}

// Weight is W_h = N_h/N, the share of the population that stratum i speaks for.
func (s Sample) Weight(i int) float64 { return float64(s.Strata[i].Size) / float64(s.Size) }

// compare is the hash order. Names break ties, which only equal names or a broken SHA-256 could make.
func compare(a, b *entry) int {
	return cmp.Or(bytes.Compare(a.digest[:], b.digest[:]), cmp.Compare(a.user, b.user), cmp.Compare(a.session, b.session))
}

func nameLess(user, session string, e *entry) bool {
	return cmp.Or(cmp.Compare(user, e.user), cmp.Compare(session, e.session)) < 0
}
