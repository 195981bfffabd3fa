package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func (i items) Commit(ctx context.Context, f store.Fence, b store.Batch) (control assay.RunControl, err error) {
	err = i.s.write.do(ctx, forCommit, func(t tx) error {
		if control, err = beat(ctx, t, f, b.Now); err != nil {
			return err
		}
		w := batchWriter{t: t, ctx: ctx, run: int64(f.Run), now: b.Now.UnixMicro(), closed: closeAttempts.on(t, int64(f.Run)), opened: openAttempts.on(t, int64(f.Run)), findings: insertVerdicts.on(t, int64(f.Run))}
		if err := w.write(b); err != nil || w.ended == 0 {
			return err
		}
		_, err := t.exec("UPDATE runs SET progress_at = ?, stalls = 0 WHERE id = ?", b.Now, f.Run)
		return err
	})
	return control, err
}

var (
	// An attempt of this epoch that is there already counts as changed, one of another epoch does not.
	openAttempts = newMulti("INSERT INTO attempts (run_id, seq, n, epoch, status, class, alone, opened_at, wait, reserved, seen) VALUES ", "?1, ?, ?, ?, 'open', ifnull(?, ''), ?, ?, ?, ?, ifnull(?, '')",
		" ON CONFLICT (run_id, seq, n) DO UPDATE SET wait = wait WHERE epoch = excluded.epoch")
	closeAttempts  = newMulti("INSERT INTO attempts ("+attemptColumns+") VALUES ", "?1, ?, ?, ?, 'done', ifnull(?, ''), ?, 0"+attemptValues, attemptFacts)
	lateAttempts   = newMulti("INSERT INTO attempts ("+attemptColumns+") VALUES ", "?1, ?, ?, ?, 'done', ifnull(?, ''), ?, 1"+attemptValues, attemptFacts)
	insertVerdicts = newMulti(`INSERT INTO verdicts (run_id, seq, unit, criterion, unit_no, no, unit_pass, value, applies, abstained, reason,
		evidence) VALUES `, "?1, ?, ifnull(?, ''), ?, ?, ?, ?, ?, ?, ?, ifnull(?, ''), ?", " ON CONFLICT DO NOTHING")
)

// attemptValues follow late; attemptFacts are what is known once a call has returned, since the rest was
// known when it was opened.
const (
	attemptValues = `, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ifnull(?, ''), ifnull(?, ''), ifnull(?, ''), ifnull(?, ''), ifnull(?, ''), ifnull(?, '')`
	attemptFacts  = ` ON CONFLICT (run_id, seq, n) DO UPDATE SET status = excluded.status, class = excluded.class, late = excluded.late, call_at = excluded.call_at,
	ended_at = excluded.ended_at, http_status = excluded.http_status, retry_after = excluded.retry_after,
	usage_known = excluded.usage_known, input = excluded.input, cached = excluded.cached, cache_write = excluded.cache_write,
	output = excluded.output, reasoning = excluded.reasoning, cost = excluded.cost, model = excluded.model,
	fingerprint = excluded.fingerprint, request_id = excluded.request_id, seen = excluded.seen, error = excluded.error, raw = excluded.raw
	WHERE status <> 'done'`
)

// batchWriter writes one batch inside its transaction.
type batchWriter struct {
	t                        tx
	ctx                      context.Context
	run, now                 int64
	closed, opened, findings *rowWriter
	ended                    int
}

func (w *batchWriter) write(b store.Batch) error {
	for i := range b.Done {
		if err := w.done(&b.Done[i]); err != nil {
			return err
		}
	}
	for _, e := range b.End {
		if err := w.end(e); err != nil {
			return err
		}
	}
	for i := range b.Open {
		a := &b.Open[i]
		if err := w.opened.add(a.Seq, int64(a.N), a.Epoch, orNull(string(a.Class)), a.Alone, a.OpenedAt, int64(a.Wait), (*int64)(a.Reserved), orNull(string(a.Seen))); err != nil {
			return err
		}
	}
	for _, rows := range [...]*rowWriter{w.closed, w.findings, w.opened} {
		if err := rows.flush(); err != nil {
			return err
		}
	}
	if w.opened.changed != int64(len(b.Open)) {
		return assay.Errorf(assay.CodeInternal, "open attempts of run r%d: a number is taken by an attempt of another epoch", w.run)
	}
	return w.seen(b.Done)
}

