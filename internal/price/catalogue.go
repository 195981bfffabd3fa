package price

import (
	"math"
	"strings"
	"sync"
	"time"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"assay/internal/assay"
)

// The catalogue's version and the day on which it was published: the day of its prices.
const (
	catalogueModule  = "charm.land/catwalk"
	catalogueVersion = "v0.52.1"
	catalogueDay     = "2026-08-19"
)

// Catalogue is the compiled-in catalogue. It is parsed when it is first asked, and safe for concurrent
// use.
type Catalogue struct {
	models func() map[id]catwalk.Model
}

// id names a model: the catalogue's provider and its own name for the model.
type id struct{ provider, model string }

// New makes a catalogue without reading it.
func New() *Catalogue { return &Catalogue{models: sync.OnceValue(read)} }

// Version is the catalogue's name and the day of its prices.
func (*Catalogue) Version() (name string, day time.Time) {
	day, err := time.Parse(time.DateOnly, catalogueDay)
	if err != nil {
		panic(err) // a constant
	}
	return "catwalk " + catalogueVersion, day
}

func read() map[id]catwalk.Model {
	wanted := map[string]bool{azure: true}
	for _, v := range vendors() {
		wanted[v.id] = true
	}
	models := map[id]catwalk.Model{}
	for _, p := range embedded.GetAll() {
		if !wanted[string(p.ID)] {
			continue
		}
		for _, m := range p.Models {
			models[id{string(p.ID), m.ID}] = m
		}
	}
	// Anthropic's names without a date are aliases of the snapshot, and the catalogue has only that.
	for name, m := range models {
		plain := id{name.provider, dated.ReplaceAllString(name.model, "")}
		if _, known := models[plain]; name.provider == "anthropic" && !known {
			models[plain] = m
		}
	}
	return models
}

// Facts is what the catalogue knows of a model. provider is the judge's word for what kind of server
// answers, or ""; the address decides whose model it is.
func (c *Catalogue) Facts(provider string, key assay.ModelKey) Facts {
	vendor := vendorOf(provider, key.Endpoint)
	if vendor == "" {
		return Facts{}
	}
	known := c.models()
	for _, name := range spellings(vendor, key.Model) {
		m, ok := known[id{vendor, name}]
		if !ok {
			continue
		}
		f := Facts{ContextTokens: m.ContextWindow, match: id{vendor, m.ID}}
		if priced(vendor, key.Model) {
			f.Price = c.price(vendor, m)
		}
		return f
	}
	return Facts{}
}

func (c *Catalogue) price(vendor string, m catwalk.Model) *assay.Price {
	name, day := c.Version()
	p := assay.Price{Input: usd(m.CostPer1MIn), Output: usd(m.CostPer1MOut), UpTo: flatUpTo(vendor, m.ID), AsOf: &day, Source: name}
	if p.Input == 0 && p.Output == 0 && vendor == "openrouter" && strings.HasSuffix(m.ID, ":free") {
		return &p
	}
	if p.Input <= 0 || p.Output <= 0 {
		return nil // not known: the catalogue writes 0 for that, too
	}
	p.Cached, p.CacheWrite = cachePrices(p.Input, usd(m.CostPer1MInCached), usd(m.CostPer1MOutCached))
	return &p
}

// cachePrices tells what two fields of the catalogue mean. By its own rule (CRUSH.md beside its source)
// the first is the price of cache writes and the second that of reads. But most of its OpenAI models and
// some of Google's keep the read price in the first, some of Google's repeat the output price in the
// second, and OpenRouter's write price of a Google model is what the storage costs on top. A write never
// costs less than plain input and a read always does, so the amounts tell; what tells nothing is nil,
// which is priced as plain input.
func cachePrices(input, first, second assay.USD) (read, write *assay.USD) {
	if first > input {
		write = &first
	}
	switch {
	case 0 < second && second < input:
		read = &second
	case 0 < first && first < input:
		read = &first
	}
	return read, write
}

// usd undoes the catalogue's float64: 0.39999999999999997 is 0.40. What is no amount is -1.
func usd(dollars float64) assay.USD {
	billionths := math.Round(dollars * float64(assay.Dollar))
	if !(billionths >= 0 && billionths <= float64(assay.MaxUSD)) {
		return -1
	}
	return assay.USD(billionths)
}
