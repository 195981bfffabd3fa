package sqlite

import (
	"context"
	"encoding/json"
	"math"

	"assay/internal/assay"
	"assay/internal/store"
)

type verdicts struct{ s *Store }

// Items i adopted what items o, of the same run or an earlier one, were answered.
const verdictSelect = `SELECT ` + answerColumns + `,
	o.run_id, o.seq, i.repeat, s.user_id, coalesce(s.session_id, e.case_key), c.hash, coalesce(s.content_id = i.content_id, e.seq IS NOT NULL), j.name, k.hash, i.origin_run <> i.run_id,
	coalesce(t.day, ''), coalesce(t.arm, ''), o.ended_at, i.seq,
	coalesce(e.model, (SELECT a.model FROM attempts a WHERE a.run_id = o.run_id AND a.seq = o.seq AND a.status = 'done' AND a.class = '' AND NOT a.late ORDER BY a.n DESC LIMIT 1))
	FROM items i
	CROSS JOIN items o ON o.run_id = i.origin_run AND o.seq = i.origin_seq
	CROSS JOIN verdicts v ON v.run_id = o.run_id AND v.seq = o.seq
	LEFT JOIN sessions s ON s.id = i.session_key
	LEFT JOIN contents c ON c.id = i.content_id
	LEFT JOIN ` + casesOf + `
	CROSS JOIN run_judges j ON j.run_id = i.run_id AND j.judge = i.judge
	CROSS JOIN version_keys k ON k.id = i.version_key
	LEFT JOIN strata t ON t.run_id = i.run_id AND t.stratum = i.stratum
	WHERE i.state = 'graded'`

// casesOf joins the case of an item that is one; it is about no session.
const casesOf = "cases e ON i.session_key = 0 AND e.run_id = i.run_id AND e.seq = i.seq"

const answerColumns = "v.unit, v.criterion, v.unit_no, v.unit_pass, v.value, v.applies, v.abstained, v.reason, v.evidence"

// verdictKey is where a verdict stands in a list.
type verdictKey struct {
	Graded, Run, Seq int64 // Graded and Run only in a session's list
	Unit             int64
}

func (v verdicts) List(ctx context.Context, q store.VerdictQuery, p store.Page) (list []assay.Verdict, next string, err error) {
	after := verdictKey{Unit: -1}
	started, err := p.After(&after)
	if err != nil {
		return nil, "", err
	}
	var where clause
	order := " ORDER BY i.seq, v.unit_no, v.no"
	if q.Run != 0 {
		where.and("i.run_id = ?", q.Run)
		where.and("(i.seq, v.unit_no) > (?, ?)", after.Seq, after.Unit)
		where.and("i.seq >= ?", after.Seq) // what the index can use
		if q.Judge > 0 {
			where.and("i.judge = ?", q.Judge-1)
		}
	} else {
		if !started {
			after.Graded = math.MaxInt64
		}
		where.and("i.content_id IN (SELECT id FROM contents WHERE session_key = ?)", q.Session)
		where.and("i.origin_run = i.run_id AND i.origin_seq = i.seq")
		where.and("((i.ended_at, i.run_id, i.seq) < (?, ?, ?) OR ((i.ended_at, i.run_id, i.seq) = (?, ?, ?) AND v.unit_no > ?))",
			after.Graded, after.Run, after.Seq, after.Graded, after.Run, after.Seq, after.Unit)
		order = " ORDER BY i.ended_at DESC, i.run_id DESC, i.seq DESC, v.unit_no, v.no"
	}
	limit := p.Rows()
	g := grouper{limit: limit}
	err = v.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, g.add, verdictSelect+where.sql.String()+order, where.args...)
	})
	if err == errStop {
		err = nil
	}
	if g.more {
		next = store.Cursor(g.keys[len(g.keys)-1])
	}
	return g.list, next, err
}

// grouper makes verdicts of rows, each of which is one finding.
type grouper struct {
	limit int
	size  int // bytes
	list  []assay.Verdict
	keys  []verdictKey
	more  bool // than a page holds
}

func (g *grouper) add(r row) error {
	key := verdictKey{Graded: r.int(21), Run: r.int(9), Seq: r.int(22), Unit: r.int(2)}
	if n := len(g.keys); n == 0 || g.keys[n-1] != key {
		if n == g.limit || g.size > store.PageBytes {
			g.more = true
			return errStop
		}
		g.keys = append(g.keys, key)
		g.list = append(g.list, scanVerdict(r))
	}
	g.size += len(r.text(1)) + len(r.text(4)) + len(r.text(7)) + len(r.text(8))
	return addFinding(&g.list[len(g.list)-1].Answer, r, r.int(9), r.int(10))
}

// addFinding adds a row that begins with answerColumns to its answer.
func addFinding(a *assay.Answer, r row, run, seq int64) error {
	if r.text(1) == "" {
		if r.bool(5) {
			a.Findings = []assay.Finding{}
		}
		return nil
	}
	f := assay.Finding{Criterion: r.text(1), Value: r.json(4), Applies: r.bool(5), Abstained: r.bool(6), Reason: r.text(7)}
	if r[8] != nil {
		if err := json.Unmarshal(r.json(8), &f.Evidence); err != nil {
			return assay.Errorf(assay.CodeInternal, "read the evidence of item %d of run r%d: %w", seq, run, err)
		}
	}
	a.Findings = append(a.Findings, f)
	return nil
}

func scanVerdict(r row) assay.Verdict {
	return assay.Verdict{
		Answer: assay.Answer{Unit: r.text(0), Pass: r.boolPtr(3)},
		Run:    assay.RunID(r.int(9)), Seq: r.int(10), Repeat: int(r.int(11)), UserID: r.text(12), SessionID: r.text(13),
		Content: assay.Hash(r.text(14)), Current: r.bool(15), Judge: r.text(16), Version: assay.Hash(r.text(17)), Reused: r.bool(18),
		Stratum: assay.Stratum{Day: r.text(19), Arm: r.text(20)}, GradedAt: r.int(21), Model: r.text(23),
	}
}
