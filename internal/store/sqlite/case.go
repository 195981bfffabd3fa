package sqlite

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

const resetCases = 2000 // items a transaction

// ResetCases removes cases with their items and verdicts in the order of their numbers, so that what is
// left after each transaction is whole.
func (h harnesses) ResetCases(ctx context.Context, f store.Fence) error {
	for more := true; more; {
		if err := h.s.fenced(ctx, forCommit, f, func(t tx) error {
			var last int64
			if _, err := t.first(ctx, func(r row) error { last = r.int(0); return nil },
				"SELECT max(seq) FROM (SELECT seq FROM items WHERE run_id = ? AND session_key = 0 ORDER BY seq LIMIT ?)", f.Run, resetCases); err != nil {
				return err
			}
			if more = last > 0; !more {
				return nil
			}
			for _, query := range [...]string{
				"DELETE FROM verdicts WHERE run_id = ? AND seq <= ?",
				"DELETE FROM cases WHERE run_id = ? AND seq <= ?",
			} {
				if _, err := t.exec(query, f.Run, last); err != nil {
					return err
				}
			}
			n, err := t.exec("DELETE FROM items WHERE run_id = ? AND seq <= ?", f.Run, last)
			if err != nil {
				return err
			}
			_, err = t.exec("UPDATE runs SET planned = planned - ?, revision = revision + 1 WHERE id = ?", n, f.Run)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

var (
	insertCaseItems = newMulti(`INSERT INTO items (run_id, seq, content_id, session_key, version_key, judge, repeat, stratum, state, class, pass,
		origin_run, origin_seq, ended_at, error) VALUES `, "?1, ?, ?, 0, ?, 0, ?, 0, ?, ifnull(?, ''), ?, ?, ?, ?, ifnull(?, '')", "")
	insertCases = newMulti("INSERT INTO cases (run_id, seq, case_key, repeat, model, detail) VALUES ", "?1, ?, ?, ?, ifnull(?, ''), ?", "")
)

func (h harnesses) PutCases(ctx context.Context, f store.Fence, cases []assay.Case, now time.Time) error {
	if err := store.CheckCases(cases); err != nil {
		return err
	}
	for first := true; first || len(cases) > 0; first = false { // of no cases the fence is asked all the same
		rows, rest, err := store.CaseBatch(cases)
		if err != nil {
			return err
		}
		if err := h.s.write.do(ctx, forCommit, func(t tx) error {
			if _, err := beat(ctx, t, f, now); err != nil {
				return err
			}
			return putCases(ctx, t, f.Run, rows, now)
		}); err != nil {
			return err
		}
		cases = rest
	}
	return nil
}

func putCases(ctx context.Context, t tx, run assay.RunID, rows []store.CaseRow, now time.Time) error {
	rows, err := newCases(ctx, t, run, rows)
	if err != nil || len(rows) == 0 {
		return err
	}
	var version int64
	found, err := t.first(ctx, func(r row) error { version = r.int(0); return nil }, "SELECT version_key FROM run_judges WHERE run_id = ? AND judge = 0", run)
	if err == nil && !found {
		err = noFacts(run)
	}
	if err != nil {
		return err
	}
	w := batchWriter{t: t, ctx: ctx, run: int64(run), findings: insertVerdicts.on(t, int64(run))}
	items, cases := insertCaseItems.on(t, int64(run)), insertCases.on(t, int64(run))
	for i := range rows {
		r := &rows[i]
		var originRun, originSeq any
		if r.Answer != nil {
			originRun, originSeq = int64(run), r.Seq
			if err := w.answer(r.Seq, 0, r.Answer); err != nil {
				return err
			}
		}
		if err := items.add(r.Seq, -r.Seq, version, r.Repeat, string(r.State), orNull(string(r.Class)), r.Pass(), originRun, originSeq, now, orNull(r.Error)); err != nil {
			return err
		}
		if err := cases.add(r.Seq, r.Key, r.Repeat, orNull(r.Model), r.Detail); err != nil {
			return err
		}
	}
	for _, w := range [...]*rowWriter{items, cases, w.findings} {
		if err := w.flush(); err != nil {
			return err
		}
	}
	_, err = t.exec("UPDATE runs SET planned = planned + ?, progress_at = ?, stalls = 0 WHERE id = ?", len(rows), now, run)
	return err
}

// newCases are those of rows that are not stored yet, with repeats that no other case of the run has.
func newCases(ctx context.Context, t tx, run assay.RunID, rows []store.CaseRow) ([]store.CaseRow, error) {
	seqs, names := make([]int64, len(rows)), make([][2]any, len(rows))
	for i := range rows {
		seqs[i] = rows[i].Seq
	}
	there := map[int64]bool{}
	if err := t.query(ctx, func(r row) error { there[r.int(0)] = true; return nil },
		"SELECT i.seq FROM json_each(?) w CROSS JOIN items i ON i.run_id = ? AND i.seq = w.value", toJSON(seqs), run); err != nil {
		return nil, err
	}
	rows = store.Without(rows, there)
	for i := range rows {
		names[i] = [2]any{rows[i].Key, rows[i].Repeat}
	}
	var taken []store.TakenName
	if err := t.query(ctx, func(r row) error {
		taken = append(taken, store.TakenName{Taken: r.bool(0), Highest: int(r.int(1))})
		return nil
	}, `SELECT EXISTS (SELECT 1 FROM cases c WHERE c.run_id = ?1 AND c.case_key = w.value ->> 0 AND c.repeat = w.value ->> 1),
		(SELECT coalesce(max(c.repeat), -1) FROM cases c WHERE c.run_id = ?1 AND c.case_key = w.value ->> 0)
		FROM json_each(?2) w ORDER BY w.key`, run, toJSON(names[:len(rows)])); err != nil {
		return nil, err
	}
	store.NumberRepeats(rows, taken)
	return rows, nil
}

func (h harnesses) Cases(ctx context.Context, run assay.RunID, q store.CaseQuery, p store.Page) (list []assay.Case, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	var where clause
	where.sql.WriteString("i.run_id = ? AND i.seq > ?")
	where.args = append(where.args, run, after)
	if q.State != "" {
		where.and("i.state = ?", q.State)
	}
	if q.Class != "" {
		where.and("i.class = ?", q.Class)
	}
	if q.Pass != nil {
		where.and("i.pass = ?", *q.Pass)
	}
	var page *store.CasePage
	err = h.s.read.view(ctx, func(c *conn) error {
		page = store.NewCasePage(run, q, p, after)
		for after, step := page.Step(); step > 0; after, step = page.Step() {
			where.args[1] = after
			rows := 0
			if err := c.query(ctx, func(r row) error {
				rows++
				return page.Add(store.CaseRow{Seq: r.int(0), Key: r.text(1), Repeat: int(r.int(2)), State: assay.ItemState(r.text(3)), Class: assay.Class(r.text(4)),
					Error: r.text(5), Model: r.text(6), Detail: r.blob(7)})
			}, "SELECT i.seq, e.case_key, i.repeat, i.state, i.class, i.error, e.model, e.detail FROM items i CROSS JOIN "+casesOf+" WHERE "+
				where.sql.String()+" ORDER BY i.seq LIMIT "+strconv.Itoa(step), where.args...); err != nil {
				return err
			}
			page.Read(rows, step)
		}
		sizes := map[int64]int{}
		if seqs := page.Graded(); len(seqs) > 0 && !q.Heads {
			if err := c.query(ctx, func(r row) error { sizes[r.int(0)] = int(r.int(1)); return nil }, findingBytes, toJSON(seqs), run); err != nil {
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

// findingBytes is how much the findings of some cases say.
const findingBytes = `SELECT w.value, sum(octet_length(v.criterion) + octet_length(v.reason) + coalesce(octet_length(v.value), 0) + coalesce(octet_length(v.evidence), 0))
	FROM json_each(?) w CROSS JOIN verdicts v ON v.run_id = ? AND v.seq = w.value AND v.unit = '' GROUP BY w.value`

// findingHeads are answerColumns as lists show them.
var findingHeads = fmt.Sprintf(`v.unit, substr(v.criterion, 1, %[1]d), v.unit_no, v.unit_pass, CASE WHEN octet_length(v.value) <= %[2]d THEN v.value END,
	v.applies, v.abstained, substr(v.reason, 1, %[1]d), NULL`, store.HeadText, store.HeadValue)

// addVerdicts gives graded cases what their verdicts say, at most so many findings each.
func addVerdicts(ctx context.Context, c *conn, run assay.RunID, page *store.CasePage, columns string, most int) error {
	seqs, graded := page.Graded(), map[int64]*assay.Case{}
	for i := range page.Cases {
		graded[page.Cases[i].Seq] = &page.Cases[i]
	}
	if len(seqs) == 0 {
		return nil
	}
	return c.query(ctx, func(r row) error {
		one := graded[r.int(9)]
		answer := assay.Answer{Findings: one.Findings}
		err := addFinding(&answer, r, int64(run), one.Seq)
		one.Pass, one.Findings = r.boolPtr(3), answer.Findings
		return err
	}, "SELECT "+columns+`, v.seq FROM json_each(?) w CROSS JOIN verdicts v ON v.run_id = ? AND v.seq = w.value AND v.unit = '' AND v.no < ?
		ORDER BY w.key, v.unit_no, v.no`, toJSON(seqs), run, most)
}
