package sqlite

import (
	"context"
	"strconv"
	"strings"

	"assay/internal/assay"
	"assay/internal/store"
)

func (s sessions) Scan(ctx context.Context, project assay.ProjectID, q store.SessionQuery, f func(*store.FrameRow) error) error {
	return s.s.read.view(ctx, func(c *conn) error {
		for _, w := range windows(project, q) {
			narrow(w, q)
			scan := scanFrames
			if q.Match != nil {
				scan = scanHeads
			}
			if err := scan(ctx, c, q, w, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func scanHeads(ctx context.Context, c *conn, q store.SessionQuery, w *clause, f func(*store.FrameRow) error) error {
	var out store.FrameRow
	return eachHead(ctx, c, q, w, func(h *assay.Head) error {
		out = store.FrameRow{Key: h.Key, Content: h.Content, UserID: h.UserID, SessionID: h.SessionID, Day: h.Day, Arm: h.Arm,
			Undated: h.Day == assay.Undated, Empty: h.Empty, ArrivedAt: h.ArrivedAt.UnixMicro()}
		if h.SettleFrom != nil {
			out.SettleFrom = h.SettleFrom.UnixMicro()
		}
		return f(&out)
	})
}

// frameColumns is a frame row in one text, which costs half of what nine columns cost. Texts hold
// no NUL; what may be NULL is last.
const frameColumns = "concat_ws(char(0), s.id, s.content_id, s.empty, s.arrived_at, s.day, s.arm, s.user_id, s.session_id, s.settle_from)"

const frameBatch = 512

// scanFrames reads the index in a goroutine of its own, so that reading and f overlap.
func scanFrames(ctx context.Context, c *conn, q store.SessionQuery, w *clause, f func(*store.FrameRow) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	batches := make(chan []string, 2)
	// However this ends, f's panic included, the connection is given back only when nobody reads on it.
	defer func() {
		stop(nil)
		for range batches {
		}
	}()
	var readErr error
	go func() {
		defer close(batches)
		readErr = readFrames(ctx, c, q, w, batches)
	}()
	var out store.FrameRow
	var err error
	for batch := range batches {
		for _, text := range batch {
			if err != nil {
				break // the reader is stopping
			}
			if err = parseFrame(text, &out); err == nil {
				err = f(&out)
			}
		}
		if err != nil {
			stop(err)
		}
	}
	if err != nil {
		return err
	}
	return readErr
}

func readFrames(ctx context.Context, c *conn, q store.SessionQuery, w *clause, batches chan<- []string) error {
	batch := make([]string, 0, frameBatch)
	send := func() error {
		select {
		case batches <- batch:
			batch = make([]string, 0, frameBatch)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := c.query(ctx, func(r row) error {
		if batch = append(batch, r.text(0)); len(batch) < frameBatch {
			return nil
		}
		return send()
	}, "SELECT "+frameColumns+from(q)+" WHERE "+w.sql.String(), w.args...); err != nil {
		return err
	}
	return send()
}

// parseFrame reads what frameColumns wrote. Day and arm are kept from row to row while they are equal.
func parseFrame(text string, out *store.FrameRow) error {
	day, arm := out.Day, out.Arm
	var fields [9]string
	n := 0
	for rest, more := text, true; more && n < len(fields); n++ {
		fields[n], rest, more = strings.Cut(rest, "\x00")
	}
	key, err1 := strconv.ParseInt(fields[0], 10, 64)
	content, err2 := strconv.ParseInt(fields[1], 10, 64)
	arrived, err3 := strconv.ParseInt(fields[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || n < 8 {
		return assay.Errorf(assay.CodeInternal, "read the frame of session number %s", fields[0]).WithHint("`assay doctor` checks the database")
	}
	*out = store.FrameRow{Key: assay.SessionKey(key), Content: assay.ContentKey(content), Empty: fields[2] == "1",
		ArrivedAt: arrived, Day: fields[4], Arm: fields[5], UserID: fields[6], SessionID: fields[7], Undated: fields[4] == assay.Undated}
	if n == 9 {
		out.SettleFrom, _ = strconv.ParseInt(fields[8], 10, 64) // written from an integer column
	}
	if out.Day == day {
		out.Day = day
	}
	if out.Arm == arm {
		out.Arm = arm
	}
	return nil
}
