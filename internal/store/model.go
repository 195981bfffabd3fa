package store

import (
	"context"
	"time"

	"assay/internal/assay"
)

// Models are what people said about models: prices and limits, for the whole database.
type Models interface {
	// List is in (endpoint, model) order. There are few.
	List(ctx context.Context) ([]assay.Model, error)
	// Put stores settings in place of those that were there.
	Put(ctx context.Context, key assay.ModelKey, s assay.ModelSettings, now time.Time) error
	// Delete forgets them; CodeNotFound when there are none.
	Delete(ctx context.Context, key assay.ModelKey) error
}
