// Package price knows what a model costs and how much it can read: the figures of a maintained
// catalogue (charm.land/catwalk, compiled in), with what a person set in place of them.
//
// It owns the reading of that catalogue and the question whose price a call has. It refuses to know
// calls, budgets and storage. Its invariant: a price is one that somebody published for exactly this
// model at exactly this address, or set for it; everything else is not known, and never 0.
package price

import "assay/internal/assay"

// Facts are what is known of a model. Zero fields, and a nil Price, are not known.
type Facts struct {
	Price         *assay.Price
	ContextTokens int64 // prompt and answer together
	// DefaultOutput is what the catalogue would ask for as max_tokens. It bounds nothing: many models
	// answer with up to four times as much.
	DefaultOutput int64
	CanReason     bool
	// Provider and Model are the catalogue's names for what matched; "" where nothing did.
	Provider, Model string
}
