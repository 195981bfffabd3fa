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
	Price *assay.Price
	// PriceUpTo is the longest prompt, in tokens, for which the price is known to hold: the catalogue
	// tells one price, and several vendors charge twice as much for a longer prompt. 0 is any length.
	PriceUpTo     int64
	ContextTokens int64 // prompt and answer together
	// DefaultOutput is what the catalogue would ask for as max_tokens. It bounds nothing: many models
	// answer with up to four times as much.
	DefaultOutput int64
	CanReason     bool
	// Provider and Model are the catalogue's names for what matched; "" where nothing did.
	Provider, Model string
}

// Worst is the most that a call can cost; known is false where no price is known for such a prompt.
func (f Facts) Worst(input, output int64) (most assay.USD, known bool) {
	if f.Price == nil || f.PriceUpTo > 0 && input > f.PriceUpTo {
		return 0, false
	}
	return f.Price.Worst(input, output), true
}
