package draw

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/store"
)

// DefaultSeed draws when nobody names a seed.
const DefaultSeed = "labels"

// candidate is a graded session with its place in hash order.
type candidate struct {
	content assay.ContentKey
	group   group
	digest  [sha256.Size]byte
}

// group is what is drawn from by itself: a stratum, or those of a stratum that the judge answered alike.
type group struct {
	stratum assay.Stratum
	answer  extract.Answer
}

// Sample chooses the members and says what a draw would be; it writes nothing (store.Labels.CreateDraw does).
func Sample(ctx context.Context, s store.Store, p assay.Project, q Request) (assay.Draw, []assay.DrawMember, error) {
	d, e, chain, at, err := open(ctx, s, q)
	if err != nil {
		return d, nil, err
	}
	names, err := namesOf(ctx, s, e, at)
	if err != nil {
		return d, nil, err
	}
	all := candidates(e, chain, at, names, d)
	d.Frame = int64(len(all))
	if d.Method == assay.DrawQueue {
		all, err = disputed(ctx, s, p, q, d, all, e, at)
		if err != nil {
			return d, nil, err
		}
	}
	if len(all) == 0 {
		return d, nil, assay.Errorf(assay.CodeInvalid, "there is nothing to draw from run %s", d.Run).WithHint("%s", emptyHint(d.Method))
	}
	chosen := choose(all, q.N, d.Method)
	members := make([]assay.DrawMember, len(chosen))
	for i, c := range chosen {
		n := names[c.content]
		members[i] = assay.DrawMember{No: i + 1, Content: c.content, UserID: n.UserID, SessionID: n.SessionID, ContentHash: n.ContentHash, Stratum: c.group.stratum, Probability: c.probability}
	}
	d.Members = int64(len(members))
	return d, members, nil
}

func emptyHint(m assay.DrawMethod) string {
	if m == assay.DrawQueue {
		return "nothing disagrees: there is no label, or no other run, that says otherwise"
	}
	return "the run has no verdict on this question yet"
}

// open checks a request and reads what it draws from.
func open(ctx context.Context, s store.Store, q Request) (d assay.Draw, e *extract.Extract, chain extract.Chain, at int, err error) {
	d = assay.Draw{Run: q.Run.ID, Criterion: cmp.Or(q.Criterion, assay.CriterionPass), Method: cmp.Or(q.Method, assay.DrawRandom), Seed: cmp.Or(q.Seed, DefaultSeed), By: q.By}
	switch {
	case d.Method != assay.DrawRandom && d.Method != assay.DrawVerdicts && d.Method != assay.DrawQueue:
		return d, nil, chain, 0, assay.Errorf(assay.CodeInvalid, "method %q is not known", d.Method).WithHint("use random, verdicts or disagreements")
	case q.N < 1:
		return d, nil, chain, 0, assay.Errorf(assay.CodeInvalid, "%d sessions cannot be drawn", q.N).WithHint("draw 1 or more")
	case !q.Run.State.Terminal():
		return d, nil, chain, 0, assay.Errorf(assay.CodeRefused, "run %s has not ended", q.Run.ID).WithHint("draw from it when it has: until then nobody knows what it will have graded")
	}
	var names []string
	judge := -1
	for i, j := range q.Run.Spec.Judges {
		names = append(names, j.Name)
		if j.Name == q.Judge || q.Judge == "" && len(q.Run.Spec.Judges) == 1 {
			judge = i
		}
	}
	if judge < 0 {
		return d, nil, chain, 0, assay.Errorf(assay.CodeInvalid, "run %s has no judge %q", q.Run.ID, q.Judge).WithHint("name one of %s", strings.Join(names, ", "))
	}
	d.Judge, d.Version = q.Run.Spec.Judges[judge].Name, q.Run.Spec.Judges[judge].Version
	if chain, err = extract.ChainOf(ctx, s, q.Run); err != nil {
		return d, nil, chain, 0, err
	}
	if e, err = extract.Load(ctx, s, chain, judge); err != nil {
		return d, nil, chain, 0, err
	}
	var criteria []string
	for i, c := range e.Columns {
		if criteria = append(criteria, c.Criterion.Name); c.Criterion.Name == d.Criterion {
			at = i + 1
		}
	}
	if at == 0 {
		return d, nil, chain, 0, assay.Errorf(assay.CodeInvalid, "the judge %q has no criterion %q", d.Judge, d.Criterion).WithHint("it has %s", strings.Join(criteria, ", "))
	}
	if at--; d.Method == assay.DrawVerdicts && e.Columns[at].Criterion.Type != assay.Boolean {
		return d, nil, chain, 0, assay.Errorf(assay.CodeInvalid, "%s is not answered with yes or no, so it cannot be drawn by verdict", d.Criterion).WithHint("use the method random")
	}
	return d, e, chain, at, nil
}

