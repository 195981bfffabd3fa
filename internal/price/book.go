package price

import (
	"sync"

	"assay/internal/assay"
)

// Overrides are what people set for models. It is safe for concurrent use; the zero value is empty.
type Overrides struct {
	mu     sync.RWMutex
	models map[assay.ModelKey]assay.Model
}

// Set puts models in place of all that were there.
func (o *Overrides) Set(models []assay.Model) {
	table := make(map[assay.ModelKey]assay.Model, len(models))
	for _, m := range models {
		table[m.ModelKey] = m
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.models = table
}

// For is what was set for a model.
func (o *Overrides) For(key assay.ModelKey) (m assay.Model, set bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	m, set = o.models[key]
	return m, set
}

// Book is the catalogue with what people set in place of it.
type Book struct {
	Catalogue *Catalogue
	Overrides *Overrides
}

// NewBook makes a book in which nothing is set.
func NewBook() *Book { return &Book{Catalogue: New(), Overrides: &Overrides{}} }

// Facts is what is known of a model. A price that was set counts whole, 0 too: a server of one's own is
// free, and nothing of the catalogue's price is mixed in.
func (b *Book) Facts(provider string, key assay.ModelKey) Facts {
	f := b.Catalogue.Facts(provider, key)
	m, set := b.Overrides.For(key)
	if !set {
		return f
	}
	if m.Settings.Price != nil {
		p := *m.Settings.Price
		f.Price = &p
	}
	if m.Settings.ContextTokens > 0 {
		f.ContextTokens = m.Settings.ContextTokens
	}
	return f
}
