package store

import "assay/internal/assay"

// Regraded is what the graded repeats of one content under one judge answered about the session.
type Regraded struct {
	Content assay.ContentKey
	Stratum int
	Judge   int
	Repeats []Repeat // by number; those that are not graded are missing
}

// Repeat is one of them.
type Repeat struct {
	No       int
	Pass     *bool
	Findings []Finding
}

// Finding is a criterion's answer without its reason. Value is JSON, "" where there is none.
type Finding struct {
	Criterion string
	Applies   bool
	Abstained bool
	Value     string
}

// RegradedRow is one finding of one repeat, or none: Criterion is "" then.
type RegradedRow struct {
	Content assay.ContentKey
	Judge   int
	Repeat  int
	Stratum int
	Pass    *bool
	Finding
}

// Gather makes Regraded of rows that come in order of content, judge and repeat. It keeps one.
type Gather struct {
	f   func(*Regraded) error
	now Regraded
}

// GatherRegraded calls f for each, once it is whole.
func GatherRegraded(f func(*Regraded) error) *Gather { return &Gather{f: f} }

// Add takes the next row.
func (g *Gather) Add(r RegradedRow) error {
	if r.Content != g.now.Content || r.Judge != g.now.Judge {
		if err := g.End(); err != nil {
			return err
		}
		g.now.Content, g.now.Judge, g.now.Stratum = r.Content, r.Judge, r.Stratum
	}
	n := len(g.now.Repeats)
	if n == 0 || g.now.Repeats[n-1].No != r.Repeat {
		g.now.add(r.Repeat, r.Pass)
		n++
	}
	if r.Criterion != "" {
		last := &g.now.Repeats[n-1]
		last.Findings = append(last.Findings, r.Finding)
	}
	return nil
}

// add begins another repeat, in the memory of an earlier one where there is some.
func (r *Regraded) add(no int, pass *bool) {
	if n := len(r.Repeats); n < cap(r.Repeats) {
		r.Repeats = r.Repeats[:n+1]
		r.Repeats[n] = Repeat{No: no, Pass: pass, Findings: r.Repeats[n].Findings[:0]}
		return
	}
	r.Repeats = append(r.Repeats, Repeat{No: no, Pass: pass})
}

// End hands over the last one.
func (g *Gather) End() error {
	if len(g.now.Repeats) == 0 {
		return nil
	}
	err := g.f(&g.now)
	g.now.Repeats = g.now.Repeats[:0]
	return err
}
