package price

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"assay/internal/assay"
)

const (
	openAI     = "https://api.openai.com/v1"
	claude     = "https://api.anthropic.com"
	google     = "https://generativelanguage.googleapis.com/v1beta/openai"
	openRouter = "https://openrouter.ai/api/v1"
)

func facts(provider, endpoint, model string) Facts {
	return New().Facts(provider, assay.ModelKey{Endpoint: endpoint, Model: model})
}

// dollars is "" for nil.
func dollars(u *assay.USD) string {
	if u == nil {
		return ""
	}
	return u.String()
}

// The prices are the vendors' published ones of the catalogue's day, per million tokens: OpenAI's and
// Anthropic's pricing pages, Google's Gemini API page.
func TestPricesMeanWhatVendorsPublish(t *testing.T) {
	for _, c := range []struct {
		endpoint, model              string
		input, cached, write, output string
	}{
		{openAI, "gpt-4.1", "2.00", "0.50", "", "8.00"},
		{openAI, "gpt-4.1-mini", "0.40", "0.10", "", "1.60"}, // 0.39999999999999997 in the catalogue
		{openAI, "gpt-4.1-mini-2025-04-14", "0.40", "0.10", "", "1.60"},
		{openAI, "gpt-4o-mini", "0.15", "0.075", "", "0.60"},
		{openAI, "gpt-5-mini", "0.25", "0.025", "", "2.00"},      // the read price in both fields
		{openAI, "gpt-5.4-mini", "0.75", "0.075", "", "4.50"},    // in the first alone
		{openAI, "o4-mini", "1.10", "0.275", "", "4.40"},         // in the second alone
		{openAI, "gpt-5.6-luna", "1.00", "0.10", "1.25", "6.00"}, // write first, read second
		{claude, "claude-sonnet-4-5-20250929", "3.00", "0.30", "3.75", "15.00"},
		{claude, "claude-sonnet-4-5", "3.00", "0.30", "3.75", "15.00"}, // the alias
		{claude, "claude-haiku-4-5", "1.00", "0.10", "1.25", "5.00"},
		{claude, "claude-opus-4-1-20250805", "15.00", "1.50", "18.75", "75.00"},
		{google, "gemini-2.5-pro", "1.25", "0.125", "", "10.00"},
		{google, "models/gemini-2.5-flash", "0.30", "0.03", "", "2.50"},
		{google, "gemini-3.1-flash-lite", "0.25", "0.025", "", "1.50"}, // the output price in the second field
		{openRouter, "anthropic/claude-sonnet-4.5", "3.00", "0.30", "3.75", "15.00"},
		{openRouter, "google/gemini-2.5-pro", "1.25", "0.125", "", "10.00"}, // storage in the first field
		{openRouter, "openai/gpt-4o-2024-05-13", "5.00", "", "", "15.00"},
		{openRouter, "openai/gpt-oss-20b:free", "0.00", "", "", "0.00"},
	} {
		p := facts("", c.endpoint, c.model).Price
		if p == nil {
			t.Errorf("%s at %s: no price", c.model, c.endpoint)
			continue
		}
		got := [4]string{p.Input.String(), dollars(p.Cached), dollars(p.CacheWrite), p.Output.String()}
		if want := [4]string{c.input, c.cached, c.write, c.output}; got != want {
			t.Errorf("%s at %s: input, cached, write, output = %v, want %v", c.model, c.endpoint, got, want)
		}
		if p.Source != "catwalk v0.52.1" || p.AsOf == nil || p.AsOf.Format(time.DateOnly) != "2026-08-19" {
			t.Errorf("%s: from %q of %v", c.model, p.Source, p.AsOf)
		}
	}
}

