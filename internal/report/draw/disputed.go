package draw

import (
	"context"
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/store"
)

// disputed are the candidates on which the judge disagrees with another run, or with any label. They are no
// probability sample: they were chosen because of what was said.
func disputed(ctx context.Context, s store.Store, p assay.Project, q Request, d assay.Draw, all []candidate, e *extract.Extract, at int) ([]candidate, error) {
	mine := map[assay.ContentKey]string{}
	for i := range e.Rows {
		if v, ok := valueOf(e, at, i); ok {
			mine[e.Rows[i].Content] = v
		}
	}
	differs := map[assay.ContentKey]bool{}
	if q.Against != nil {
		if err := againstRun(ctx, s, *q.Against, d, mine, differs); err != nil {
			return nil, err
		}
	} else if err := s.Labels().Contents(ctx, p.ID, d.Criterion, func(l *store.ContentLabel) error {
		if v, ok := mine[l.Content]; ok && v != plain(l.Value) {
			differs[l.Content] = true
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var out []candidate
	for _, c := range all {
		if differs[c.content] {
			out = append(out, c)
		}
	}
	return out, nil
}

func againstRun(ctx context.Context, s store.Store, other assay.Run, d assay.Draw, mine map[assay.ContentKey]string, differs map[assay.ContentKey]bool) error {
	chain, err := extract.ChainOf(ctx, s, other)
	if err != nil {
		return err
	}
	judge := 0
	for i, j := range other.Spec.Judges {
		if j.Name == d.Judge {
			judge = i
		}
	}
	e, err := extract.Load(ctx, s, chain, judge)
	if err != nil {
		return err
	}
	for at := range e.Columns {
		if e.Columns[at].Criterion.Name != d.Criterion {
			continue
		}
		for i := range e.Rows {
			if theirs, ok := valueOf(e, at, i); ok {
				if ours, both := mine[e.Rows[i].Content]; both && ours != theirs {
					differs[e.Rows[i].Content] = true
				}
			}
		}
		return nil
	}
	return assay.Errorf(assay.CodeInvalid, "run %s has no criterion %q", other.ID, d.Criterion).WithHint("name a run whose judge asks the same question")
}

// valueOf is a row's answer as JSON; ok is false where there is none.
func valueOf(e *extract.Extract, at, row int) (string, bool) {
	c := &e.Columns[at]
	got := c.Answers[row]
	if got < 0 {
		return "", false
	}
	var v any = got == extract.Yes
	switch c.Criterion.Type {
	case assay.Number:
		v = c.Numbers[row]
	case assay.Ordinal, assay.Category:
		v = c.Values[got]
	}
	raw, err := json.Marshal(v)
	return string(raw), err == nil
}

// plain is a JSON value as it is compared.
func plain(raw string) string {
	var v any
	if json.Unmarshal([]byte(raw), &v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return string(out)
}
