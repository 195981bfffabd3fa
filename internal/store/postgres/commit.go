package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/assay"
	"assay/internal/store"
)

// Commit sends its batch as arrays, all statements and the COMMIT in one round trip.
func (i items) Commit(ctx context.Context, f store.Fence, b store.Batch) (control assay.RunControl, err error) {
	done := columnOf(b.Done, func(o *store.Outcome) *assay.Attempt { return &o.Attempt })
	changes, findings := changesOf(b), findingsOf(b)
	seen, err := seenOf(b)
	if err != nil {
		return assay.RunControl{}, err
	}
	err = i.fenced(ctx, f, toWrite, func(ctx context.Context, t tx, c assay.RunControl) error {
		control = c
		control.Revision++
		q := &pgx.Batch{}
		if len(findings.seq) > 0 {
			q.Queue(putFindings, append([]any{int64(f.Run)}, findings.arrays()...)...)
		}
		if len(changes.seq) > 0 {
			q.Queue(moveItems, append([]any{int64(f.Run), b.Now.UnixMicro()}, changes.arrays()...)...)
		} else {
			q.Queue(beatSQL, int64(f.Run), b.Now.UnixMicro())
		}
		if len(done) > 0 {
			q.Queue(closeAttempts, closedArrays(f.Run, false, done)...)
		}
		if len(b.Open) > 0 {
			q.Queue(openAttempts, openedArrays(f, b.Open)...)
		}
		if len(seen.hash) > 0 {
			q.Queue(putSeen, int64(f.Run), seen.hash, seen.text)
		}
		err := t.finish(ctx, q)
		if isNull(err, "epoch") {
			err = because(err, assay.CodeInternal, "open attempts of run "+f.Run.String()+": a number is taken by an attempt of another epoch",
				"this is a fault of the program; stop and report it")
		}
		return err
	})
	if err != nil {
		return assay.RunControl{}, err
	}
	return control, nil
}

func (i items) Late(ctx context.Context, attempts []assay.Attempt) error {
	of := map[assay.RunID][]*assay.Attempt{}
	for n := range attempts {
		of[attempts[n].Run] = append(of[attempts[n].Run], &attempts[n])
	}
	for _, run := range slices.Sorted(maps.Keys(of)) {
		args := closedArrays(run, true, of[run])
		if err := i.write(ctx, func(ctx context.Context, t tx) error {
			if _, err := t.Exec(ctx, closeAttempts, args...); err != nil {
				return err
			}
			return forgetExtracts(ctx, t, run)
		}); err != nil {
			return err
		}
	}
	return nil
}

const (
	attemptColumns = `run_id, seq, n, epoch, status, class, alone, late, opened_at, wait, call_at, ended_at, http_status, retry_after,
	usage_known, input, cached, cache_write, output, reasoning, reserved, cost, model, fingerprint, request_id, seen, error, raw`

	// openAttempts opens. One that is opened again at its epoch stays as it is, so that a batch may be sent
	// twice. A number that another epoch used is no number to open: the NULL makes the batch fail.
	openAttempts = `INSERT INTO attempts AS a (run_id, epoch, status, seq, n, class, alone, opened_at, wait, reserved, seen)
	SELECT $1, $2, 'open', u.* FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bool[], $7::bigint[], $8::bigint[], $9::bigint[],
	$10::text[]) u
	ON CONFLICT (run_id, seq, n) DO UPDATE SET epoch = NULL WHERE a.epoch <> excluded.epoch`

	// closeAttempts closes attempts that are open, or that a takeover took for dead, and adds those that
	// were never opened. One that is done stays as it is.
	closeAttempts = `INSERT INTO attempts AS a (run_id, late, status, seq, n, epoch, class, alone, opened_at, wait, call_at, ended_at, http_status,
	retry_after, usage_known, input, cached, cache_write, output, reasoning, reserved, cost, model, fingerprint, request_id, seen, error, raw)
	SELECT $1, $2, 'done', u.* FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bool[], $8::bigint[], $9::bigint[],
	$10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bool[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[],
	$19::bigint[], $20::bigint[], $21::bigint[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[]) u
	ON CONFLICT (run_id, seq, n) DO UPDATE SET status = excluded.status, class = excluded.class, late = excluded.late, call_at = excluded.call_at,
	ended_at = excluded.ended_at, http_status = excluded.http_status, retry_after = excluded.retry_after, usage_known = excluded.usage_known,
	input = excluded.input, cached = excluded.cached, cache_write = excluded.cache_write, output = excluded.output, reasoning = excluded.reasoning,
	cost = excluded.cost, model = excluded.model, fingerprint = excluded.fingerprint, request_id = excluded.request_id, seen = excluded.seen,
	error = excluded.error, raw = excluded.raw
	WHERE a.status <> 'done'`
)

