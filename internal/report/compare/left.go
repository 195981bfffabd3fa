package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/number"
)

// Why a session or a case is in no pair, or in one that cannot be compared.
const (
	notSampled     = "not_sampled"
	contentChanged = "content_changed"
	noCase         = "no_case"
	undefined      = "undefined"
	abstained      = "abstained"
	pending        = "pending"
	unanswered     = "no_answer"
)

var whyWords = map[string]string{
	notSampled: "the other side did not sample it", contentChanged: "the other side graded another content of it", noCase: "it has no case",
	string(assay.ItemErrored): "its grading broke", string(assay.ItemUngradable): "it could not be graded", string(assay.ItemCancelled): "it was cancelled",
	string(assay.ItemAbandoned): "it was abandoned", pending: "it has not ended", undefined: "the pass rule is undefined: a question does not apply or was abstained on",
	abstained: "the judge abstained", unanswered: "it has no answer",
}

// leftOut counts what is not compared, by side and reason. It is about pass: what a pair lacks of another question
// is told by the difference between pairs there and here.
func (p *pairing) leftOut() []LeftOut {
	type key struct{ side, why string }
	n := map[key]int64{}
	unpaired := func(h half, side string, has func(row int) bool, why func(row int) string) {
		for i := range h.e.Rows {
			if !has(i) {
				n[key{side, why(i)}]++
			}
		}
		if c := h.chain.Covers; !c.Complete && c.Through < c.Of {
			n[key{side, pending}] += c.Of - c.Through
		}
	}
	switch p.key {
	case BySession:
		partners := make([]bool, len(p.b.e.Rows))
		sessions := map[assay.SessionKey]bool{}
		for i, to := range p.partner {
			sessions[p.a.e.Rows[i].Session] = true
			if to >= 0 {
				partners[to] = true
				for _, x := range both(whyNot(p.a.e, i), whyNot(p.b.e, int(to))) {
					n[key{x[0], x[1]}]++
				}
			}
		}
		n[key{"both", contentChanged}] = p.changed
		unpaired(p.a, "a", func(i int) bool { return p.partner[i] >= 0 }, func(int) string { return notSampled })
		n[key{"a", notSampled}] -= p.changed
		unpaired(p.b, "b", func(i int) bool { return partners[i] || sessions[p.b.e.Rows[i].Session] }, func(int) string { return notSampled })
	case ByCase:
		caseless := func(e *extract.Extract) func(int) string {
			return func(i int) string {
				if e.Rows[i].Case < 0 {
					return noCase
				}
				return notSampled
			}
		}
		unpaired(p.a, "a", func(i int) bool { c := p.a.e.Rows[i].Case; return c >= 0 && len(p.trials[c]) > 0 }, caseless(p.a.e))
		unpaired(p.b, "b", func(i int) bool { return p.caseOf[i] >= 0 }, caseless(p.b.e))
		p.unansweredTrials(func(side, why string) { n[key{side, why}]++ })
	default:
		for _, s := range [...]struct {
			h    half
			name string
		}{{p.a, "a"}, {p.b, "b"}} {
			unpaired(s.h, s.name, func(i int) bool { return whyNot(s.h.e, i) == "" }, func(i int) string { return whyNot(s.h.e, i) })
		}
	}
	out := []LeftOut{}
	for k, count := range maps.All(n) {
		if count > 0 {
			out = append(out, LeftOut{Side: k.side, Why: k.why, N: count, Words: words(k.side, k.why, count)})
		}
	}
	slices.SortFunc(out, func(x, y LeftOut) int {
		return cmp.Or(cmp.Compare(x.Side, y.Side), cmp.Compare(y.N, x.N), cmp.Compare(x.Why, y.Why))
	})
	return out
}

func (p *pairing) unansweredTrials(count func(side, why string)) {
	for i := range p.a.e.Rows {
		if c := p.a.e.Rows[i].Case; c >= 0 && len(p.trials[c]) > 0 {
			if why := whyNot(p.a.e, i); why != "" {
				count("a", why)
			}
		}
	}
	for i, c := range p.caseOf {
		if c >= 0 {
			if why := whyNot(p.b.e, i); why != "" {
				count("b", why)
			}
		}
	}
}

// both tells of a pair that cannot be compared on which side that is.
func both(a, b string) [][2]string {
	switch {
	case a == "" && b == "":
		return nil
	case a == b:
		return [][2]string{{"both", a}}
	case b == "":
		return [][2]string{{"a", a}}
	case a == "":
		return [][2]string{{"b", b}}
	}
	return [][2]string{{"both", "different"}}
}

// whyNot is why a row has no pass that can be compared, "" where it has.
func whyNot(e *extract.Extract, row int) string {
	r := &e.Rows[row]
	switch got := e.Columns[0].Answers[row]; {
	case got >= 0:
		return ""
	case r.State != assay.ItemGraded:
		return string(r.State)
	case got == extract.Undefined:
		return undefined
	}
	return unanswered
}

func words(side, why string, n int64) string {
	text := whyWords[why]
	if why == "different" {
		text = "either side has another reason"
	}
	where := map[string]string{"a": "in A", "b": "in B", "both": "on both sides"}[side]
	return fmt.Sprintf("%s %s: %s", number.Whole(n), where, cmp.Or(text, why))
}
