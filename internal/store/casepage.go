package store

import (
	"strings"

	"assay/internal/assay"
)

// What a head keeps of a case.
const (
	HeadFindings = 20
	HeadValue    = 100 // bytes of a value; a longer one is left out
	HeadText     = 300 // characters of an error, a reason or a name
)

// HeadOfCase is what a list shows of c, whose findings are such heads already where it is graded.
func HeadOfCase(c assay.Case) assay.Case {
	c.Input, c.Output, c.Expected, c.Extra, c.Cut = "", "", "", nil, nil
	c.Error, c.Place = headText(c.Error), headText(c.Place)
	if len(c.Findings) > HeadFindings {
		c.Findings = c.Findings[:HeadFindings:HeadFindings]
	}
	for i := range c.Findings {
		f := &c.Findings[i]
		f.Criterion, f.Reason, f.Evidence = headText(f.Criterion), headText(f.Reason), nil
		if len(f.Value) > HeadValue {
			f.Value = nil
		}
	}
	return c
}

// headText is the beginning of a text, which holds on to no more of it.
func headText(s string) string {
	if len(s) <= HeadText {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > HeadText {
			return strings.Clone(s[:i])
		}
	}
	return s
}

// CasePage gathers a page of cases.
type CasePage struct {
	Cases []assay.Case
	sizes []int
	run   assay.RunID
	heads bool
	limit int
	left  int // bytes
	after int64
	more  bool
	done  bool
}

// NewCasePage is an empty page of cases after one.
func NewCasePage(run assay.RunID, q CaseQuery, p Page, after int64) *CasePage {
	return &CasePage{run: run, heads: q.Heads, limit: p.Rows(), left: PageBytes, after: after}
}

// caseStep bounds how many rows are asked for at once: what does not fit is read in vain.
const caseStep = 64

// Step is how many rows after which case are to be read next; 0: the page has what it takes.
func (p *CasePage) Step() (after int64, rows int) {
	if p.done {
		return 0, 0
	}
	return p.after, min(caseStep, p.limit+1-len(p.Cases))
}

// Add adds a row, where there is room.
func (p *CasePage) Add(r CaseRow) error {
	if p.done {
		return nil
	}
	if len(p.Cases) == p.limit {
		p.more, p.done = true, true
		return nil
	}
	c, size, err := r.Case(p.run)
	if err != nil {
		return err
	}
	if p.left -= size; p.left < 0 && len(p.Cases) > 0 {
		p.more, p.done = true, true
		return nil
	}
	if p.heads {
		c = HeadOfCase(c)
	}
	p.Cases, p.sizes, p.after = append(p.Cases, c), append(p.sizes, size), c.Seq
	return nil
}

// Read says how many rows of a step there were.
func (p *CasePage) Read(rows, step int) { p.done = p.done || rows < step }

// Graded are the cases that have a verdict.
func (p *CasePage) Graded() (seqs []int64) {
	for i := range p.Cases {
		if p.Cases[i].State == assay.ItemGraded {
			seqs = append(seqs, p.Cases[i].Seq)
		}
	}
	return seqs
}

// Cut leaves out the cases that do not fit with their findings, whose bytes are given by case, and returns the
// cursor of what follows.
func (p *CasePage) Cut(findings map[int64]int) (next string) {
	total := 0
	for i := range p.Cases {
		if total += p.sizes[i] + findings[p.Cases[i].Seq]; total > PageBytes && i > 0 {
			p.Cases, p.more = p.Cases[:i:i], true
			break
		}
	}
	if !p.more || len(p.Cases) == 0 {
		return ""
	}
	return Cursor(p.Cases[len(p.Cases)-1].Seq)
}