func openedArrays(f store.Fence, list []assay.Attempt) []any {
	return []any{
		int64(f.Run), f.Epoch,
		columnOf(list, func(a *assay.Attempt) int64 { return a.Seq }),
		columnOf(list, func(a *assay.Attempt) int64 { return int64(a.N) }),
		columnOf(list, func(a *assay.Attempt) string { return string(a.Class) }),
		columnOf(list, func(a *assay.Attempt) bool { return a.Alone }),
		columnOf(list, func(a *assay.Attempt) int64 { return a.OpenedAt.UnixMicro() }),
		columnOf(list, func(a *assay.Attempt) int64 { return int64(a.Wait) }),
		columnOf(list, func(a *assay.Attempt) *int64 { return (*int64)(a.Reserved) }),
		columnOf(list, func(a *assay.Attempt) string { return string(a.Seen) }),
	}
}

func closedArrays(run assay.RunID, late bool, list []*assay.Attempt) []any {
	ints := func(f func(*assay.Attempt) int64) []int64 { return column(list, len(list), f) }
	known := func(f func(*assay.Attempt) *int64) []*int64 { return column(list, len(list), f) }
	bools := func(f func(*assay.Attempt) bool) []bool { return column(list, len(list), f) }
	texts := func(f func(*assay.Attempt) string) []string {
		return column(list, len(list), func(a *assay.Attempt) string { return clean(f(a)) })
	}
	return []any{
		int64(run), late,
		ints(func(a *assay.Attempt) int64 { return a.Seq }),
		ints(func(a *assay.Attempt) int64 { return int64(a.N) }),
		ints(func(a *assay.Attempt) int64 { return a.Epoch }),
		texts(func(a *assay.Attempt) string { return string(a.Class) }),
		bools(func(a *assay.Attempt) bool { return a.Alone }),
		ints(func(a *assay.Attempt) int64 { return a.OpenedAt.UnixMicro() }),
		ints(func(a *assay.Attempt) int64 { return int64(a.Wait) }),
		known(func(a *assay.Attempt) *int64 { return microsOf(a.CallAt) }),
		known(func(a *assay.Attempt) *int64 { return microsOf(a.EndedAt) }),
		ints(func(a *assay.Attempt) int64 { return int64(a.HTTPStatus) }),
		ints(func(a *assay.Attempt) int64 { return int64(a.RetryAfter) }),
		bools(func(a *assay.Attempt) bool { return a.Usage.Known }),
		ints(func(a *assay.Attempt) int64 { return a.Usage.Input }),
		ints(func(a *assay.Attempt) int64 { return a.Usage.Cached }),
		ints(func(a *assay.Attempt) int64 { return a.Usage.CacheWrite }),
		ints(func(a *assay.Attempt) int64 { return a.Usage.Output }),
		ints(func(a *assay.Attempt) int64 { return a.Usage.Reasoning }),
		known(func(a *assay.Attempt) *int64 { return (*int64)(a.Reserved) }),
		known(func(a *assay.Attempt) *int64 { return (*int64)(a.Cost) }),
		texts(func(a *assay.Attempt) string { return a.Model }),
		texts(func(a *assay.Attempt) string { return a.Fingerprint }),
		texts(func(a *assay.Attempt) string { return a.RequestID }),
		texts(func(a *assay.Attempt) string { return string(a.Seen) }),
		texts(func(a *assay.Attempt) string { return a.Error }),
		texts(func(a *assay.Attempt) string { return a.Raw }),
	}
}

// columnOf is column for rows that are too big to copy.
func columnOf[R, T any](rows []R, f func(*R) T) []T {
	out := make([]T, len(rows))
	for i := range rows {
		out[i] = f(&rows[i])
	}
	return out
}