func TestWhatNobodyPublishedIsNotKnown(t *testing.T) {
	for _, c := range []struct{ why, provider, endpoint, model string }{
		{"a server of one's own", "", "http://localhost:8000/v1", "gpt-4.1"},
		{"a server of one's own", "openai", "http://127.0.0.1:11434/v1", "gpt-4.1"},
		{"without TLS it is not OpenAI", "openai", "http://api.openai.com/v1", "gpt-4.1"},
		{"another port", "openai", "https://api.openai.com:8443/v1", "gpt-4.1"},
		{"a company's proxy", "openai", "https://llm.example.com/v1", "gpt-4.1"},
		{"a proxy, named for what it is", "litellm", "https://llm.example.com", "openai/gpt-4.1"},
		{"regional addresses cost more", "openai", "https://eu.api.openai.com/v1", "gpt-4.1"},
		{"a name that ends alike", "openai", "https://api.openai.com.example.com/v1", "gpt-4.1"},
		{"the judge says that it is vLLM", "vllm", openAI, "gpt-4.1"},
		{"the judge says that it is another vendor", "anthropic", openAI, "gpt-4.1"},
		{"no address", "openai", "", "gpt-4.1"},
		{"a logical name in place of an address", "openai", "house", "gpt-4.1"},
		{"another vendor's model", "", openAI, "claude-sonnet-4-5"},
		{"a model that costs otherwise", "", openAI, "ft:gpt-4.1-mini:acme::a1"},
		{"the snapshot that costs twice as much", "", openAI, "gpt-4o-2024-05-13"},
		{"no such model", "", openAI, "gpt-4.1-huge"},
		{"a date in the middle", "", openAI, "gpt-4o-search-preview-2025-03-11"},
		{"another route, another price", "", openRouter, "openai/gpt-4.1:nitro"},
		{"whoever answers", "", openRouter, "openrouter/auto"},
		{"snapshots at OpenRouter are models of their own", "", openRouter, "openai/gpt-4.1-2025-04-14"},
		{"a deployment's name is free text", "azure", "https://acme.openai.azure.com/openai/v1", "gpt-4.1"},
		{"a deployment's name is free text", "", "https://acme.openai.azure.com/openai/v1", "judge"},
		{"a subscription", "", "https://api.githubcopilot.com", "gpt-4.1"},
		{"no model", "", openAI, ""},
	} {
		f := facts(c.provider, c.endpoint, c.model)
		if f.Price != nil {
			t.Errorf("%s: %q of provider %q at %q has a price: %+v", c.why, c.model, c.provider, c.endpoint, f)
		}
	}
}

func TestFactsBesidePrices(t *testing.T) {
	f := facts("openai", openAI, "gpt-4.1-mini-2025-04-14")
	if f.ContextTokens != 1047576 || f.match != (id{"openai", "gpt-4.1-mini"}) {
		t.Errorf("gpt-4.1-mini: %+v", f)
	}
	if f := facts("", claude, "claude-sonnet-4-5"); f.match.model != "claude-sonnet-4-5-20250929" {
		t.Errorf("claude-sonnet-4-5: %+v", f)
	}
	if f := facts("azure", "https://acme.openai.azure.com/openai/v1", "gpt-4o"); f.ContextTokens != 128_000 || f.Price != nil {
		t.Errorf("azure, a deployment named like a model: %+v", f)
	}
	if f := facts("openai", openRouter, "openai/gpt-4.1"); f.match.provider != "openrouter" || f.Price == nil {
		t.Errorf("openrouter spoken to as openai: %+v", f)
	}
	if f := facts("openai", "https://API.OpenAI.com:443/v1/", "gpt-4.1"); f.Price == nil {
		t.Errorf("another spelling of the address: %+v", f)
	}
	if f := facts("openai", openAI, "gpt-4o-2024-05-13"); f.ContextTokens != 128_000 {
		t.Errorf("a snapshot without a price has a context: %+v", f)
	}
}

func TestPriceHoldsUpToALength(t *testing.T) {
	f := facts("", google, "gemini-2.5-pro")
	if f.Price.Reservation(200_000, 100) == nil {
		t.Error("a prompt of 200,000 tokens has a price")
	}
	if f.Price.Reservation(200_001, 100) != nil {
		t.Error("Google charges twice as much for a longer prompt; the catalogue does not say so")
	}
	if f := facts("", openRouter, "qwen/qwen3-max"); f.Price.UpTo != 32_000 {
		t.Errorf("qwen has steps from 32,000 tokens: %+v", f)
	}
}

func TestZeroIsNotAPrice(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		why, vendor, model string
		input, output      float64
		known              bool
	}{
		{"a price", "openai", "m", 1, 2, true},
		{"the least", "openai", "m", 1e-9, 1e-9, true},
		{"both left out", "openai", "m", 0, 0, false},
		{"free elsewhere is not known", "openai", "m:free", 0, 0, false},
		{"free", "openrouter", "m:free", 0, 0, true},
		{"half of it left out", "openrouter", "m:free", 0, 1, false},
		{"half of it left out", "openai", "m", 1, 0, false},
		{"half of it left out", "openai", "m", 0, 1, false},
		{"OpenRouter writes -1 for what varies", "openrouter", "auto", -1e6, -1e6, false},
		{"not a number", "openai", "m", nan, 1, false},
		{"absurd", "openai", "m", 1, 1e12, false},
		{"infinite", "openai", "m", math.Inf(1), 1, false},
		{"less than can be told", "openai", "m", 1e-10, 1, false},
	} {
		p := New().price(c.vendor, catwalk.Model{ID: c.model, CostPer1MIn: c.input, CostPer1MOut: c.output})
		if (p != nil) != c.known {
			t.Errorf("%s: %+v", c.why, p)
		}
	}
}

