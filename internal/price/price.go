// Package price knows what a model costs and how much it can read: the figures of a maintained
// catalogue (charm.land/catwalk, compiled in), with what a person set in place of them.
//
// It owns the reading of that catalogue and the question whose price a call has. It refuses to know
// calls, budgets and storage. Its invariant: a price is one that somebody published for exactly this
// model at exactly this address, or set for it; everything else is not known, and never 0.
package price

import "assay/internal/assay"

// Facts are what is known of a model. Zero fields are not known.
type Facts struct {
	Price         *assay.Price
	ContextTokens int64 // prompt and answer together
	match         id    // in the catalogue; zero where nothing did
}