// namesOf are those of all graded sessions: the hash order is of names, so that it is the same everywhere.
func namesOf(ctx context.Context, s store.Store, e *extract.Extract, at int) (map[assay.ContentKey]store.ExtractName, error) {
	var contents []assay.ContentKey
	for i := range e.Rows {
		if e.Columns[at].Answers[i] >= 0 {
			contents = append(contents, e.Rows[i].Content)
		}
	}
	names := make(map[assay.ContentKey]store.ExtractName, len(contents))
	for part := range slices.Chunk(contents, 10_000) {
		some, err := s.Extracts().Names(ctx, part)
		if err != nil {
			return nil, err
		}
		for k, n := range some {
			names[k] = n
		}
	}
	return names, nil
}

// candidates are the rows that the judge answered.
func candidates(e *extract.Extract, chain extract.Chain, at int, names map[assay.ContentKey]store.ExtractName, d assay.Draw) []candidate {
	strata := map[int32]assay.Stratum{}
	for _, h := range chain.Strata {
		strata[int32(h.Index)] = h.Stratum
	}
	mac := hmac.New(sha256.New, []byte(d.Seed))
	var out []candidate
	for i := range e.Rows {
		n, ok := names[e.Rows[i].Content]
		if !ok { // erased meanwhile, or not answered
			continue
		}
		c := candidate{content: e.Rows[i].Content, group: group{stratum: strata[e.Rows[i].Stratum]}}
		if d.Method == assay.DrawVerdicts {
			c.group.answer = e.Columns[at].Answers[i]
		}
		mac.Reset()
		mac.Write(nameBytes(n))
		mac.Sum(c.digest[:0])
		out = append(out, c)
	}
	return out
}

// nameBytes are user and session, each preceded by its length.
func nameBytes(n store.ExtractName) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(len(n.UserID)))
	b = append(b, n.UserID...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(n.SessionID)))
	return append(b, n.SessionID...)
}

// member is a chosen candidate.
type member struct {
	candidate
	probability float64
	step        float64 // its place in its group: members are labelled in order of it
}

// choose takes n of all: the same number of each group, or all of it, and what is left over of the larger ones. Of a
// draw by verdict half are of either answer first. Members stand in an order any beginning of which is spread over
// groups in the same proportions.
func choose(all []candidate, n int, method assay.DrawMethod) []member {
	groups := map[group][]candidate{}
	for _, c := range all {
		groups[c.group] = append(groups[c.group], c)
	}
	var keys []group
	for k, list := range groups {
		keys = append(keys, k)
		slices.SortFunc(list, func(a, b candidate) int { return bytes.Compare(a.digest[:], b.digest[:]) })
	}
	slices.SortFunc(keys, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.answer, b.answer), cmp.Compare(a.stratum.Day, b.stratum.Day), cmp.Compare(a.stratum.Arm, b.stratum.Arm))
	})
	take := shares(keys, groups, n, method)
	var out []member
	for i, k := range keys {
		list := groups[k]
		for j, c := range list[:take[i]] {
			m := member{candidate: c, probability: float64(take[i]) / float64(len(list)), step: (float64(j) + 0.5) / float64(take[i])}
			if method == assay.DrawQueue {
				m.probability = 0
			}
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.step, b.step), bytes.Compare(a.digest[:], b.digest[:]))
	})
	return out
}

// shares is how many of each group are taken.
func shares(keys []group, groups map[group][]candidate, n int, method assay.DrawMethod) []int {
	sizes := make([]int, len(keys))
	for i, k := range keys {
		sizes[i] = len(groups[k])
	}
	if method != assay.DrawVerdicts {
		return fill(sizes, n)
	}
	// Keys stand by answer: those of the first answer come first.
	cut := 0
	for cut < len(keys) && keys[cut].answer == keys[0].answer {
		cut++
	}
	sides := []int{total(sizes[:cut]), total(sizes[cut:])}
	of := fill(sides, n)
	return append(fill(sizes[:cut], of[0]), fill(sizes[cut:], of[1])...)
}

func total(list []int) (sum int) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// fill gives each of several sizes the same number, or all of it, so that n are given as far as they go; what is
// left over goes to the first of the largest.
func fill(sizes []int, n int) []int {
	take := make([]int, len(sizes))
	n = min(n, total(sizes))
	for n > 0 {
		open := 0
		for i := range sizes {
			if take[i] < sizes[i] {
				open++
			}
		}
		each := n / open
		if each == 0 {
			order := make([]int, 0, open)
			for i := range sizes {
				if take[i] < sizes[i] {
					order = append(order, i)
				}
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
			for _, i := range order[:n] {
				take[i]++
			}
			return take
		}
		for i := range sizes {
			more := min(each, sizes[i]-take[i])
			take[i] += more
			n -= more
		}
	}
	return take
}
