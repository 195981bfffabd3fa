package sqlite

import (
	"context"
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/store"
)

type sessions struct{ s *Store }

const headColumns = `s.id, s.content_id, s.user_id, s.session_id, c.hash, c.version, s.started_at, s.last_turn_at, s.arrived_at,
	s.settle_from, s.day, s.arm, s.case_key, s.source_url, s.agent_version, s.source, s.turns, s.messages, s.tool_calls,
	c.bytes, s.repaired, s.empty, s.metadata`

func scanHead(r row) (assay.Head, error) {
	h := assay.Head{
		Key: assay.SessionKey(r.int(0)), Content: assay.ContentKey(r.int(1)), UserID: r.text(2), SessionID: r.text(3),
		ContentHash: assay.Hash(r.text(4)), Version: int(r.int(5)), StartedAt: r.timePtr(6), LastTurnAt: r.timePtr(7),
		ArrivedAt: r.time(8), SettleFrom: r.timePtr(9), Day: r.text(10), Arm: r.text(11), Case: r.text(12),
		SourceURL: r.text(13), AgentVersion: r.text(14), Source: r.text(15), Turns: int(r.int(16)),
		Messages: int(r.int(17)), ToolCalls: int(r.int(18)), BodyBytes: r.int(19), Repaired: r.bool(20), Empty: r.bool(21),
	}
	if r[22] == nil {
		return h, nil
	}
	if err := json.Unmarshal(r.json(22), &h.Metadata); err != nil {
		return h, assay.Errorf(assay.CodeInternal, "read the metadata of session %s: %w", h.Name(), err)
	}
	return h, nil
}

func (s sessions) Get(ctx context.Context, project assay.ProjectID, user, id string) (head assay.Head, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(r row) (err error) {
			head, err = scanHead(r)
			return err
		}, "SELECT "+headColumns+` FROM sessions s JOIN contents c ON c.id = s.content_id
			WHERE s.project_id = ? AND s.user_id = ? AND s.session_id = ?`, project, user, id)
		if err == nil && !found {
			err = notFound("there is no session %s", assay.SessionName(user, id)).WithHint("`assay sessions list` prints the names")
		}
		return err
	})
	return head, err
}

func (s sessions) Contents(ctx context.Context, key assay.SessionKey) (list []store.Content, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, store.Content{
				Key: assay.ContentKey(r.int(0)), Hash: assay.Hash(r.text(1)), Version: int(r.int(2)),
				ArrivedAt: r.time(3), Import: r.int(4), Bytes: r.int(5), Current: r.bool(6),
			})
			return nil
		}, `SELECT c.id, c.hash, c.version, c.arrived_at, c.import_id, c.bytes, c.id = s.content_id
			FROM contents c JOIN sessions s ON s.id = c.session_key WHERE c.session_key = ? ORDER BY c.version DESC`, key)
	})
	return list, err
}

// Rekey reads the heads outside the transaction that writes them only when another writer could not
// change them in between; here both are one transaction.
func (s sessions) Rekey(ctx context.Context, project assay.ProjectID, after assay.SessionKey, limit int, f func(*assay.Head)) (last assay.SessionKey, err error) {
	err = s.s.write.do(ctx, forImport, func(t tx) error {
		var heads []assay.Head
		if err := t.query(ctx, func(r row) error {
			head, err := scanHead(r)
			heads = append(heads, head)
			return err
		}, "SELECT "+headColumns+` FROM sessions s NOT INDEXED CROSS JOIN contents c ON c.id = s.content_id
			WHERE s.id > ? AND s.project_id = ? ORDER BY s.id LIMIT ?`, after, project, limit); err != nil {
			return err
		}
		for i := range heads {
			h := &heads[i]
			day, arm, caseKey := h.Day, h.Arm, h.Case
			f(h)
			last = h.Key
			if h.Day == day && h.Arm == arm && h.Case == caseKey {
				continue
			}
			if _, err := t.exec("UPDATE sessions SET day = ?, arm = ?, case_key = ? WHERE id = ?", h.Day, h.Arm, h.Case, h.Key); err != nil {
				return err
			}
		}
		return nil
	})
	return last, err
}

func (s sessions) Count(ctx context.Context, project assay.ProjectID) (t store.Totals, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		_, err := c.first(ctx, func(r row) error {
			t = store.Totals{Sessions: r.int(0), Contents: r.int(1), Bytes: r.int(2), Labels: r.int(3)}
			return nil
		}, `SELECT (SELECT count(*) FROM sessions WHERE project_id = ?1), count(*), coalesce(sum(c.bytes), 0),
			(SELECT count(*) FROM labels WHERE project_id = ?1)
			FROM sessions s JOIN contents c ON c.session_key = s.id WHERE s.project_id = ?1`, project)
		return err
	})
	return t, err
}
