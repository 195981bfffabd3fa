package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type items struct{ s *Store }

const itemColumns = `i.run_id, i.seq, i.session_key, i.content_id, i.stratum, i.judge, i.repeat, i.state, i.class, i.error, i.pass,
	i.not_before, i.counted, i.crashes, i.alone, i.origin_run, i.origin_seq, i.ended_at, i.cut,
	(SELECT coalesce(max(a.n), 0) FROM attempts a WHERE a.run_id = i.run_id AND a.seq = i.seq)`

func scanItem(r row) assay.Item {
	item := assay.Item{
		Run: assay.RunID(r.int(0)), Seq: r.int(1), Session: assay.SessionKey(r.int(2)), Content: assay.ContentKey(r.int(3)),
		Stratum: int(r.int(4)), Judge: int(r.int(5)), Repeat: int(r.int(6)), State: assay.ItemState(r.text(7)),
		Class: assay.Class(r.text(8)), Error: r.text(9), Pass: r.boolPtr(10), NotBefore: r.timePtr(11), Counted: int(r.int(12)),
		Crashes: int(r.int(13)), Alone: int(r.int(14)), EndedAt: r.timePtr(17), Cut: r.bool(18), Attempts: int(r.int(19)),
	}
	if r[15] != nil {
		item.Origin = &assay.Origin{Run: assay.RunID(r.int(15)), Seq: r.int(16)}
	}
	return item
}

func (i items) Pending(ctx context.Context, run assay.RunID, after int64, limit int) (list []assay.Item, err error) {
	err = i.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error { list = append(list, scanItem(r)); return nil },
			"SELECT "+itemColumns+" FROM items i WHERE i.run_id = ? AND i.seq > ? AND i.state = 'pending' ORDER BY i.seq LIMIT ?", run, after, limit)
	})
	return list, err
}

func (i items) List(ctx context.Context, run assay.RunID, q store.ItemQuery, p store.Page) (list []assay.Item, next string, err error) {
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
	if q.Waiting {
		where.and("i.state = 'pending' AND i.not_before IS NOT NULL")
	}
	limit := p.Rows()
	err = i.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			item := scanItem(r)
			item.UserID, item.SessionID = r.text(20), r.text(21)
			list = append(list, item)
			return nil
		}, "SELECT "+itemColumns+", s.user_id, coalesce(s.session_id, e.case_key) FROM items i LEFT JOIN sessions s ON s.id = i.session_key LEFT JOIN "+casesOf+" WHERE "+
			where.sql.String()+" ORDER BY i.seq LIMIT ?", append(where.args, limit+1)...)
	})
	list, next = store.CutPage(list, limit, func(i assay.Item) any { return i.Seq })
	return list, next, err
}

// Counts asks for numbers that are cheap to tell first, since most items are graded or pending: those
// that ended have a time, those that are graded an origin.
func (i items) Counts(ctx context.Context, run assay.RunID, now time.Time) (n assay.Counts, err error) {
	err = i.s.read.view(ctx, func(c *conn) error {
		if _, err := c.first(ctx, func(r row) error {
			n = assay.Counts{Total: r.int(0), Pending: r.int(0) - r.int(1), Graded: r.int(2), Reused: r.int(3), Waiting: r.int(4), Passed: r.int(5), Failed: r.int(6)}
			return nil
		}, `SELECT count(*), count(ended_at), count(origin_run), sum(origin_run <> run_id), sum(not_before > ?), sum(pass), sum(NOT pass) FROM items WHERE run_id = ?`, now, run); err != nil {
			return err
		}
		if _, err := c.first(ctx, func(r row) error { n.InFlight = r.int(0); return nil },
			"SELECT count(*) FROM attempts a JOIN runs r ON r.id = a.run_id AND r.epoch = a.epoch WHERE a.run_id = ? AND a.status = 'open'", run); err != nil {
			return err
		}
		if n.Pending+n.Graded == n.Total {
			return nil
		}
		return c.query(ctx, func(r row) error {
			addEnded(&n, assay.ItemState(r.text(0)), assay.Class(r.text(1)), r.int(2))
			return nil
		},
			"SELECT state, class, count(*) FROM items WHERE run_id = ? AND ended_at IS NOT NULL AND origin_run IS NULL GROUP BY state, class", run)
	})
	return n, err
}

