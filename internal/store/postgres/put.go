package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/assay"
	"assay/internal/store"
)

func (s sessions) Put(ctx context.Context, project assay.ProjectID, importID int64, batch []store.NewSession, now time.Time) (results []store.PutResult, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	called := time.Now()
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := lockProject(ctx, t, project, "FOR KEY SHARE"); err != nil {
			return err
		}
		arrived := store.Stamp(now, called)
		p := putter{tx: t, project: project, importID: importID, now: arrived.UnixMicro(), at: map[name]*placed{}}
		if err := p.load(ctx, batch); err != nil {
			return err
		}
		results = make([]store.PutResult, len(batch))
		for i := range batch {
			results[i] = p.place(&batch[i])
		}
		if err := p.store(ctx, arrived); err != nil {
			if violates(err, "sessions_project_id_user_id_session_id_key") {
				return errAgain // another import added the same session meanwhile; now it is seen
			}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// putter decides in memory what becomes of a batch, and then writes all of it in one round trip.
type putter struct {
	tx
	project  assay.ProjectID
	importID int64
	now      int64

	at       map[name]*placed
	sessions []*placed     // new ones
	changed  []*placed     // known ones with another head
	contents []*newContent // new ones, in order
	revived  []*newContent // known ones whose body may have been erased
	labels   []placedLabel
}

type name struct{ user, session string }

// placed is a session of the batch and where its rows are. A content's number is -i while it is the
// i-th new one.
type placed struct {
	name
	key     int64
	content int64
	hash    assay.Hash
	head    *assay.Head // what the row becomes; nil leaves it
	known   map[assay.Hash]int64
	newest  int64
	isNew   bool
}

type newContent struct {
	of      *placed
	id      int64
	version int64
	in      *store.NewSession
}

type placedLabel struct {
	content int64
	label   assay.Label
}

// load locks the sessions that exist already, in the order of their names, and reads their contents.
func (p *putter) load(ctx context.Context, batch []store.NewSession) error {
	var users, ids []string
	for i := range batch {
		n := name{clean(batch[i].Head.UserID), clean(batch[i].Head.SessionID)}
		if p.at[n] == nil {
			p.at[n] = &placed{name: n, isNew: true}
			users, ids = append(users, n.user), append(ids, n.session)
		}
	}
	byKey := map[int64]*placed{}
	var row placed
	err := p.each(ctx, func() error {
		known := p.at[row.name]
		known.key, known.content, known.isNew, known.known = row.key, row.content, false, map[assay.Hash]int64{}
		byKey[row.key] = known
		return nil
	}, `SELECT s.id, s.content_id, s.user_id, s.session_id FROM unnest($2::text[], $3::text[]) u (user_id, session_id)
		JOIN sessions s ON s.project_id = $1 AND s.user_id = u.user_id AND s.session_id = u.session_id
		ORDER BY s.user_id, s.session_id FOR NO KEY UPDATE OF s`, []any{p.project, users, ids}, &row.key, &row.content, &row.user, &row.session)
	if err != nil || len(byKey) == 0 {
		return err
	}
	keys := make([]int64, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	var key, id, version int64
	var hash assay.Hash
	return p.each(ctx, func() error {
		of := byKey[key]
		of.known[hash], of.newest = id, max(of.newest, version)
		if id == of.content {
			of.hash = hash
		}
		return nil
	}, "SELECT session_key, id, hash, version::bigint FROM contents WHERE session_key = ANY($1)", []any{keys}, &key, &id, textTo(&hash), &version)
}

// place decides about one session and notes what is to be written.
func (p *putter) place(n *store.NewSession) store.PutResult {
	of := p.at[name{clean(n.Head.UserID), clean(n.Head.SessionID)}]
	result := store.PutUnchanged
	switch {
	case of.isNew && of.head == nil:
		result = store.PutNew
		p.sessions = append(p.sessions, of)
		of.known = map[assay.Hash]int64{}
		p.present(of, n)
	case of.hash != n.Head.ContentHash:
		result = store.PutChanged
		if !of.isNew && of.head == nil {
			p.changed = append(p.changed, of)
		}
		p.present(of, n)
	}
	for _, l := range n.Labels {
		p.labels = append(p.labels, placedLabel{of.content, l})
	}
	return result
}

// present makes n the present content of a session.
func (p *putter) present(of *placed, n *store.NewSession) {
	of.head, of.hash = &n.Head, n.Head.ContentHash
	if id, ok := of.known[of.hash]; ok {
		of.content = id
		if id > 0 {
			p.revived = append(p.revived, &newContent{of: of, id: id, in: n})
		}
		return
	}
	of.newest++
	p.contents = append(p.contents, &newContent{of: of, version: of.newest, in: n})
	of.content = -int64(len(p.contents))
	of.known[of.hash] = of.content
}

// number draws numbers for the new rows, so that a head is written once, with its content.
func (p *putter) number(ctx context.Context) error {
	const draw = "SELECT nextval(pg_get_serial_sequence($1, 'id')) FROM generate_series(1, $2)"
	var id int64
	next := 0
	if err := p.each(ctx, func() error { p.sessions[next].key = id; next++; return nil }, draw, []any{"sessions", len(p.sessions)}, &id); err != nil {
		return err
	}
	next = 0
	return p.each(ctx, func() error { p.contents[next].id = id; next++; return nil }, draw, []any{"contents", len(p.contents)}, &id)
}

// real is the number of a content that may be new.
func (p *putter) real(content int64) int64 {
	if content < 0 {
		return p.contents[-content-1].id
	}
	return content
}

func (p *putter) store(ctx context.Context, now time.Time) error {
	if len(p.contents) > 0 {
		if err := p.number(ctx); err != nil {
			return err
		}
	}
	b := &pgx.Batch{}
	p.queueSessions(b)
	p.queueContents(b)
	if b.Len() > 0 {
		if err := p.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
	}
	var labels newLabels
	for _, l := range p.labels {
		labels.add(p.real(l.content), l.label)
	}
	return labels.put(ctx, p.tx, p.project, now)
}

const (
	headArrays = `unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[],
		$12::bool[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bool[], $21::text[])
		u (id, content_id, user_id, session_id, day, arm, started_at, last_turn_at, settle_from, empty, case_key, source_url, agent_version,
		source, turns, messages, tool_calls, repaired, metadata)`
	insertSessions = `INSERT INTO sessions (project_id, arrived_at, id, content_id, user_id, session_id, day, arm, started_at, last_turn_at, settle_from,
		empty, case_key, source_url, agent_version, source, turns, messages, tool_calls, repaired, metadata)
		SELECT $1, $2, u.* FROM ` + headArrays
	updateSessions = `UPDATE sessions s SET content_id = u.content_id, arrived_at = $2, day = u.day, arm = u.arm, started_at = u.started_at,
		last_turn_at = u.last_turn_at, settle_from = u.settle_from, empty = u.empty, case_key = u.case_key, source_url = u.source_url,
		agent_version = u.agent_version, source = u.source, turns = u.turns, messages = u.messages, tool_calls = u.tool_calls,
		repaired = u.repaired, metadata = u.metadata FROM ` + headArrays + ` WHERE s.project_id = $1 AND s.id = u.id`
)

func (p *putter) queueSessions(b *pgx.Batch) {
	if len(p.sessions) > 0 {
		b.Queue(insertSessions, p.heads(p.sessions)...)
	}
	if len(p.changed) > 0 {
		b.Queue(updateSessions, p.heads(p.changed)...)
	}
}

func (p *putter) heads(rows []*placed) []any {
	n := len(rows)
	ints := func(f func(*placed) int64) []int64 { return column(rows, n, f) }
	texts := func(f func(*placed) string) []string { return column(rows, n, f) }
	bools := func(f func(*placed) bool) []bool { return column(rows, n, f) }
	times := func(f func(*assay.Head) *time.Time) []*int64 {
		return column(rows, n, func(r *placed) *int64 { return microsOf(f(r.head)) })
	}
	return values([]any{
		p.project, p.now,
		ints(func(r *placed) int64 { return r.key }),
		ints(func(r *placed) int64 { return p.real(r.content) }),
		texts(func(r *placed) string { return r.user }),
		texts(func(r *placed) string { return r.session }),
		texts(func(r *placed) string { return r.head.Day }),
		texts(func(r *placed) string { return r.head.Arm }),
		times(func(h *assay.Head) *time.Time { return h.StartedAt }),
		times(func(h *assay.Head) *time.Time { return h.LastTurnAt }),
		times(func(h *assay.Head) *time.Time { return h.SettleFrom }),
		bools(func(r *placed) bool { return r.head.Empty }),
		texts(func(r *placed) string { return r.head.Case }),
		texts(func(r *placed) string { return r.head.SourceURL }),
		texts(func(r *placed) string { return r.head.AgentVersion }),
		texts(func(r *placed) string { return r.head.Source }),
		ints(func(r *placed) int64 { return int64(r.head.Turns) }),
		ints(func(r *placed) int64 { return int64(r.head.Messages) }),
		ints(func(r *placed) int64 { return int64(r.head.ToolCalls) }),
		bools(func(r *placed) bool { return r.head.Repaired }),
		column(rows, n, func(r *placed) *string { return toJSON(r.head.Metadata) }),
	})
}

func column[R, T any](rows []R, n int, f func(R) T) []T {
	out := make([]T, n)
	for i, r := range rows {
		out[i] = f(r)
	}
	return out
}

func (p *putter) queueContents(b *pgx.Batch) {
	if n := len(p.contents); n > 0 {
		b.Queue(`INSERT INTO contents (arrived_at, import_id, id, session_key, hash, version, bytes)
			SELECT $1, $2, u.* FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[]) u`, values([]any{
			p.now, p.importID,
			column(p.contents, n, func(c *newContent) int64 { return c.id }),
			column(p.contents, n, func(c *newContent) int64 { return c.of.key }),
			column(p.contents, n, func(c *newContent) string { return string(c.in.Head.ContentHash) }),
			column(p.contents, n, func(c *newContent) int64 { return c.version }),
			column(p.contents, n, func(c *newContent) int64 { return c.in.Head.BodyBytes }),
		})...)
	}
	if bodies := append(p.contents, p.revived...); len(bodies) > 0 {
		b.Queue("INSERT INTO bodies (content_id, body) SELECT * FROM unnest($1::bigint[], $2::bytea[]) ON CONFLICT DO NOTHING",
			column(bodies, len(bodies), func(c *newContent) int64 { return c.id }),
			column(bodies, len(bodies), func(c *newContent) []byte { return c.in.Body }))
	}
}
