package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/extract"
	"assay/internal/store"
)

// flipped is a pair that changed.
type flipped struct {
	kind FlipKind
	row  int32 // of A
	to   int32 // of B
}

// flipKey is where a flip stands in the list.
type flipKey struct {
	Kind FlipKind
	Row  int32
}

// Flips pages through the pairs of a criterion ("" is pass) that changed: of kind, or with "" of both, regressed
// first, then in A's dispatch order. Cases with several trials have no flips: they are compared by their means.
func Flips(ctx context.Context, s store.Store, a, b assay.Run, o Options, criterion string, kind FlipKind, page store.Page) (flips []Flip, next string, err error) {
	if kind != "" && kind != Regressed && kind != Fixed {
		return nil, "", assay.Errorf(assay.CodeInvalid, "flips of kind %q are not known", kind).WithHint("use regressed or fixed")
	}
	var after flipKey
	more, err := page.After(&after)
	if err != nil {
		return nil, "", err
	}
	p, err := load(ctx, s, a, b, &o)
	if err != nil {
		return nil, "", err
	}
	at, err := p.question(cmp.Or(criterion, assay.CriterionPass))
	if err != nil {
		return nil, "", err
	}
	list := slices.DeleteFunc(p.flipped(at), func(f flipped) bool {
		return kind != "" && f.kind != kind || more && cmp.Or(cmp.Compare(after.Kind, f.kind), cmp.Compare(f.row, after.Row)) <= 0
	})
	rows := page.Rows()
	list = list[:min(len(list), rows+1)]
	list, next = store.CutPage(list, rows, func(f flipped) any { return flipKey{f.kind, f.row} })
	flips, err = p.show(ctx, s, at, list)
	return flips, next, err
}

// question is the column of A with yes or no that is on both sides.
func (p *pairing) question(name string) (int, error) {
	var names []string
	for at := range p.a.e.Columns {
		k := p.a.e.Columns[at].Criterion
		if k.Type != assay.Boolean || p.other(at) < 0 {
			continue
		}
		if k.Name == name {
			return at, nil
		}
		names = append(names, k.Name)
	}
	return 0, assay.Errorf(assay.CodeInvalid, "the criterion %q has no flips here", name).WithHint("both sides answer these with yes or no: %s", strings.Join(names, ", "))
}

// flipped are the pairs that changed, regressed first, then in A's dispatch order.
func (p *pairing) flipped(at int) (out []flipped) {
	other := p.other(at)
	if p.key == ByNone || p.key == ByCase && !p.single {
		return nil
	}
	for i := range p.a.e.Rows {
		row := int32(i)
		x, ok := yes(p.a.e, at, row)
		if !ok {
			continue
		}
		to := p.partnerOf(row)
		if to < 0 {
			continue
		}
		y, ok := yes(p.b.e, other, to)
		switch {
		case !ok || x == y:
		case x > y:
			out = append(out, flipped{Regressed, row, to})
		default:
			out = append(out, flipped{Fixed, row, to})
		}
	}
	slices.SortStableFunc(out, func(a, b flipped) int { return cmp.Compare(b.kind, a.kind) })
	return out
}

func (p *pairing) partnerOf(row int32) int32 {
	if p.key == BySession {
		return p.partner[row]
	}
	if c := p.a.e.Rows[row].Case; c >= 0 && len(p.trials[c]) == 1 {
		return p.trials[c][0]
	}
	return -1
}

// show looks up what is told of some flips.
func (p *pairing) show(ctx context.Context, s store.Store, at int, list []flipped) ([]Flip, error) {
	var contents []assay.ContentKey
	var items []assay.Origin
	for _, f := range list {
		for _, r := range [...]*extract.Row{&p.a.e.Rows[f.row], &p.b.e.Rows[f.to]} {
			contents = append(contents, r.Content)
			items = append(items, assay.Origin{Run: r.Run, Seq: r.Seq})
		}
	}
	names, err := s.Extracts().Names(ctx, contents)
	if err != nil {
		return nil, err
	}
	said, err := s.Extracts().Said(ctx, items)
	if err != nil {
		return nil, err
	}
	criterion := p.a.e.Columns[at].Criterion.Name
	out := make([]Flip, len(list))
	for i, f := range list {
		a, b := &p.a.e.Rows[f.row], &p.b.e.Rows[f.to]
		out[i] = Flip{
			Kind: f.kind, Criterion: criterion,
			A: flipSide(a, names, said, criterion, f.kind == Regressed), B: flipSide(b, names, said, criterion, f.kind == Fixed),
		}
		if n := p.place[f.row]; n >= 0 {
			out[i].Stratum = p.strata[n].Day + "/" + p.strata[n].Arm
		}
		if a.Case >= 0 {
			out[i].Case = p.a.e.Cases[a.Case]
		}
	}
	return out, nil
}

func flipSide(r *extract.Row, names map[assay.ContentKey]store.ExtractName, said map[assay.Origin][]store.ExtractFinding, criterion string, yes bool) FlipSide {
	n := names[r.Content]
	out := FlipSide{Session: assay.SessionName(n.UserID, n.SessionID), Run: r.Run, Seq: r.Seq, Value: "no", URL: report.ItemURL(r.Run, r.Seq)}
	if yes {
		out.Value = "yes"
	}
	out.Reason = reasonOf(said[assay.Origin{Run: r.Run, Seq: r.Seq}], criterion, yes)
	return out
}

// reasonOf is the reason of a criterion's answer; of pass that of the first question that was answered so, else the
// first there is.
func reasonOf(findings []store.ExtractFinding, criterion string, yes bool) string {
	want, _ := json.Marshal(yes) // a bool always has a JSON form
	first := ""
	for _, f := range findings {
		switch {
		case f.Criterion == criterion:
			return f.Reason
		case criterion == assay.CriterionPass && f.Value == string(want) && f.Reason != "":
			return f.Reason
		case first == "":
			first = f.Reason
		}
	}
	if criterion == assay.CriterionPass {
		return first
	}
	return ""
}