// done ends or puts off an item, then closes its attempt: a batch that comes a second time finds
// the attempt closed and counts nothing twice.
func (w *batchWriter) done(o *store.Outcome) error {
	if err := w.settle(o); err != nil {
		return err
	}
	return addAttempt(w.closed, &o.Attempt)
}

func (w *batchWriter) settle(o *store.Outcome) error {
	if o.State == assay.ItemPending {
		changed, err := w.t.exec(`UPDATE items SET counted = counted + ?, not_before = ?, error = ? WHERE run_id = ? AND seq = ? AND state = 'pending'
			AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run_id = ? AND a.seq = ? AND a.n = ? AND a.status = 'done')`,
			o.Counted, o.NotBefore, o.Error, w.run, o.Attempt.Seq, w.run, o.Attempt.Seq, o.Attempt.N)
		if err != nil || changed == 0 {
			return err
		}
		return w.answers(o)
	}
	if o.State != assay.ItemGraded {
		changed, err := w.t.exec(`UPDATE items SET state = ?, class = ?, error = ?, counted = counted + ?, not_before = NULL, ended_at = ?
			WHERE run_id = ? AND seq = ? AND state = 'pending'`, string(o.State), string(o.Class), o.Error, o.Counted, w.now, w.run, o.Attempt.Seq)
		w.ended += int(changed)
		return err
	}
	changed, err := w.t.exec(`UPDATE items SET state = 'graded', class = ifnull(?, ''), error = ifnull(?, ''), pass = ?, cut = ?, counted = counted + ?,
		not_before = NULL, origin_run = run_id, origin_seq = seq, ended_at = ? WHERE run_id = ? AND seq = ? AND state = 'pending'`,
		orNull(string(o.Class)), orNull(o.Error), o.Pass, o.Cut, o.Counted, w.now, w.run, o.Attempt.Seq)
	if err != nil || changed == 0 {
		return err
	}
	w.ended++
	return w.answers(o)
}

