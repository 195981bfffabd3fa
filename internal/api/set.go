package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// Members names sessions for a set: by USER/ID, by a query, or both.
type Members struct {
	Sessions []string      `json:"sessions,omitempty" doc:"USER/ID of each" maxItems:"100000"`
	Query    *SessionQuery `json:"query,omitempty" doc:"every session that it selects now"`
}

// NewSet is the body that makes a set.
type NewSet struct {
	Name string `json:"name" minLength:"1" maxLength:"128"`
	Members
}

// SetChange is a set after members were added.
type SetChange struct {
	store.Set
	Added int64 `json:"added"`
}

// setBatch keeps one write transaction well under 50 ms.
const setBatch = 1000

type createSetInput struct {
	ProjectInput
	Body NewSet
}

type addMembersInput struct {
	ProjectInput
	Set  string `path:"set"`
	Body Members
}

func (s *server) setRoutes(a huma.API) {
	tags := []string{"sets"}
	route(s, a, huma.Operation{OperationID: "list-sets", Method: http.MethodGet, Path: "/projects/{project}/sets", Tags: tags,
		Summary: "List sets"},
		func(ctx context.Context, in *ProjectInput) (*answer[Page[store.Set]], error) {
			p, err := s.project(ctx, *in)
			if err != nil {
				return nil, err
			}
			sets, err := s.Store.Sets().List(ctx, p.ID)
			return say(pageOf(sets, ""), err)
		})
	route(s, a, huma.Operation{OperationID: "create-set", Method: http.MethodPost, Path: "/projects/{project}/sets", Tags: tags,
		Summary: "Make a set from names or from a query", DefaultStatus: http.StatusCreated, MaxBodyBytes: 32 << 20},
		func(ctx context.Context, in *createSetInput) (*answer[SetChange], error) {
			return say(s.createSet(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "add-set-members", Method: http.MethodPost, Path: "/projects/{project}/sets/{set}/members", Tags: tags,
		Summary: "Add members to a set", MaxBodyBytes: 32 << 20},
		func(ctx context.Context, in *addMembersInput) (*answer[SetChange], error) {
			return say(s.addMembers(ctx, in))
		})
}

func (s *server) createSet(ctx context.Context, in *createSetInput) (c SetChange, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return c, err
	}
	// Members first: a name that does not exist must not leave an empty set behind.
	keys, err := s.members(ctx, p, in.Body.Members)
	if err != nil {
		return c, err
	}
	set, err := s.Store.Sets().Create(ctx, p.ID, in.Body.Name, s.Now())
	if err != nil {
		return c, err
	}
	return s.fill(ctx, p, set, keys)
}

func (s *server) addMembers(ctx context.Context, in *addMembersInput) (c SetChange, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return c, err
	}
	set, err := s.Store.Sets().Get(ctx, p.ID, in.Set)
	if err != nil {
		return c, err
	}
	keys, err := s.members(ctx, p, in.Body)
	if err != nil {
		return c, err
	}
	return s.fill(ctx, p, set, keys)
}

// members finds the sessions that m names.
func (s *server) members(ctx context.Context, p assay.Project, m Members) (keys []assay.SessionKey, err error) {
	for _, name := range m.Sessions {
		user, id, err := assay.ParseSessionName(name)
		if err != nil {
			return nil, err
		}
		head, err := s.Store.Sessions().Get(ctx, p.ID, user, id)
		if err != nil {
			return nil, err
		}
		keys = append(keys, head.Key)
	}
	if m.Query == nil {
		return keys, nil
	}
	q, err := s.selection(ctx, p, *m.Query)
	if err != nil {
		return nil, err
	}
	err = s.Store.Sessions().Scan(ctx, p.ID, q.SessionQuery, func(row *store.FrameRow) error {
		keys = append(keys, row.Key)
		return nil
	})
	return keys, q.end(err)
}

func (s *server) fill(ctx context.Context, p assay.Project, set store.Set, keys []assay.SessionKey) (c SetChange, err error) {
	for batch := range slices.Chunk(keys, setBatch) {
		added, err := s.Store.Sets().Add(ctx, set.ID, batch)
		if err != nil {
			return c, err
		}
		c.Added += added
	}
	c.Set, err = s.Store.Sets().Get(ctx, p.ID, set.Name)
	return c, err
}
