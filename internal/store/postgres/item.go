package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"assay/internal/assay"
	"assay/internal/store"
)

type items struct{ *Store }

// itemColumns are followed by the user's id, the session's id and the number of attempts.
const itemColumns = `i.run_id, i.seq, i.session_key, i.content_id, i.stratum, i.judge, i.repeat, i.state, i.class, i.error, i.pass, i.not_before,
	i.counted, i.crashes, i.alone, i.origin_run, i.origin_seq, i.ended_at, i.cut`

// opened counts by the highest number, so that the next one is free even if a number were missing.
const opened = "coalesce((SELECT max(a.n) FROM attempts a WHERE a.run_id = i.run_id AND a.seq = i.seq), 0)"

func itemInto(i *assay.Item) []any {
	return []any{intTo(&i.Run), &i.Seq, intTo(&i.Session), intTo(&i.Content), intTo(&i.Stratum), intTo(&i.Judge), intTo(&i.Repeat),
		textTo(&i.State), textTo(&i.Class), &i.Error, &i.Pass, asTimePtr{&i.NotBefore}, intTo(&i.Counted), intTo(&i.Crashes), intTo(&i.Alone),
		asOriginRun{&i.Origin}, asOriginSeq{&i.Origin}, asTimePtr{&i.EndedAt}, &i.Cut, &i.UserID, &i.SessionID, intTo(&i.Attempts)}
}

// asOriginRun makes the origin, asOriginSeq completes it.
type asOriginRun struct{ to **assay.Origin }

func (d asOriginRun) ScanInt64(v pgtype.Int8) error {
	*d.to = nil
	if v.Valid {
		*d.to = &assay.Origin{Run: assay.RunID(v.Int64)}
	}
	return nil
}

type asOriginSeq struct{ to **assay.Origin }

func (d asOriginSeq) ScanInt64(v pgtype.Int8) error {
	if *d.to != nil {
		(*d.to).Seq = v.Int64
	}
	return nil
}

func (i items) Pending(ctx context.Context, run assay.RunID, after int64, limit int) (list []assay.Item, err error) {
	err = i.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, itemInto, "SELECT "+itemColumns+", '', '', "+opened+` FROM items i
			WHERE i.run_id = $1 AND i.seq > $2 AND i.state = 'pending' ORDER BY i.seq LIMIT $3`, run, after, limit)
		return err
	})
	return list, err
}

// restBatch bounds one transaction of EndRest.
const restBatch = 2000

// EndRest goes on where its last transaction stopped, so that ended items are passed over once.
func (i items) EndRest(ctx context.Context, f store.Fence, to assay.ItemState, limit int, now time.Time) (ended int64, err error) {
	after, batch := int64(0), restBatch
	for ended < int64(limit) && batch == restBatch {
		var seqs []int64
		err := i.fenced(ctx, f, toRead, func(ctx context.Context, t tx, _ assay.RunControl) (err error) {
			seqs, err = collect(ctx, t.conn, func(seq *int64) []any { return []any{seq} },
				`UPDATE items SET state = $3, ended_at = $4, not_before = NULL WHERE run_id = $1 AND seq = ANY(ARRAY(
				SELECT i.seq FROM items i WHERE i.run_id = $1 AND i.seq > $5 AND i.state = 'pending' AND NOT EXISTS (
					SELECT 1 FROM attempts a WHERE a.run_id = i.run_id AND a.seq = i.seq AND a.status = 'open' AND a.epoch = $2)
				ORDER BY i.seq LIMIT $6)) RETURNING seq`, f.Run, f.Epoch, to, now, after, min(restBatch, int64(limit)-ended))
			return err
		})
		if err != nil {
			return ended, err
		}
		batch = len(seqs)
		ended += int64(batch)
		if batch > 0 {
			after = slices.Max(seqs)
		}
	}
	return ended, nil
}

