package api

import "assay/internal/store"

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
