package results

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"assay/internal/assay"
)

// Names sees to it that Key with Repeat names a case once. Read has one of its own; who reads several
// files into one run passes every case through one more.
type Names struct {
	taken map[name]mark // to the model
	next  map[mark]int  // of a key that was there twice: the first repeat that may be free
}

// mark stands for a text: a million keys are not held in memory.
type mark [16]byte

type name struct {
	key    mark
	repeat int
}

// Place leaves c as it is where its name is free. Otherwise a case of another model gets the model's name
// added to its key, and what is still taken becomes the key's next free repeat.
func (n *Names) Place(c *assay.Case) {
	if n.taken == nil {
		n.taken, n.next = map[name]mark{}, map[mark]int{}
	}
	model := markOf(c.Model)
	at := name{markOf(c.Key), c.Repeat}
	if other, taken := n.taken[at]; taken && other != model && c.Model != "" {
		c.Key = key(c.Key, c.Model)
		at.key = markOf(c.Key)
	}
	if _, taken := n.taken[at]; taken {
		for at.repeat = n.next[at.key]; taken; _, taken = n.taken[at] {
			at.repeat++
		}
		c.Repeat, n.next[at.key] = at.repeat, at.repeat
	}
	n.taken[at] = model
}

// maxKey bounds a key, in bytes.
const maxKey = 300

// key joins what names a case. Parts that are empty are left out.
func key(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = oneLine(p); p != "" {
			kept = append(kept, p)
		}
	}
	return short(strings.Join(kept, " · "), maxKey)
}

// short bounds a name. What it leaves out still tells two names apart: a hash of all of it takes its place.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, _ := cut(s, most-len("…01234567"))
	return head + "…" + digest(s)
}

// ellipsis bounds a text of which a hash stands beside it.
func ellipsis(s string, most int) string {
	head, lost := cut(s, most)
	if lost {
		head += "…"
	}
	return head
}

func markOf(parts ...string) (h mark) {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write([]byte(p))
		sum.Write([]byte{0})
	}
	copy(h[:], sum.Sum(nil))
	return h
}

// digest is a short hash of texts, to be read by people.
func digest(parts ...string) string {
	h := markOf(parts...)
	return hex.EncodeToString(h[:4])
}

// oneLine is s without characters that do not print, its white space made one.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))), " ")
}
