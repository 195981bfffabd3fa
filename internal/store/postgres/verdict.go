package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"assay/internal/assay"
	"assay/internal/store"
)

type verdicts struct{ *Store }

// Items i adopted what items o, of the same run or an earlier one, were answered.
const (
	answerColumns  = "v.unit, v.criterion, v.unit_no::bigint, v.unit_pass, v.value, v.applies, v.abstained, v.reason, v.evidence"
	verdictColumns = "SELECT " + answerColumns + `,
	o.run_id, o.seq, i.repeat, coalesce(s.user_id, ''), coalesce(s.session_id, e.case_key, ''), coalesce(c.hash, ''),
	coalesce(s.content_id = i.content_id, e.seq IS NOT NULL), j.name, k.hash, i.origin_run <> i.run_id,
	coalesce(t.day, ''), coalesce(t.arm, ''), o.ended_at, i.seq, coalesce(e.model, (SELECT a.model FROM attempts a WHERE a.run_id = o.run_id AND a.seq = o.seq
		AND a.status = 'done' AND a.class = '' AND NOT a.late ORDER BY a.n DESC LIMIT 1), '')`
	verdictTables = ` i JOIN items o ON o.run_id = i.origin_run AND o.seq = i.origin_seq
	JOIN verdicts v ON v.run_id = o.run_id AND v.seq = o.seq
	JOIN run_judges j ON j.run_id = i.run_id AND j.judge = i.judge
	JOIN version_keys k ON k.id = i.version_key
	LEFT JOIN sessions s ON s.id = i.session_key
	LEFT JOIN contents c ON c.id = i.content_id
	LEFT JOIN ` + casesOf + `
	LEFT JOIN strata t ON t.run_id = i.run_id AND t.stratum = i.stratum`
	// casesOf joins the case of an item that is one; it is about no session.
	casesOf  = "cases e ON i.session_key = 0 AND e.run_id = i.run_id AND e.seq = i.seq"
	answered = "i.state = 'graded' AND EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = i.origin_run AND v.seq = i.origin_seq)"
)

// verdictKey is where a verdict stands in a list.
type verdictKey struct {
	Graded, Run, Seq int64 // Graded and Run only in a session's list
	Unit             int64
}

// List takes a page of items, each of which has at least one verdict, and reads the verdicts of those.
func (v verdicts) List(ctx context.Context, q store.VerdictQuery, p store.Page) (list []assay.Verdict, next string, err error) {
	after := verdictKey{Graded: math.MaxInt64, Run: math.MaxInt64, Seq: math.MaxInt64, Unit: -1}
	if q.Run != 0 {
		after = verdictKey{Unit: -1}
	}
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	w := where(answered)
	var order, rest string
	if q.Run != 0 {
		w.and("i.run_id = ?", q.Run)
		w.and("i.seq >= ?", after.Seq)
		if q.Judge > 0 {
			w.and("i.judge = ?", q.Judge-1)
		}
		order = "i.seq"
	} else {
		w.and("i.content_id = ANY(ARRAY(SELECT id FROM contents WHERE session_key = ?))", q.Session)
		w.and("i.origin_run = i.run_id AND i.origin_seq = i.seq")
		w.and("(i.ended_at, i.run_id, i.seq) <= (?, ?, ?)", after.Graded, after.Run, after.Seq)
		order = "i.ended_at DESC, i.run_id DESC, i.seq DESC"
	}
	limit := p.Rows()
	items := "(SELECT i.* FROM items i" + w.sql.String() + " ORDER BY " + order + " LIMIT " + w.next() + ")"
	args := w.values(limit + 2) // the item of the cursor may be used up
	rest = verdictColumns + " FROM " + items + verdictTables + " WHERE NOT (i.seq = $" + strconv.Itoa(len(args)+1) +
		" AND ($" + strconv.Itoa(len(args)+2) + " OR i.run_id = $" + strconv.Itoa(len(args)+3) + ") AND v.unit_no <= $" + strconv.Itoa(len(args)+4) + ") ORDER BY " +
		order + ", v.unit_no, v.no"
	args = append(args, after.Seq, q.Run != 0, after.Run, after.Unit)
	var g grouper
	err = v.read(ctx, func(ctx context.Context, c conn) error {
		g = grouper{limit: limit}
		err := c.each(ctx, g.add, rest, append([]any{}, args...), g.row.into()...)
		if g.more {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if g.more {
		next = store.Cursor(g.keys[len(g.keys)-1])
	}
	return g.list, next, nil
}

// finding is one row: a finding with the verdict that it belongs to.
type finding struct {
	assay.Verdict
	f        assay.Finding
	key      verdictKey
	evidence json.RawMessage
}

func (r *finding) answerInto() []any {
	return []any{&r.Unit, &r.f.Criterion, &r.key.Unit, &r.Pass, asRaw{&r.f.Value}, &r.f.Applies, &r.f.Abstained, &r.f.Reason, asRaw{&r.evidence}}
}

func (r *finding) into() []any {
	v := &r.Verdict
	return append(r.answerInto(), intTo(&v.Run), &v.Seq, intTo(&v.Repeat), &v.UserID, &v.SessionID, textTo(&v.Content), &v.Current, &v.Judge, textTo(&v.Version), &v.Reused,
		&v.Stratum.Day, &v.Stratum.Arm, &v.GradedAt, &r.key.Seq, &v.Model)
}

// grouper makes verdicts of rows.
type grouper struct {
	row   finding
	limit int
	size  int // bytes
	list  []assay.Verdict
	keys  []verdictKey
	more  bool // than a page holds
}

// errFull ends a query whose page is full.
var errFull = errors.New("the page is full")

func (g *grouper) add() error {
	r := &g.row
	r.key.Graded, r.key.Run = r.GradedAt, int64(r.Run)
	if n := len(g.keys); n == 0 || g.keys[n-1] != r.key {
		if g.more = n == g.limit || g.size > store.PageBytes; g.more {
			return errFull
		}
		g.keys = append(g.keys, r.key)
		g.list = append(g.list, r.Verdict)
	}
	g.size += len(r.f.Criterion) + len(r.f.Value) + len(r.f.Reason) + len(r.evidence)
	return r.addTo(&g.list[len(g.list)-1].Answer)
}

// addTo adds the row's finding to the answer that it belongs to.
func (r *finding) addTo(a *assay.Answer) error {
	if r.f.Criterion == "" {
		if r.f.Applies {
			a.Findings = []assay.Finding{}
		}
	} else {
		f := r.f
		f.Evidence = nil
		if r.evidence != nil {
			if err := json.Unmarshal(r.evidence, &f.Evidence); err != nil {
				return assay.Errorf(assay.CodeInternal, "read the evidence of item %d of run %s: %w", r.Seq, r.Run, err)
			}
		}
		a.Findings = append(a.Findings, f)
	}
	r.Pass = nil // the next row must not write into what this one keeps
	return nil
}
