package postgres

import (
	"encoding/hex"
	"strconv"

	"assay/internal/assay"
	"assay/internal/store"
)

// findings are the columns of verdicts on their way in.
type findings struct {
	seq, unitNo, no         []int64
	n                       []*int64 // the attempt, except of a first one that grades its item: it has nothing to look for
	unit, criterion, reason []string
	unitPass                []*bool
	value, evidence         []*string
	applies, abstained      []bool
}

func findingsOf(b store.Batch) *findings {
	f := new(findings)
	for i := range b.Done {
		o := &b.Done[i]
		if o.State != assay.ItemGraded && o.State != assay.ItemPending {
			continue
		}
		var n *int64
		if o.State == assay.ItemPending || o.Attempt.N > 1 {
			n = new(int64(o.Attempt.N))
		}
		for unit := range o.Answers {
			f.addAnswer(o.Attempt.Seq, n, &o.Answers[unit], unit)
		}
	}
	return f
}

func (f *findings) addAnswer(seq int64, n *int64, a *assay.Answer, unit int) {
	for no := range a.Findings {
		f.add(seq, n, a, unit, &a.Findings[no], no)
	}
	if len(a.Findings) == 0 {
		// Applies tells an empty list from none.
		f.add(seq, n, a, unit, &assay.Finding{Applies: a.Findings != nil}, 0)
	}
}

func (f *findings) add(seq int64, n *int64, a *assay.Answer, unit int, v *assay.Finding, no int) {
	f.seq, f.n, f.unitNo, f.no = append(f.seq, seq), append(f.n, n), append(f.unitNo, int64(unit)), append(f.no, int64(no))
	f.unit, f.criterion, f.reason = append(f.unit, clean(a.Unit)), append(f.criterion, clean(v.Criterion)), append(f.reason, clean(v.Reason))
	value := textOf(v.Value)
	if value != nil {
		*value = clean(*value)
	}
	f.unitPass, f.value, f.evidence = append(f.unitPass, a.Pass), append(f.value, value), append(f.evidence, toJSON(v.Evidence))
	f.applies, f.abstained = append(f.applies, v.Applies), append(f.abstained, v.Abstained)
}

func (f *findings) arrays() []any {
	return []any{f.seq, f.n, f.unit, f.criterion, f.unitNo, f.no, f.unitPass, f.value, f.applies, f.abstained, f.reason, f.evidence}
}

// seen are the columns of transcripts on their way in.
type seen struct{ hash, text [][]byte }

func seenOf(b store.Batch) (s seen, err error) {
	for i := range b.Done {
		o := &b.Done[i]
		if o.Seen == nil {
			continue
		}
		hash, err := hex.DecodeString(string(o.Seen.Hash))
		if err != nil {
			return s, because(err, assay.CodeInternal, "store the transcript of item "+strconv.FormatInt(o.Attempt.Seq, 10)+": its hash is none",
				"this is a fault of the program; stop and report it")
		}
		s.hash, s.text = append(s.hash, hash), append(s.text, o.Seen.Text)
	}
	return s, nil
}
