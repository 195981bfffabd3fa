package postgres

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/assay"
	"assay/internal/store"
)

const resetCases = 2000 // items a transaction

// ResetCases removes cases with their items and verdicts in the order of their numbers, so that what is
// left after each transaction is whole.
func (h harnesses) ResetCases(ctx context.Context, f store.Fence) error {
	for more := true; more; {
		if err := h.fenced(ctx, f, toWrite, func(ctx context.Context, t tx, _ assay.RunControl) error {
			var last int64
			if _, err := t.first(ctx, `SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM items WHERE run_id = $1 AND session_key = 0
				ORDER BY seq LIMIT $2) first`, []any{f.Run, resetCases}, &last); err != nil {
				return err
			}
			if more = last > 0; !more {
				return nil
			}
			for _, query := range [...]string{
				"DELETE FROM verdicts WHERE run_id = $1 AND seq <= $2",
				"DELETE FROM cases WHERE run_id = $1 AND seq <= $2",
			} {
				if _, err := t.exec(ctx, query, f.Run, last); err != nil {
					return err
				}
			}
			n, err := t.exec(ctx, "DELETE FROM items WHERE run_id = $1 AND seq <= $2", f.Run, last)
			if err != nil {
				return err
			}
			_, err = t.exec(ctx, "UPDATE runs SET planned = planned - $2, revision = revision + 1 WHERE id = $1", f.Run, n)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (h harnesses) PutCases(ctx context.Context, f store.Fence, cases []assay.Case, now time.Time) error {
	if err := store.CheckCases(cases); err != nil {
		return err
	}
	for first := true; first || len(cases) > 0; first = false { // of no cases the fence is asked all the same
		rows, rest, err := store.CaseBatch(cases)
		if err != nil {
			return err
		}
		if err := h.fenced(ctx, f, toWrite, func(ctx context.Context, t tx, _ assay.RunControl) error {
			return putCases(ctx, t, f.Run, rows, now)
		}); err != nil {
			return err
		}
		cases = rest
	}
	return nil
}

const (
	putCaseItems = `INSERT INTO items (run_id, seq, content_id, session_key, version_key, judge, repeat, stratum, state, class, pass,
	origin_run, origin_seq, ended_at, error)
	SELECT $1, u.seq, -u.seq, 0, j.version_key, 0, u.repeat, 0, u.state, u.class, u.pass, CASE WHEN u.state = 'graded' THEN $1::bigint END,
	CASE WHEN u.state = 'graded' THEN u.seq END, $2::bigint, u.error
	FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bool[], $8::text[]) u (seq, repeat, state, class, pass, error)
	JOIN run_judges j ON j.run_id = $1 AND j.judge = 0`
	putCaseRows = `INSERT INTO cases (run_id, seq, case_key, repeat, model, detail)
	SELECT $1, u.* FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::bytea[]) u`
	putCaseFindings = `INSERT INTO verdicts (run_id, seq, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason, evidence)
	SELECT $1, v.seq, v.unit, v.criterion, v.unit_no, v.no, v.unit_pass, v.value, v.applies, v.abstained, v.reason, v.evidence
	FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bool[], $9::text[], $10::bool[],
	$11::bool[], $12::text[], $13::text[]) v (seq, n, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason, evidence)`
	countCases = `UPDATE runs SET planned = planned + $3, heartbeat_at = $2, revision = revision + 1, progress_at = CASE WHEN $3 > 0 THEN $2 ELSE progress_at END,
	stalls = CASE WHEN $3 > 0 THEN 0 ELSE stalls END WHERE id = $1`
)

// putCases stores what is not there yet. It may run again with the same rows.
func putCases(ctx context.Context, t tx, run assay.RunID, given []store.CaseRow, now time.Time) error {
	rows, err := newCases(ctx, t.conn, run, given)
	if err != nil {
		return err
	}
	q := &pgx.Batch{}
	if len(rows) > 0 {
		seqs := columnOf(rows, func(r *store.CaseRow) int64 { return r.Seq })
		repeats := columnOf(rows, func(r *store.CaseRow) int64 { return int64(r.Repeat) })
		texts := func(f func(*store.CaseRow) string) []string {
			return columnOf(rows, func(r *store.CaseRow) string { return clean(f(r)) })
		}
		added, err := t.exec(ctx, putCaseItems, run, now, seqs, repeats,
			texts(func(r *store.CaseRow) string { return string(r.State) }),
			texts(func(r *store.CaseRow) string { return string(r.Class) }),
			columnOf(rows, (*store.CaseRow).Pass),
			texts(func(r *store.CaseRow) string { return r.Error }))
		if err == nil && added != int64(len(rows)) {
			err = noFacts(run)
		}
		if err != nil {
			return err
		}
		q.Queue(putCaseRows, int64(run), seqs, texts(func(r *store.CaseRow) string { return r.Key }), repeats,
			texts(func(r *store.CaseRow) string { return r.Model }), columnOf(rows, func(r *store.CaseRow) []byte { return r.Detail }))
		if f := findingsOfCases(rows); len(f.seq) > 0 {
			q.Queue(putCaseFindings, append([]any{int64(run)}, f.arrays()...)...)
		}
	}
	q.Queue(countCases, int64(run), now.UnixMicro(), int64(len(rows)))
	return t.finish(ctx, q)
}

func findingsOfCases(rows []store.CaseRow) *findings {
	f := new(findings)
	for i := range rows {
		if r := &rows[i]; r.Answer != nil {
			f.addAnswer(r.Seq, nil, r.Answer, 0)
		}
	}
	return f
}

// newCases are those of rows that are not stored yet, with repeats that no other case of the run has.
func newCases(ctx context.Context, c conn, run assay.RunID, given []store.CaseRow) ([]store.CaseRow, error) {
	list, err := collect(ctx, c, func(seq *int64) []any { return []any{seq} }, "SELECT seq FROM items WHERE run_id = $1 AND seq = ANY($2)",
		run, columnOf(given, func(r *store.CaseRow) int64 { return r.Seq }))
	if err != nil {
		return nil, err
	}
	there := make(map[int64]bool, len(list))
	for _, seq := range list {
		there[seq] = true
	}
	rows := store.Without(append([]store.CaseRow(nil), given...), there)
	taken, err := collect(ctx, c, func(n *store.TakenName) []any { return []any{&n.Taken, intTo(&n.Highest)} },
		`SELECT EXISTS (SELECT 1 FROM cases c WHERE c.run_id = $1 AND c.case_key = w.key AND c.repeat = w.repeat),
		(SELECT coalesce(max(c.repeat), -1) FROM cases c WHERE c.run_id = $1 AND c.case_key = w.key)
		FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY w (key, repeat, place) ORDER BY w.place`,
		run, columnOf(rows, func(r *store.CaseRow) string { return r.Key }), columnOf(rows, func(r *store.CaseRow) int64 { return int64(r.Repeat) }))
	if err != nil {
		return nil, err
	}
	store.NumberRepeats(rows, taken)
	return rows, nil
}

func caseInto(r *store.CaseRow) []any {
	return []any{&r.Seq, &r.Key, intTo(&r.Repeat), textTo(&r.State), textTo(&r.Class), &r.Error, &r.Model, &r.Detail}
}

func (h harnesses) Cases(ctx context.Context, run assay.RunID, q store.CaseQuery, p store.Page) (list []assay.Case, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	w := where("i.run_id = ?", run)
	if q.State != "" {
		w.and("i.state = ?", q.State)
	}
	if q.Class != "" {
		w.and("i.class = ?", q.Class)
	}
	if q.Pass != nil {
		w.and("i.pass = ?", *q.Pass)
	}
	var page *store.CasePage
	err = h.snapshot(ctx, func(c conn) error {
		page = store.NewCasePage(run, q, p, after)
		if err := readCases(ctx, c, page, w); err != nil {
			return err
		}
		sizes := map[int64]int{}
		if seqs := page.Graded(); len(seqs) > 0 && !q.Heads {
			var seq, size int64
			if err := c.each(ctx, func() error { sizes[seq] = int(size); return nil }, findingBytes, []any{run, seqs}, &seq, &size); err != nil {
				return err
			}
		}
		next = page.Cut(sizes)
		columns, most := answerColumns, math.MaxInt32
		if q.Heads {
			columns, most = findingHeads, store.HeadFindings
		}
		return addVerdicts(ctx, c, run, page, columns, most)
	})
	if err != nil {
		return nil, "", err
	}
	return page.Cases, next, nil
}

// readCases fills a page, a few rows at a time.
func readCases(ctx context.Context, c conn, page *store.CasePage, w *clause) error {
	for after, step := page.Step(); step > 0; after, step = page.Step() {
		rows := 0
		var r store.CaseRow
		if err := c.each(ctx, func() error {
			rows++
			err := page.Add(r)
			r.Detail = nil
			return err
		}, "SELECT i.seq, e.case_key, i.repeat::bigint, i.state, i.class, i.error, e.model, e.detail FROM items i JOIN "+
			casesOf+w.sql.String()+" AND i.seq > "+w.next()+" ORDER BY i.seq LIMIT "+strconv.Itoa(step), w.values(after), caseInto(&r)...); err != nil {
			return err
		}
		page.Read(rows, step)
	}
	return nil
}

// findingBytes is how much the findings of some cases say.
const findingBytes = `SELECT v.seq, sum(octet_length(v.criterion) + octet_length(v.reason) + coalesce(octet_length(v.value), 0) + coalesce(octet_length(v.evidence), 0))::bigint
	FROM verdicts v WHERE v.run_id = $1 AND v.seq = ANY($2) AND v.unit = '' GROUP BY v.seq`

// findingHeads are answerColumns as lists show them.
var findingHeads = fmt.Sprintf(`v.unit, substr(v.criterion, 1, %[1]d), v.unit_no::bigint, v.unit_pass, CASE WHEN octet_length(v.value) <= %[2]d THEN v.value END,
	v.applies, v.abstained, substr(v.reason, 1, %[1]d), NULL::text`, store.HeadText, store.HeadValue)

// addVerdicts gives graded cases what their verdicts say, at most so many findings each.
func addVerdicts(ctx context.Context, c conn, run assay.RunID, page *store.CasePage, columns string, most int) error {
	seqs, graded := page.Graded(), map[int64]*assay.Case{}
	for i := range page.Cases {
		graded[page.Cases[i].Seq] = &page.Cases[i]
	}
	if len(seqs) == 0 {
		return nil
	}
	var r finding
	return c.each(ctx, func() error {
		one := graded[r.Seq]
		one.Pass = r.Pass
		answer := assay.Answer{Findings: one.Findings}
		err := r.addTo(&answer)
		one.Findings = answer.Findings
		return err
	}, "SELECT "+columns+", v.seq FROM verdicts v WHERE v.run_id = $1 AND v.seq = ANY($2) AND v.unit = '' AND v.no < $3 ORDER BY v.seq, v.unit_no, v.no",
		[]any{run, seqs, most}, append(r.answerInto(), &r.Seq)...)
}