func (i items) Counts(ctx context.Context, run assay.RunID, now time.Time) (counts assay.Counts, err error) {
	err = i.read(ctx, func(ctx context.Context, c conn) error {
		counts = assay.Counts{}
		var state assay.ItemState
		var class assay.Class
		var n, reused, waiting, passed, failed int64
		// One statement, so that the sums agree. The row without a state is what is in flight.
		return c.each(ctx, func() error {
			counts.Total += n
			switch state {
			case "":
				counts.Total -= n
				counts.InFlight = n
			case assay.ItemPending:
				counts.Pending += n
				counts.Waiting += waiting
			case assay.ItemGraded:
				counts.Graded += n
				counts.Reused += reused
				counts.Passed += passed
				counts.Failed += failed
			case assay.ItemErrored:
				counts.Errored += n
			case assay.ItemUngradable:
				counts.Ungradable += n
			case assay.ItemCancelled:
				counts.Cancelled += n
			case assay.ItemAbandoned:
				counts.Abandoned += n
			}
			if class != "" {
				if counts.ByClass == nil {
					counts.ByClass = map[assay.Class]int64{}
				}
				counts.ByClass[class] += n
			}
			return nil
		}, `SELECT state, class, count(*), count(*) FILTER (WHERE origin_run <> run_id), count(*) FILTER (WHERE not_before > $2),
			count(*) FILTER (WHERE pass), count(*) FILTER (WHERE NOT pass)
			FROM items WHERE run_id = $1 GROUP BY state, class
			UNION ALL SELECT '', '', count(*), 0, 0, 0, 0 FROM attempts a JOIN runs r ON r.id = a.run_id AND r.epoch = a.epoch
			WHERE a.run_id = $1 AND a.status = 'open'`, []any{run, now}, textTo(&state), textTo(&class), &n, &reused, &waiting, &passed, &failed)
	})
	return counts, err
}

func (i items) Spend(ctx context.Context, run assay.RunID) (s assay.Spend, err error) {
	err = i.read(ctx, func(ctx context.Context, c conn) error {
		_, err := c.first(ctx, "SELECT "+spendColumns+" FROM attempts WHERE run_id = $1 AND "+charged, []any{run}, spendInto(&s)...)
		return err
	})
	return s, err
}

// Answers are rows of verdicts that nothing else reads before the item is graded.
func (i items) Answers(ctx context.Context, run assay.RunID, seq int64) (list []assay.Answer, err error) {
	err = i.read(ctx, func(ctx context.Context, c conn) error {
		var r finding
		list = nil
		last := int64(-1)
		return c.each(ctx, func() error {
			if r.key.Unit != last {
				list, last = append(list, r.Answer), r.key.Unit
			}
			r.Run, r.Seq = run, seq
			return r.addTo(&list[len(list)-1])
		}, "SELECT "+answerColumns+` FROM items i JOIN verdicts v ON v.run_id = i.run_id AND v.seq = i.seq
			WHERE i.run_id = $1 AND i.seq = $2 AND i.state = 'pending' ORDER BY v.unit_no, v.no`, []any{run, seq}, r.answerInto()...)
	})
	return list, err
}

func (i items) List(ctx context.Context, run assay.RunID, q store.ItemQuery, p store.Page) (list []assay.Item, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	w := where("i.run_id = ?", run)
	w.and("i.seq > ?", after)
	if q.State != "" {
		w.and("i.state = ?", q.State)
	}
	if q.Class != "" {
		w.and("i.class = ?", q.Class)
	}
	if q.Waiting {
		w.and("i.state = 'pending' AND i.not_before IS NOT NULL")
	}
	limit := p.Rows()
	err = i.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, itemInto, "SELECT "+itemColumns+", coalesce(s.user_id, ''), coalesce(s.session_id, e.case_key, ''), "+opened+
			" FROM items i LEFT JOIN sessions s ON s.id = i.session_key LEFT JOIN "+casesOf+w.sql.String()+" ORDER BY i.seq LIMIT "+w.next(), w.values(limit+1)...)
		return err
	})
	list, next = store.CutPage(list, limit, func(i assay.Item) any { return i.Seq })
	return list, next, err
}

func attemptInto(a *assay.Attempt) []any {
	return []any{intTo(&a.Run), &a.Seq, intTo(&a.N), &a.Epoch, textTo(&a.Status), textTo(&a.Class), &a.Alone, &a.Late, asTime{&a.OpenedAt},
		intTo(&a.Wait), asTimePtr{&a.CallAt}, asTimePtr{&a.EndedAt}, intTo(&a.HTTPStatus), intTo(&a.RetryAfter), &a.Usage.Known, &a.Usage.Input,
		&a.Usage.Cached, &a.Usage.CacheWrite, &a.Usage.Output, &a.Usage.Reasoning, asUSDPtr{&a.Reserved}, asUSDPtr{&a.Cost}, &a.Model, &a.Fingerprint,
		&a.RequestID, textTo(&a.Seen), &a.Error, &a.Raw}
}

func (i items) Attempts(ctx context.Context, run assay.RunID, seq int64) (list []assay.Attempt, err error) {
	err = i.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, attemptInto, "SELECT "+attemptColumns+" FROM attempts WHERE run_id = $1 AND seq = $2 ORDER BY n", run, seq)
		return err
	})
	return list, err
}
