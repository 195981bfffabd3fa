package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"assay/internal/assay"
	"assay/internal/store"
)

type sessions struct{ *Store }

const (
	headColumns = `s.id, s.content_id, s.user_id, s.session_id, c.hash, c.version, s.started_at, s.last_turn_at, s.arrived_at,
	s.settle_from, s.day, s.arm, s.case_key, s.source_url, s.agent_version, s.source, s.turns, s.messages, s.tool_calls,
	c.bytes, s.repaired, s.empty, s.metadata`
	headTables = " FROM sessions s JOIN contents c ON c.id = s.content_id"
)

func headInto(h *assay.Head) []any {
	return []any{intTo(&h.Key), intTo(&h.Content), &h.UserID, &h.SessionID, textTo(&h.ContentHash), intTo(&h.Version),
		asTimePtr{&h.StartedAt}, asTimePtr{&h.LastTurnAt}, asTime{&h.ArrivedAt}, asTimePtr{&h.SettleFrom}, &h.Day, &h.Arm, &h.Case,
		&h.SourceURL, &h.AgentVersion, &h.Source, intTo(&h.Turns), intTo(&h.Messages), intTo(&h.ToolCalls), &h.BodyBytes,
		&h.Repaired, &h.Empty, asJSON{&h.Metadata}}
}

func (s sessions) Get(ctx context.Context, project assay.ProjectID, user, id string) (head assay.Head, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		head = assay.Head{}
		found, err := c.first(ctx, "SELECT "+headColumns+headTables+" WHERE s.project_id = $1 AND s.user_id = $2 AND s.session_id = $3",
			[]any{project, user, id}, headInto(&head)...)
		if err == nil && !found {
			err = notFound("there is no session %s", assay.SessionName(user, id)).WithHint("`assay sessions list` prints the names")
		}
		return err
	})
	return head, err
}

func (s sessions) Contents(ctx context.Context, key assay.SessionKey) (list []store.Content, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(c *store.Content) []any {
			return []any{intTo(&c.Key), textTo(&c.Hash), intTo(&c.Version), asTime{&c.ArrivedAt}, &c.Import, &c.Bytes, &c.Current}
		}
		list, err = collect(ctx, c, into, `SELECT c.id, c.hash, c.version, c.arrived_at, c.import_id, c.bytes, c.id = s.content_id
			FROM contents c JOIN sessions s ON s.id = c.session_key WHERE c.session_key = $1 ORDER BY c.version DESC`, key)
		return err
	})
	return list, err
}

// Rekey locks the heads that it reads, so that no import changes one before it is written.
func (s sessions) Rekey(ctx context.Context, project assay.ProjectID, after assay.SessionKey, limit int, f func(*assay.Head)) (last assay.SessionKey, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		last = 0
		heads, err := collect(ctx, t.conn, headInto, "SELECT "+headColumns+headTables+
			" WHERE s.id > $1 AND s.project_id = $2 ORDER BY s.id LIMIT $3 FOR NO KEY UPDATE OF s", after, project, limit)
		if err != nil {
			return err
		}
		var ids []int64
		var days, arms, cases []string
		for i := range heads {
			h := &heads[i]
			day, arm, caseKey := h.Day, h.Arm, h.Case
			f(h)
			last = h.Key
			if h.Day == day && h.Arm == arm && h.Case == caseKey {
				continue
			}
			ids, days, arms, cases = append(ids, int64(h.Key)), append(days, h.Day), append(arms, h.Arm), append(cases, h.Case)
		}
		if len(ids) == 0 {
			return nil
		}
		_, err = t.exec(ctx, `UPDATE sessions s SET day = u.day, arm = u.arm, case_key = u.case_key
			FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) u (id, day, arm, case_key) WHERE s.id = u.id`, ids, days, arms, cases)
		return err
	})
	return last, err
}

func (s sessions) Count(ctx context.Context, project assay.ProjectID) (t store.Totals, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		_, err := c.first(ctx, `SELECT (SELECT count(*) FROM sessions WHERE project_id = $1), count(*), coalesce(sum(c.bytes), 0)::bigint,
			(SELECT count(*) FROM labels WHERE project_id = $1)
			FROM sessions s JOIN contents c ON c.session_key = s.id WHERE s.project_id = $1`, []any{project},
			&t.Sessions, &t.Contents, &t.Bytes, &t.Labels)
		return err
	})
	return t, err
}

// snapshot lends a connection whose statements all see one state of the database and may take long.
// f is not run again.
func (s *Store) snapshot(ctx context.Context, f func(conn) error) error {
	select {
	case s.long <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.long }()
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return translate(ctx, acquireError(err))
	}
	defer c.Release()
	t, err := c.BeginTx(ctx, pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '10min'"})
	if err != nil {
		return translate(ctx, err)
	}
	defer func() { _ = t.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
	return translate(ctx, f(conn{t}))
}