// The statements of a batch run in this order: answers about items that are pending still, then the
// items, then the attempts, then transcripts. Nobody else writes this run's items meanwhile, since all
// who do lock its row. An attempt that is done already says that the batch came before, so its item is
// left. Units are numbered on after those that earlier attempts were answered about.
const (
	putFindings = `INSERT INTO verdicts (run_id, seq, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason, evidence)
	SELECT $1, v.seq, v.unit, v.criterion, v.unit_no + CASE WHEN v.n > 1 THEN
		(SELECT coalesce(max(o.unit_no) + 1, 0) FROM verdicts o WHERE o.run_id = $1 AND o.seq = v.seq) ELSE 0 END,
	v.no, v.unit_pass, v.value, v.applies, v.abstained, v.reason, v.evidence
	FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bool[], $9::text[], $10::bool[],
	$11::bool[], $12::text[], $13::text[]) v (seq, n, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason, evidence)
	JOIN items i ON i.run_id = $1 AND i.seq = v.seq AND i.state = 'pending'
	WHERE v.n IS NULL OR NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run_id = $1 AND a.seq = v.seq AND a.n = v.n AND a.status = 'done')
	ON CONFLICT DO NOTHING`
	// In the order of the index, so that two runs that add the same wait for each other in one order.
	putSeen = `INSERT INTO seen (project_id, hash, text) SELECT r.project_id, s.hash, s.text
	FROM runs r, unnest($2::bytea[], $3::bytea[]) s (hash, text) WHERE r.id = $1 ORDER BY s.hash ON CONFLICT DO NOTHING`
	moveItems = `WITH moved AS (
		UPDATE items i SET state = u.state, class = CASE WHEN u.state = 'pending' THEN i.class ELSE u.class END, error = u.error, pass = u.pass, cut = u.cut,
		counted = i.counted + u.counted, not_before = u.not_before, ended_at = CASE WHEN u.state <> 'pending' THEN $2::bigint END,
		origin_run = CASE WHEN u.state = 'graded' THEN $1::bigint END, origin_seq = CASE WHEN u.state = 'graded' THEN i.seq END
		FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bool[], $9::bool[], $10::bigint[], $11::bigint[])
		u (seq, n, state, class, error, pass, cut, counted, not_before)
		WHERE i.run_id = $1 AND i.seq = u.seq AND i.state = 'pending'
		AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run_id = $1 AND a.seq = u.seq AND a.n = u.n AND a.status = 'done')
		RETURNING i.state)
	UPDATE runs SET heartbeat_at = $2, revision = revision + 1,
	progress_at = CASE WHEN ended THEN $2 ELSE progress_at END, stalls = CASE WHEN ended THEN 0 ELSE stalls END
	FROM (SELECT EXISTS (SELECT 1 FROM moved WHERE state <> 'pending') AS ended) e WHERE id = $1`
)

// changes are the columns of items that may move.
type changes struct {
	seq                 []int64
	n                   []*int64 // the attempt, where there is one
	state, class, error []string
	pass                []*bool
	cut                 []bool
	counted             []int64
	notBefore           []*int64
	at                  map[int64]int
}

// changesOf holds one change per item: when several attempts of one come in a batch the last counts,
// except that nothing follows an end.
func changesOf(b store.Batch) *changes {
	c := &changes{at: make(map[int64]int, len(b.Done)+len(b.End))}
	for i := range b.Done {
		o := &b.Done[i]
		counted := int64(0)
		if o.Counted {
			counted = 1
		}
		n := int64(o.Attempt.N)
		pass, cut := o.Pass, o.Cut
		if o.State != assay.ItemGraded {
			pass, cut = nil, false
		}
		c.add(o.Attempt.Seq, &n, o.State, o.Class, o.Error, pass, cut, counted, o.NotBefore)
	}
	for _, e := range b.End {
		c.add(e.Seq, nil, e.State, e.Class, e.Error, nil, false, 0, nil)
	}
	return c
}

func (c *changes) add(seq int64, n *int64, state assay.ItemState, class assay.Class, text string, pass *bool, cut bool, counted int64, notBefore *time.Time) {
	at, again := c.at[seq]
	if !again {
		at = len(c.seq)
		c.at[seq] = at
		c.seq, c.n = append(c.seq, seq), append(c.n, nil)
		c.state, c.class, c.error = append(c.state, ""), append(c.class, ""), append(c.error, "")
		c.pass, c.cut, c.counted, c.notBefore = append(c.pass, nil), append(c.cut, false), append(c.counted, 0), append(c.notBefore, nil)
	} else if c.state[at] != string(assay.ItemPending) {
		return
	}
	c.n[at] = n
	c.state[at], c.class[at], c.error[at], c.pass[at] = string(state), string(class), clean(text), pass
	c.cut[at] = cut
	c.counted[at] += counted
	c.notBefore[at] = nil
	if state == assay.ItemPending {
		c.notBefore[at] = microsOf(notBefore)
	}
}

func (c *changes) arrays() []any {
	return []any{c.seq, c.n, c.state, c.class, c.error, c.pass, c.cut, c.counted, c.notBefore}
}