// answers stores what an attempt was answered, numbered on after what earlier ones were.
func (w *batchWriter) answers(o *store.Outcome) error {
	if len(o.Answers) == 0 {
		return nil
	}
	first, err := w.nextUnit(o)
	if err != nil {
		return err
	}
	for i := range o.Answers {
		if err := w.answer(o.Attempt.Seq, first+i, &o.Answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// nextUnit looks nowhere for a first attempt, which most are.
func (w *batchWriter) nextUnit(o *store.Outcome) (next int, err error) {
	if o.Attempt.N <= 1 {
		return 0, nil
	}
	_, err = w.t.first(w.ctx, func(r row) error { next = int(r.int(0)); return nil },
		"SELECT coalesce(max(unit_no) + 1, 0) FROM verdicts WHERE run_id = ? AND seq = ?", w.run, o.Attempt.Seq)
	return next, err
}

var insertSeen = newMulti("INSERT INTO seen (project_id, hash, text) VALUES ", "?1, ?, ?", " ON CONFLICT DO NOTHING")

// seen stores the transcripts that are not there yet.
func (w *batchWriter) seen(done []store.Outcome) error {
	var rows *rowWriter
	for i := range done {
		s := done[i].Seen
		if s == nil {
			continue
		}
		if rows == nil {
			if _, err := w.t.first(w.ctx, func(r row) error { rows = insertSeen.on(w.t, r.int(0)); return nil }, "SELECT project_id FROM runs WHERE id = ?", w.run); err != nil {
				return err
			}
		}
		hash, err := hex.DecodeString(string(s.Hash))
		if err != nil {
			return assay.Errorf(assay.CodeInternal, "store the transcript of item %d of run r%d: %q is no hash", done[i].Attempt.Seq, w.run, s.Hash)
		}
		if err := rows.add(hash, s.Text); err != nil {
			return err
		}
	}
	if rows == nil {
		return nil
	}
	return rows.flush()
}

// answer stores one unit's answer: a row for each finding, or one row that says that there is none.
func (w *batchWriter) answer(seq int64, unit int, a *assay.Answer) error {
	if len(a.Findings) == 0 {
		return w.findings.add(seq, orNull(a.Unit), "", unit, 0, a.Pass, nil, a.Findings != nil, false, nil, nil)
	}
	for no := range a.Findings {
		f := &a.Findings[no]
		var evidence any
		if f.Evidence != nil {
			text, err := json.Marshal(f.Evidence)
			if err != nil {
				return assay.Errorf(assay.CodeInternal, "encode evidence: %w", err)
			}
			evidence = string(text)
		}
		if err := w.findings.add(seq, orNull(a.Unit), f.Criterion, unit, no, a.Pass, f.Value, f.Applies, f.Abstained, orNull(f.Reason), evidence); err != nil {
			return err
		}
	}
	return nil
}

func (w *batchWriter) end(e store.EndItem) error {
	changed, err := w.t.exec(`UPDATE items SET state = ?, class = ?, error = ?, not_before = NULL, ended_at = ?
		WHERE run_id = ? AND seq = ? AND state = 'pending'`, string(e.State), string(e.Class), e.Error, w.now, w.run, e.Seq)
	w.ended += int(changed)
	return err
}

func addAttempt(w *rowWriter, a *assay.Attempt) error {
	return w.add(a.Seq, int64(a.N), a.Epoch, orNull(string(a.Class)), a.Alone, a.OpenedAt, int64(a.Wait), a.CallAt, a.EndedAt, int64(a.HTTPStatus),
		int64(a.RetryAfter), a.Usage.Known, a.Usage.Input, a.Usage.Cached, a.Usage.CacheWrite, a.Usage.Output, a.Usage.Reasoning,
		(*int64)(a.Reserved), (*int64)(a.Cost), orNull(a.Model), orNull(a.Fingerprint), orNull(a.RequestID), orNull(string(a.Seen)), orNull(a.Error), orNull(a.Raw))
}

func (i items) Late(ctx context.Context, attempts []assay.Attempt) error {
	return i.s.write.do(ctx, forCommit, func(t tx) error {
		for len(attempts) > 0 {
			run := attempts[0].Run
			w := lateAttempts.on(t, int64(run))
			for ; len(attempts) > 0 && attempts[0].Run == run; attempts = attempts[1:] {
				if err := addAttempt(w, &attempts[0]); err != nil {
					return err
				}
			}
			if err := w.flush(); err != nil {
				return err
			}
			if err := forgetExtracts(t, run); err != nil {
				return err
			}
		}
		return nil
	})
}

// restBatch bounds one transaction of EndRest.
const restBatch = 2000

// EndRest finds what is pending outside the write transactions, going on where it stopped, so that
// ended items are passed over once.
func (i items) EndRest(ctx context.Context, f store.Fence, to assay.ItemState, limit int, now time.Time) (ended int64, err error) {
	for after := int64(0); ended < int64(limit); {
		var seqs []int64
		if err := i.s.read.do(ctx, func(c *conn) error {
			return c.query(ctx, func(r row) error { seqs = append(seqs, r.int(0)); return nil },
				`SELECT seq FROM items i WHERE run_id = ? AND seq > ? AND state = 'pending'
				AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run_id = i.run_id AND a.seq = i.seq AND a.status = 'open' AND a.epoch = ?)
				ORDER BY seq LIMIT ?`, f.Run, after, f.Epoch, min(restBatch, int64(limit)-ended))
		}); err != nil {
			return ended, err
		}
		// Without anything to end the fence is still asked, so that a lost claim is told.
		if err := i.s.fenced(ctx, forAsk, f, func(t tx) error {
			for _, seq := range seqs {
				n, err := t.exec(`UPDATE items SET state = ?, not_before = NULL, ended_at = ? WHERE run_id = ? AND seq = ? AND state = 'pending'
					AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run_id = ? AND a.seq = ? AND a.status = 'open' AND a.epoch = ?)`,
					to, now, f.Run, seq, f.Run, seq, f.Epoch)
				if err != nil {
					return err
				}
				ended += n
			}
			return nil
		}); err != nil || len(seqs) == 0 {
			return ended, err
		}
		after = seqs[len(seqs)-1]
	}
	return ended, nil
}
