package main

import (
	"context"

	"assay/internal/api"
	"assay/internal/store"
)

// pageSize is how many rows a list asks for at a time.
const pageSize = 500

// each pages through a list and calls f for up to limit rows; 0 means all. more says that rows were
// left when the limit was met.
func each[T any](ctx context.Context, limit int, page func(context.Context, store.Page) (api.Page[T], error), f func(T) error) (more bool, err error) {
	p := store.Page{Limit: pageSize}
	for seen := 0; ; {
		if limit > 0 {
			p.Limit = min(pageSize, limit-seen)
		}
		rows, err := page(ctx, p)
		if err != nil {
			return false, err
		}
		for _, row := range rows.Items {
			if err := f(row); err != nil {
				return false, err
			}
		}
		seen += len(rows.Items)
		if rows.Next == "" {
			return false, nil
		}
		if limit > 0 && seen >= limit {
			return true, nil
		}
		p.Cursor = rows.Next
	}
}
