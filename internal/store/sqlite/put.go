package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func (s sessions) Put(ctx context.Context, project assay.ProjectID, importID int64, batch []store.NewSession, now time.Time) (results []store.PutResult, err error) {
	results = make([]store.PutResult, len(batch))
	called := time.Now()
	err = s.s.write.do(ctx, forImport, func(t tx) error {
		if _, err := getProject(ctx, t.conn, project); err != nil {
			return err
		}
		p := putter{tx: t, project: project, importID: importID, now: store.Stamp(now, called)}
		if _, err := t.first(ctx, func(r row) error { p.lastContent = r.int(0); return nil },
			"SELECT seq FROM sqlite_sequence WHERE name = 'contents'"); err != nil {
			return err
		}
		for i := range batch {
			if results[i], err = p.put(ctx, &batch[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// putter stores sessions inside one transaction.
type putter struct {
	tx
	project     assay.ProjectID
	importID    int64
	now         time.Time
	lastContent int64
}

func (p *putter) put(ctx context.Context, n *store.NewSession) (store.PutResult, error) {
	var key, content int64
	var hash string
	found, err := p.first(ctx, func(r row) error {
		key, content, hash = r.int(0), r.int(1), r.text(2)
		return nil
	}, `SELECT s.id, s.content_id, c.hash FROM sessions s JOIN contents c ON c.id = s.content_id
		WHERE s.project_id = ? AND s.user_id = ? AND s.session_id = ?`, p.project, n.Head.UserID, n.Head.SessionID)
	if err != nil {
		return 0, err
	}
	result := store.PutUnchanged
	switch {
	case !found:
		result = store.PutNew
		content, err = p.add(n)
	case hash != string(n.Head.ContentHash):
		result = store.PutChanged
		content, err = p.change(ctx, key, n)
	}
	if err != nil {
		return 0, err
	}
	return result, putLabels(p.tx, p.project, content, n.Labels, p.now)
}

// add stores a session that is new. The content's number is chosen first, so that the head is
// written once.
func (p *putter) add(n *store.NewSession) (content int64, err error) {
	h := &n.Head
	content = p.lastContent + 1
	key, err := p.insert(`INSERT INTO sessions (project_id, content_id, user_id, session_id, day, arm, started_at, last_turn_at, settle_from,
		arrived_at, empty, case_key, source_url, agent_version, source, turns, messages, tool_calls, repaired, metadata)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.project, content, h.UserID, h.SessionID, h.Day, h.Arm, h.StartedAt, h.LastTurnAt, h.SettleFrom,
		p.now, h.Empty, h.Case, h.SourceURL, h.AgentVersion, h.Source, h.Turns, h.Messages, h.ToolCalls, h.Repaired, toJSON(h.Metadata))
	if err != nil {
		return 0, err
	}
	return content, p.addContent(key, 1, n)
}

// change makes n the present content of a session.
func (p *putter) change(ctx context.Context, key int64, n *store.NewSession) (content int64, err error) {
	var newest int64
	if err := p.query(ctx, func(r row) error {
		if r.text(1) == string(n.Head.ContentHash) {
			content = r.int(0)
		}
		newest = max(newest, r.int(2))
		return nil
	}, "SELECT id, hash, version FROM contents WHERE session_key = ?", key); err != nil {
		return 0, err
	}
	if content == 0 {
		content = p.lastContent + 1
		err = p.addContent(key, newest+1, n)
	} else {
		_, err = p.exec("INSERT INTO bodies (content_id, body) VALUES (?, ?) ON CONFLICT DO NOTHING", content, n.Body)
	}
	if err != nil {
		return 0, err
	}
	h := &n.Head
	_, err = p.exec(`UPDATE sessions SET content_id = ?, day = ?, arm = ?, started_at = ?, last_turn_at = ?, settle_from = ?,
		arrived_at = ?, empty = ?, case_key = ?, source_url = ?, agent_version = ?, source = ?, turns = ?, messages = ?, tool_calls = ?,
		repaired = ?, metadata = ? WHERE id = ?`,
		content, h.Day, h.Arm, h.StartedAt, h.LastTurnAt, h.SettleFrom, p.now, h.Empty, h.Case, h.SourceURL, h.AgentVersion, h.Source,
		h.Turns, h.Messages, h.ToolCalls, h.Repaired, toJSON(h.Metadata), key)
	return content, err
}

func (p *putter) addContent(key, version int64, n *store.NewSession) error {
	p.lastContent++
	if _, err := p.exec("INSERT INTO contents (id, session_key, hash, version, arrived_at, import_id, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)",
		p.lastContent, key, n.Head.ContentHash, version, p.now, p.importID, n.Head.BodyBytes); err != nil {
		return err
	}
	_, err := p.exec("INSERT INTO bodies (content_id, body) VALUES (?, ?)", p.lastContent, n.Body)
	return err
}