// Every model of every vendor that is believed: nothing is free by omission, and cached tokens are never
// dearer than plain ones.
func TestEveryPriceIsPlausible(t *testing.T) {
	seen, priced := 0, 0
	c := New()
	hosts := map[string]string{}
	for _, v := range vendors() {
		hosts[v.id] = v.host
	}
	for _, p := range embedded.GetAll() {
		host, believed := hosts[string(p.ID)]
		if !believed {
			continue
		}
		delete(hosts, string(p.ID))
		if strings.HasPrefix(p.APIEndpoint, "https://") && !strings.HasPrefix(p.APIEndpoint, "https://"+host+"/") {
			t.Errorf("%s: the catalogue's address is %s, ours %s", p.ID, p.APIEndpoint, host)
		}
		for _, m := range p.Models {
			seen++
			f := c.Facts("", assay.ModelKey{Endpoint: "https://" + host + "/v1", Model: m.ID})
			if f.match.model != m.ID || f.ContextTokens <= 0 {
				t.Errorf("%s %s: %+v", p.ID, m.ID, f)
			}
			if f.Price == nil {
				t.Logf("no price: %s %s (%v, %v)", p.ID, m.ID, m.CostPer1MIn, m.CostPer1MOut)
				continue
			}
			priced++
			free := p.ID == "openrouter" && strings.HasSuffix(m.ID, ":free")
			if err := f.Price.Validate(); err != nil || (f.Price.Input == 0 || f.Price.Output == 0) != free {
				t.Errorf("%s %s: %+v, %v", p.ID, m.ID, f.Price, err)
			}
			if f.Price.Cached != nil && *f.Price.Cached >= f.Price.Input || f.Price.CacheWrite != nil && *f.Price.CacheWrite <= f.Price.Input {
				t.Errorf("%s %s: input %v, cached %s, write %s", p.ID, m.ID, f.Price.Input, dollars(f.Price.Cached), dollars(f.Price.CacheWrite))
			}
		}
	}
	if len(hosts) > 0 {
		t.Errorf("the catalogue has no %v", hosts)
	}
	t.Logf("%d of %d models have a price", priced, seen)
	if priced < 300 || priced*10 < seen*9 {
		t.Errorf("%d of %d models have a price: the catalogue changed its shape", priced, seen)
	}
}

// The version that prices name is the one that is compiled in.
func TestVersionIsTheModules(t *testing.T) {
	name, day := New().Version()
	if name != "catwalk "+catalogueVersion || day.IsZero() {
		t.Errorf("version %q of %v", name, day)
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, m := range build.Deps {
			if m.Path == catalogueModule && m.Version != catalogueVersion {
				t.Errorf("compiled with %s %s: put that version and its day here, and look at the prices in these tests", m.Path, m.Version)
			}
		}
	}
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), catalogueModule+" "+catalogueVersion) {
		t.Errorf("go.mod does not name %s %s", catalogueModule, catalogueVersion)
	}
}

func TestCatalogueIsReadOnceByMany(t *testing.T) {
	c := New()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				f := c.Facts("", assay.ModelKey{Endpoint: openAI, Model: "gpt-4.1"})
				f.Price.Input++ // every answer is the caller's own
				if f.Price.Input != 2*assay.Dollar+1 {
					t.Error("answers share memory")
				}
			}
		})
	}
	all.Wait()
}

// What a program pays that starts and never asks, and that asks once.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}

func BenchmarkFirstFacts(b *testing.B) {
	for b.Loop() {
		facts("", openAI, "gpt-4.1-mini")
	}
}

func BenchmarkFacts(b *testing.B) {
	c := New()
	key := assay.ModelKey{Endpoint: openAI, Model: "gpt-4.1-mini-2025-04-14"}
	b.ReportAllocs()
	for b.Loop() {
		c.Facts("openai", key)
	}
}