// addEnded counts items that ended without a verdict.
func addEnded(n *assay.Counts, state assay.ItemState, class assay.Class, items int64) {
	switch state {
	case assay.ItemErrored:
		n.Errored += items
	case assay.ItemUngradable:
		n.Ungradable += items
	case assay.ItemCancelled:
		n.Cancelled += items
	case assay.ItemAbandoned:
		n.Abandoned += items
	}
	if class == assay.ClassNone {
		return
	}
	if n.ByClass == nil {
		n.ByClass = map[assay.Class]int64{}
	}
	n.ByClass[class] += items
}

func (i items) Spend(ctx context.Context, run assay.RunID) (n assay.Spend, err error) {
	err = i.s.read.do(ctx, func(c *conn) error {
		_, err := c.first(ctx, func(r row) error {
			n = assay.Spend{
				Attempts: r.int(0), Unknown: r.int(1), Late: r.int(2), Cost: r.usd(9), Held: r.usd(11), HeldN: r.int(13), Unpriced: r.int(14), Unmetered: r.int(15),
				Usage: assay.Usage{Known: r.bool(3), Input: r.int(4), Cached: r.int(5), CacheWrite: r.int(6), Output: r.int(7), Reasoning: r.int(8)},
			}
			return nil
		}, `SELECT count(*), sum(status = 'unknown'), sum(late), max(usage_known), sum(input), sum(cached), sum(cache_write), sum(output), sum(reasoning),
			sum(cost / 1000000000), sum(cost % 1000000000),
			sum(reserved / 1000000000) FILTER (WHERE cost IS NULL), sum(reserved % 1000000000) FILTER (WHERE cost IS NULL),
			count(reserved) FILTER (WHERE cost IS NULL), sum(cost IS NULL AND reserved IS NULL), sum(`+unmetered+`)
			FROM attempts WHERE run_id = ? AND `+charged, run)
		return err
	})
	return n, err
}

// Answers are rows of verdicts that nothing else reads before the item is graded.
func (i items) Answers(ctx context.Context, run assay.RunID, seq int64) (list []assay.Answer, err error) {
	last := int64(-1)
	err = i.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			if r.int(2) != last {
				list, last = append(list, assay.Answer{Unit: r.text(0), Pass: r.boolPtr(3)}), r.int(2)
			}
			return addFinding(&list[len(list)-1], r, int64(run), seq)
		}, "SELECT "+answerColumns+` FROM items i CROSS JOIN verdicts v ON v.run_id = i.run_id AND v.seq = i.seq
			WHERE i.run_id = ? AND i.seq = ? AND i.state = 'pending' ORDER BY v.unit_no, v.no`, run, seq)
	})
	return list, err
}

const attemptColumns = `run_id, seq, n, epoch, status, class, alone, late, opened_at, wait, call_at, ended_at, http_status, retry_after,
	usage_known, input, cached, cache_write, output, reasoning, reserved, cost, model, fingerprint, request_id, seen, error, raw`

func (i items) Attempts(ctx context.Context, run assay.RunID, seq int64) (list []assay.Attempt, err error) {
	err = i.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, assay.Attempt{
				Run: assay.RunID(r.int(0)), Seq: r.int(1), N: int(r.int(2)), Epoch: r.int(3), Status: assay.AttemptStatus(r.text(4)),
				Class: assay.Class(r.text(5)), Alone: r.bool(6), Late: r.bool(7), OpenedAt: r.time(8), Wait: time.Duration(r.int(9)),
				CallAt: r.timePtr(10), EndedAt: r.timePtr(11), HTTPStatus: int(r.int(12)), RetryAfter: time.Duration(r.int(13)),
				Usage:    assay.Usage{Known: r.bool(14), Input: r.int(15), Cached: r.int(16), CacheWrite: r.int(17), Output: r.int(18), Reasoning: r.int(19)},
				Reserved: (*assay.USD)(r.intPtr(20)), Cost: (*assay.USD)(r.intPtr(21)), Model: r.text(22), Fingerprint: r.text(23),
				RequestID: r.text(24), Seen: assay.Hash(r.text(25)), Error: r.text(26), Raw: r.text(27),
			})
			return nil
		}, "SELECT "+attemptColumns+" FROM attempts WHERE run_id = ? AND seq = ? ORDER BY n", run, seq)
	})
	return list, err
}
