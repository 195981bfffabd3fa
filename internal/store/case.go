package store

import (
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"

	"assay/internal/assay"
)

// One transaction takes so many rows of cases, items and verdicts, or so many bytes.
const (
	batchRows  = 1000
	batchBytes = 1 << 20
)

// longDetail is from where the detail of a case is compressed.
const longDetail = 1024

// CaseRow is a case on its way into the tables.
type CaseRow struct {
	Seq    int64
	Key    string
	Repeat int
	State  assay.ItemState
	Class  assay.Class
	Error  string
	Model  string
	Answer *assay.Answer // of a graded one: its verdict
	Detail []byte        // the rest
}

// Pass is what stands at the item: what an errored case says of itself is no verdict.
func (r *CaseRow) Pass() *bool {
	if r.Answer == nil {
		return nil
	}
	return r.Answer.Pass
}

// detail is the JSON of what no column holds: the fields of Case but those that are hidden here.
type detail struct {
	assay.Case
	Run    *struct{} `json:"run,omitempty"`
	Seq    *struct{} `json:"seq,omitempty"`
	Key    *struct{} `json:"case,omitempty"`
	Repeat *struct{} `json:"repeat,omitempty"`
	State  *struct{} `json:"state,omitempty"`
	Class  *struct{} `json:"class,omitempty"`
	Error  *struct{} `json:"error,omitempty"`
	Model  *struct{} `json:"model,omitempty"`
	Pass   *bool     `json:"pass,omitempty"` // of a case that is not graded, as are Findings
}

// CheckCases says which case cannot be stored, before any is.
func CheckCases(cases []assay.Case) error {
	for i := range cases {
		c := &cases[i]
		switch {
		case c.Seq < 1:
			return refuseCase(c, "its number must be 1 or more")
		case c.Repeat < 0:
			return refuseCase(c, fmt.Sprintf("its repeat is %d, and must be 0 or more", c.Repeat))
		case c.State != assay.ItemGraded && c.State != assay.ItemErrored && c.State != assay.ItemUngradable:
			return refuseCase(c, fmt.Sprintf("its state is %q, and must be graded, errored or ungradable", c.State))
		}
	}
	return nil
}

func refuseCase(c *assay.Case, why string) error {
	return assay.Errorf(assay.CodeInvalid, "store case %d (%.80q): %s", c.Seq, c.Key, why).WithHint("correct what the result file says of it")
}

// CaseBatch encodes as many of cases as one transaction takes and returns the rest.
func CaseBatch(cases []assay.Case) (rows []CaseRow, rest []assay.Case, err error) {
	for n, size := 0, 0; len(cases) > 0 && n < batchRows && size < batchBytes; cases = cases[1:] {
		row, err := caseRow(&cases[0])
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
		n, size = n+2, size+len(row.Detail)
		if row.Answer != nil {
			n += len(row.Answer.Findings)
		}
	}
	return rows, cases, nil
}

func caseRow(c *assay.Case) (row CaseRow, err error) {
	row = CaseRow{Seq: c.Seq, Key: Clean(c.Key), Repeat: c.Repeat, State: c.State, Class: c.Class, Error: c.Error, Model: c.Model}
	d := detail{Case: *c, Pass: c.Pass}
	if c.State == assay.ItemGraded {
		row.Answer = &assay.Answer{Pass: c.Pass, Findings: distinct(c.Findings)}
		d.Findings, d.Pass = nil, nil
	}
	if row.Detail, err = encode(d); err != nil {
		return row, refuseCase(c, err.Error())
	}
	if len(row.Detail) >= longDetail {
		row.Detail = compress(row.Detail)
	}
	return row, nil
}

// distinct numbers findings that answer a criterion of one name, and names those without: an answer has
// one finding for each criterion.
func distinct(findings []assay.Finding) []assay.Finding {
	taken := make(map[string]bool, len(findings))
	var renamed []assay.Finding
	for i := range findings {
		name := Clean(findings[i].Criterion)
		if name == "" {
			name = "unnamed"
		}
		plain := name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s (%d)", plain, n)
		}
		taken[name] = true
		if name == findings[i].Criterion {
			continue
		}
		if renamed == nil {
			renamed = append(make([]assay.Finding, 0, len(findings)), findings...)
		}
		renamed[i].Criterion = name
	}
	if renamed != nil {
		return renamed
	}
	return findings
}

func compress(raw []byte) []byte {
	enc := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(enc)
	return enc.EncodeAll(raw, nil)
}

// Case is the case of a row, and how many bytes its detail has. Pass and Findings of a graded one are those of
// its verdict: the caller adds them.
func (r *CaseRow) Case(run assay.RunID) (c assay.Case, size int, err error) {
	raw := r.Detail
	if len(raw) > 0 && raw[0] != '{' { // zstd begins otherwise
		if raw, err = DecompressBody(raw); err != nil {
			return c, 0, err
		}
	}
	var d detail
	if err := Decode(raw, &d, fmt.Sprintf("case %d of run %s", r.Seq, run)); err != nil {
		return c, 0, err
	}
	c = d.Case
	c.Run, c.Seq, c.Key, c.Repeat, c.State, c.Class, c.Error, c.Model, c.Pass = run, r.Seq, r.Key, r.Repeat, r.State, r.Class, r.Error, r.Model, d.Pass
	return c, len(raw) + len(r.Key) + len(r.Error), nil
}

// TakenName says what the run knows of the name of a row.
type TakenName struct {
	Taken   bool // another case has this key and repeat
	Highest int  // repeat of any case with this key; -1: there is none
}

// NumberRepeats gives a row whose key and repeat another case of the run has the next repeat: two results
// of one name are two repeats of one case.
func NumberRepeats(rows []CaseRow, taken []TakenName) {
	type name struct {
		key    string
		repeat int
	}
	used, highest := make(map[name]bool, len(rows)), make(map[string]int, len(rows))
	for i := range rows {
		highest[rows[i].Key] = taken[i].Highest
	}
	for i := range rows {
		r := &rows[i]
		if taken[i].Taken || used[name{r.Key, r.Repeat}] {
			r.Repeat = highest[r.Key] + 1
		}
		used[name{r.Key, r.Repeat}] = true
		highest[r.Key] = max(highest[r.Key], r.Repeat)
	}
}

// Without drops rows whose case is stored already.
func Without(rows []CaseRow, stored map[int64]bool) []CaseRow {
	if len(stored) == 0 {
		return rows
	}
	left := rows[:0]
	for _, r := range rows {
		if !stored[r.Seq] {
			left = append(left, r)
		}
	}
	return left
}

// CheckPoints says which point cannot be stored, before any is.
func CheckPoints(run assay.RunID, points []Point) error {
	for _, p := range points {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			return assay.Errorf(assay.CodeInvalid, "store metric %.80q of run %s: %v is no number that can be drawn", p.Name, run, p.Value).
				WithHint("report finite numbers, and leave out what is not known")
		}
	}
	return nil
}
