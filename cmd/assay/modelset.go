package main

import (
	"assay/internal/api"
	"assay/internal/assay"
)

type modelsSetCmd struct {
	modelArg
	InputPrice        *dollars `placeholder:"USD" help:"Per million tokens of the prompt."`
	CachedPrice       *dollars `placeholder:"USD" help:"Per million tokens of the prompt that the provider had cached. Default: as --input-price."`
	CacheWritePrice   *dollars `placeholder:"USD" help:"Per million tokens of the prompt that the provider caches. Default: as --input-price."`
	OutputPrice       *dollars `placeholder:"USD" help:"Per million tokens of the answer, reasoning included."`
	ContextTokens     *int64   `placeholder:"N" help:"How much fits into the model, prompt and answer together; 0: as known."`
	RequestsPerMinute *float64 `placeholder:"N" help:"Calls that may leave in a minute, of all runs together; 0: no bound."`
	TokensPerMinute   *float64 `placeholder:"N" help:"Tokens of prompts and answers in a minute; 0: no bound."`
	Concurrency       *int     `placeholder:"N" help:"Calls in flight, of all runs together; 0: no bound."`
}

func (modelsSetCmd) Help() string {
	return `What is set holds for all projects, for the next call and also while runs run. What is not given stays as it was. A price that is set stands whole in place of the catalogue's, so it needs --input-price and --output-price; 0 is right for a server of your own. Nothing that was spent changes.

Example:

    assay models set my-judge --requests-per-minute 300
    assay models set http://localhost:8000/v1 qwen3-8b --input-price 0 --output-price 0
    assay models set https://api.openai.com/v1 gpt-4.1-mini --concurrency 50`
}

func (c *modelsSetCmd) Run(a *app) error {
	given := *c
	given.modelArg = modelArg{}
	if given == (modelsSetCmd{}) {
		return misuse("nothing is given to set").WithHint("for instance --requests-per-minute 300")
	}
	d, key, err := c.open(a)
	if err != nil {
		return err
	}
	was, err := d.Model(a.ctx, a.Project, key)
	if err != nil && assay.CodeOf(err) != assay.CodeNotFound {
		return err
	}
	put := api.ModelPut{ModelKey: key}
	if was.Settings != nil {
		put.Price, put.Limits, put.ContextTokens = was.Settings.Price, was.Settings.Limits, was.Settings.ContextTokens
	}
	if put.Price, err = c.price(put.Price); err != nil {
		return err
	}
	give(&put.ContextTokens, c.ContextTokens)
	give(&put.Limits.RequestsPerMinute, c.RequestsPerMinute)
	give(&put.Limits.TokensPerMinute, c.TokensPerMinute)
	give(&put.Limits.Concurrency, c.Concurrency)
	m, err := d.PutModel(a.ctx, put)
	if err != nil {
		return err
	}
	if len(m.Judges) == 0 {
		m.Judges = append([]string{}, was.Judges...)
	}
	return a.printModel(d, m)
}

// price is the one that was set with what is given now.
func (c *modelsSetCmd) price(was *assay.Price) (*assay.Price, error) {
	if c.InputPrice == nil && c.CachedPrice == nil && c.CacheWritePrice == nil && c.OutputPrice == nil {
		return was, nil
	}
	if was == nil && (c.InputPrice == nil || c.OutputPrice == nil) {
		return nil, misuse("a price needs --input-price and --output-price").WithHint("0 is a price: that of a server of your own")
	}
	p := assay.Price{}
	if was != nil {
		p = *was
	}
	p.AsOf, p.Source = nil, "" // of today, and set
	if c.InputPrice != nil {
		p.Input = c.InputPrice.usd
	}
	if c.OutputPrice != nil {
		p.Output = c.OutputPrice.usd
	}
	if c.CachedPrice != nil {
		p.Cached = &c.CachedPrice.usd
	}
	if c.CacheWritePrice != nil {
		p.CacheWrite = &c.CacheWritePrice.usd
	}
	return &p, nil
}

func give[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
