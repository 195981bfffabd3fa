package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/filter"
	"assay/internal/store"
)

// SessionQuery selects sessions of a project in lists and for sets. Zero fields select all.
type SessionQuery struct {
	From     *time.Time `json:"from,omitempty" doc:"start of the window on the session's start, inclusive"`
	To       *time.Time `json:"to,omitempty" doc:"end of the window, exclusive"`
	Undated  bool       `json:"undated,omitempty" doc:"with a window: sessions without any time too"`
	Filter   string     `json:"filter,omitempty" doc:"CEL over the session's head"`
	Set      string     `json:"set,omitempty" doc:"only members of this set"`
	Labelled bool       `json:"labelled,omitempty" doc:"only sessions that have a label"`
}

// SessionView is one session: what lists show of it, its stored contents and one of them whole.
type SessionView struct {
	Head     assay.Head      `json:"session"`
	Contents []store.Content `json:"contents" nullable:"false" doc:"newest first"`
	Shown    assay.Hash      `json:"shown" doc:"content hash of body"`
	Body     json.RawMessage `json:"body,omitempty" doc:"the conversation in the native format; absent when it is no longer stored"`
}

// SessionListInput is SessionQuery as query parameters.
type SessionListInput struct {
	ProjectInput
	PageInput
	From     time.Time `query:"from" doc:"start of the window on the session's start, inclusive"`
	To       time.Time `query:"to" doc:"end of the window, exclusive"`
	Undated  bool      `query:"undated" doc:"with a window: sessions without any time too"`
	Filter   string    `query:"filter" doc:"CEL over the session's head, e.g. arm == 'treatment' && turns > 2"`
	Set      string    `query:"set" doc:"only members of this set"`
	Labelled bool      `query:"labelled" doc:"only sessions that have a label"`
}

func (in SessionListInput) query() SessionQuery {
	q := SessionQuery{Undated: in.Undated, Filter: in.Filter, Set: in.Set, Labelled: in.Labelled}
	if !in.From.IsZero() {
		q.From = &in.From
	}
	if !in.To.IsZero() {
		q.To = &in.To
	}
	return q
}

// SessionInput names one session.
type SessionInput struct {
	ProjectInput
	User    string `path:"user" doc:"user id, escaped as a path segment"`
	Session string `path:"session" doc:"session id, escaped as a path segment"`
}

type getSessionInput struct {
	SessionInput
	Content string `query:"content" doc:"content hash of the version whose body is asked for; absent: the present one"`
}

type sessionVerdictsInput struct {
	SessionInput
	PageInput
}

func (s *server) sessionRoutes(a huma.API) {
	tags := []string{"sessions"}
	route(s, a, huma.Operation{OperationID: "list-sessions", Method: http.MethodGet, Path: "/projects/{project}/sessions", Tags: tags,
		Summary: "List sessions, without bodies"},
		func(ctx context.Context, in *SessionListInput) (*answer[Page[assay.Head]], error) {
			return say(s.listSessions(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "get-session", Method: http.MethodGet, Path: "/projects/{project}/sessions/{user}/{session}", Tags: tags,
		Summary: "Show a session with its contents and the body of one"},
		func(ctx context.Context, in *getSessionInput) (*answer[SessionView], error) {
			return say(s.getSession(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "list-session-verdicts", Method: http.MethodGet, Path: "/projects/{project}/sessions/{user}/{session}/verdicts", Tags: tags,
		Summary: "List every verdict on a session, newest first"},
		func(ctx context.Context, in *sessionVerdictsInput) (*answer[Page[assay.Verdict]], error) {
			_, head, err := s.head(ctx, in.SessionInput)
			if err != nil {
				return nil, err
			}
			verdicts, next, err := s.Store.Verdicts().List(ctx, store.VerdictQuery{Session: head.Key}, in.page())
			return say(pageOf(verdicts, next), err)
		})
}

// selection is a query in the store's terms.
type selection struct {
	store.SessionQuery
	fault error // the first failure of the filter while it was applied
}

// end is the error of a scan that the selection was used in.
func (sel *selection) end(err error) error {
	if err == nil {
		err = sel.fault
	}
	return err
}

func (s *server) selection(ctx context.Context, p assay.Project, q SessionQuery) (*selection, error) {
	out := &selection{SessionQuery: store.SessionQuery{From: q.From, To: q.To, Undated: q.Undated, Labelled: q.Labelled}}
	if q.From != nil && q.To != nil && !q.From.Before(*q.To) {
		return out, assay.Errorf(assay.CodeInvalid, "the window from %s to %s is empty", q.From.Format(time.RFC3339), q.To.Format(time.RFC3339)).
			WithHint("from is inclusive, to is exclusive and must be later")
	}
	if q.Set != "" {
		set, err := s.Store.Sets().Get(ctx, p.ID, q.Set)
		if err != nil {
			return out, err
		}
		out.Set = set.ID
	}
	if q.Filter != "" {
		f, err := filter.Compile(q.Filter)
		if err != nil {
			return out, err
		}
		out.Match = func(h *assay.Head) bool {
			ok, err := f.Match(h)
			if err != nil && out.fault == nil {
				out.fault = err
			}
			return ok
		}
	}
	return out, nil
}

func (s *server) listSessions(ctx context.Context, in *SessionListInput) (page Page[assay.Head], err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return page, err
	}
	q, err := s.selection(ctx, p, in.query())
	if err != nil {
		return page, err
	}
	heads, next, err := s.Store.Sessions().List(ctx, p.ID, q.SessionQuery, in.page())
	return pageOf(heads, next), q.end(err)
}

func (s *server) head(ctx context.Context, in SessionInput) (p assay.Project, h assay.Head, err error) {
	if p, err = s.project(ctx, in.ProjectInput); err != nil {
		return p, h, err
	}
	h, err = s.Store.Sessions().Get(ctx, p.ID, in.User, in.Session)
	return p, h, err
}

func (s *server) getSession(ctx context.Context, in *getSessionInput) (v SessionView, err error) {
	_, head, err := s.head(ctx, in.SessionInput)
	if err != nil {
		return v, err
	}
	contents, err := s.Store.Sessions().Contents(ctx, head.Key)
	if err != nil {
		return v, err
	}
	v = SessionView{Head: head, Contents: contents, Shown: head.ContentHash}
	key := head.Content
	if in.Content != "" {
		v.Shown, key = assay.Hash(in.Content), 0
		for _, c := range contents {
			if c.Hash == v.Shown {
				key = c.Key
			}
		}
		if key == 0 {
			return v, assay.Errorf(assay.CodeNotFound, "session %s has no content %s", head.Name(), in.Content).
				WithHint("its contents are listed when the session is asked for without one")
		}
	}
	compressed, _, err := s.Store.Bodies().Get(ctx, key)
	if assay.CodeOf(err) == assay.CodeNotFound {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Body, err = store.DecompressBody(compressed)
	return v, err
}
