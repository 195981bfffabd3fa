package api

import (
	"encoding/json"
	"time"

	"assay/internal/assay"
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
