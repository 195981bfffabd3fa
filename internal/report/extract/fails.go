package extract

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// failing counts the texts of failing answers. A text is kept from its second time on, so that memory is bounded by
// texts that repeat; one that came once can only be an example.
type failing struct {
	Fails
	counts map[uint64]int64
	texts  map[uint64]string
	types  map[string]int64
	first  []example // at most MostExamples, by row and column
}

type example struct {
	row    int32
	column int
	reason string
}

var seed = maphash.MakeSeed()

func newFailing(criterion string) *failing {
	return &failing{Fails: Fails{Criterion: criterion}, counts: map[uint64]int64{}, texts: map[uint64]string{}, types: map[string]int64{}}
}

// longest is how much of a reason is kept, in bytes.
const longest = 1000

// add takes the reason that the answer of a column gave.
func (f *failing) add(row int32, column int, reason string) {
	if len(reason) > longest {
		reason = cut(reason)
	}
	if reason != "" {
		h := maphash.String(seed, reason)
		if f.counts[h]++; f.counts[h] == 2 {
			f.texts[h] = reason
		}
	}
	at, found := slices.BinarySearchFunc(f.first, row, func(e example, row int32) int { return cmp.Compare(e.row, row) })
	switch {
	case found && column < f.first[at].column:
		f.first[at] = example{row, column, reason}
	case !found && at < MostExamples:
		f.first = slices.Insert(f.first, at, example{row, column, reason})
		f.first = f.first[:min(len(f.first), MostExamples)]
	}
}

// cut ends a text at a rune.
func cut(text string) string {
	end := longest
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}

func (f *failing) fails() Fails {
	out := f.Fails
	for h, text := range f.texts {
		out.Reasons = append(out.Reasons, Reason{Text: text, N: f.counts[h]})
	}
	for text, n := range f.types {
		out.Types = append(out.Types, Reason{Text: text, N: n})
	}
	out.Reasons, out.Types = mostOf(out.Reasons, MostReasons), mostOf(out.Types, MostTypes)
	for _, e := range f.first {
		out.Examples = append(out.Examples, Example{Row: e.row, Reason: e.reason})
	}
	return out
}

// mostOf are the most frequent ones, of equally frequent ones those that stand first by text.
func mostOf(list []Reason, most int) []Reason {
	slices.SortFunc(list, func(a, b Reason) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Text, b.Text)) })
	return slices.Clip(list[:min(len(list), most)])
}
