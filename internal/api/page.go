package api

import (
	"assay/internal/store"
)

// Limits of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 1000
)

// Page is a part of a list. Next asks for the following part and is empty on the last one.
type Page[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"cursor of the following page; absent on the last"`
}

// pageOf makes a page whose empty list is [] and not null.
func pageOf[T any](items []T, next string) Page[T] {
	if items == nil {
		items = []T{}
	}
	return Page[T]{Items: items, Next: next}
}

// PageInput are the query parameters of every list.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"rows in the page"`
	Cursor string `query:"cursor" doc:"next of the page before; opaque"`
}

func (p PageInput) page() store.Page { return store.Page{Cursor: p.Cursor, Limit: p.Limit} }
