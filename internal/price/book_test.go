package price

import (
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
)

func TestWhatAPersonSetComesFirst(t *testing.T) {
	book := NewBook()
	own := assay.ModelKey{Endpoint: "http://localhost:8000/v1", Model: "llama"}
	mini := assay.ModelKey{Endpoint: openAI, Model: "gpt-4.1-mini"}
	if f := book.Facts("vllm", own); f.Price != nil {
		t.Fatalf("nothing is set: %+v", f)
	}
	looked := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	book.Overrides.Set([]assay.Model{
		{ModelKey: own, Settings: assay.ModelSettings{Price: &assay.Price{}, ContextTokens: 8192}},
		{ModelKey: mini, Settings: assay.ModelSettings{Price: &assay.Price{Input: assay.Dollar, Output: 2 * assay.Dollar, AsOf: &looked, Source: "contract"}}},
	})

	f := book.Facts("vllm", own)
	if most := f.Price.Reservation(1e9, 1e9); most == nil || *most != 0 {
		t.Errorf("a price that was set to 0 is known: %v", most)
	}
	if f.ContextTokens != 8192 {
		t.Errorf("of one's own: %+v, %+v", f, f.Price)
	}

	f = book.Facts("openai", mini)
	if f.Price.Cached != nil || f.Price.Input != assay.Dollar || f.Price.UpTo != 0 {
		t.Errorf("the catalogue's price is mixed in: %+v", f)
	}
	if f.Price.Source != "contract" || !f.Price.AsOf.Equal(looked) || f.ContextTokens != 1047576 || f.match.model != "gpt-4.1-mini" {
		t.Errorf("what was not set is the catalogue's: %+v, %+v", f, f.Price)
	}

	if f := book.Facts("openai", assay.ModelKey{Endpoint: openAI, Model: "gpt-4.1"}); f.Price.Input != 2*assay.Dollar {
		t.Errorf("another model: %+v", f.Price)
	}
	book.Overrides.Set(nil)
	if f := book.Facts("openai", mini); f.Price.Input != 4*assay.Dollar/10 {
		t.Errorf("after it was forgotten: %+v", f.Price)
	}
}

func TestLimitsAloneLeaveThePrice(t *testing.T) {
	book := NewBook()
	key := assay.ModelKey{Endpoint: openAI, Model: "gpt-4.1"}
	book.Overrides.Set([]assay.Model{{ModelKey: key, Settings: assay.ModelSettings{Limits: assay.Limits{Concurrency: 2}}}})
	f := book.Facts("openai", key)
	if f.Price == nil || f.Price.Input != 2*assay.Dollar || f.ContextTokens != 1047576 || f.Price.UpTo == 0 {
		t.Errorf("%+v", f)
	}
	if m, set := book.Overrides.For(key); !set || m.Settings.Limits.Concurrency != 2 {
		t.Errorf("what was set: %+v, %v", m, set)
	}
}

func TestOverridesAreForMany(t *testing.T) {
	book := NewBook()
	key := assay.ModelKey{Endpoint: "https://a.example", Model: "m"}
	price := assay.Price{Input: 1}
	stored := []assay.Model{{ModelKey: key, Settings: assay.ModelSettings{Price: &price}}}
	book.Overrides.Set(stored)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 200 {
				if i == 0 {
					book.Overrides.Set(stored)
					continue
				}
				f := book.Facts("", key)
				f.Price.Input++
			}
		})
	}
	all.Wait()
	if price.Input != 1 {
		t.Error("an answer shares memory with what was set")
	}
}
