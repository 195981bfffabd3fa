package price

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const azure = "azure"

// vendor is one whose own servers charge the catalogue's prices.
type vendor struct{ id, host string }

// vendors lists whose prices are believed, and only at these addresses: a regional or a company's own
// address in front of them may charge otherwise. The catalogue holds more: subscriptions with token
// prices of 0, markets whose price depends on who answers, and prices rounded to a cent are left out.
// OpenRouter is in for its free models and its use, though it may pass a call on to a dearer server than
// the one it lists, unless the request says the most that it may cost (provider.max_price).
func vendors() []vendor {
	return []vendor{
		{"openai", "api.openai.com"},
		{"anthropic", "api.anthropic.com"},
		{"gemini", "generativelanguage.googleapis.com"},
		{"openrouter", "openrouter.ai"},
		{"xai", "api.x.ai"},
		{"groq", "api.groq.com"},
		{"deepseek", "api.deepseek.com"},
		{"cerebras", "api.cerebras.ai"},
		{"moonshot", "api.moonshot.ai"},
		{"fireworks", "api.fireworks.ai"},
		{"baseten", "inference.baseten.co"},
	}
}

// vendorOf is the catalogue's provider for an address, or "". The address decides. provider can only take
// away: a judge that names a server of one's own there, or another vendor, leaves the vendor unknown.
func vendorOf(provider, endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || (u.Port() != "" && u.Port() != "443") {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	found := ""
	switch i := slices.IndexFunc(vendors(), func(v vendor) bool { return v.host == host }); {
	case i >= 0:
		found = vendors()[i].id
	case strings.HasSuffix(host, ".openai.azure.com"), strings.HasSuffix(host, ".services.ai.azure.com"):
		found = azure
	}
	if provider != found && contradicts(provider) {
		return ""
	}
	return found
}

// contradicts says whether a judge's provider tells that the address is not another vendor's. "openai" does
// not: it is the word for every server that speaks OpenAI's protocol.
func contradicts(provider string) bool {
	switch provider {
	case "vllm", "ollama", "litellm", azure:
		return true
	}
	return provider != "openai" && slices.ContainsFunc(vendors(), func(v vendor) bool { return v.id == provider })
}

// priced says whether the price of the model that matched is this one's. Azure's never is: a deployment's
// name is free text, and its price depends on its region and kind; only its context is taken from a name
// that is exactly a model's. GPT-4o's first snapshot costs twice what the name without a date does.
func priced(vendor, model string) bool {
	return vendor != azure && model != "gpt-4o-2024-05-13"
}

// dated is how OpenAI (2025-04-14) and Anthropic (20250929) write the day of a snapshot.
var dated = regexp.MustCompile(`-(20\d\d-[01]\d-[0-3]\d|20\d\d[01]\d[0-3]\d)$`)

// spellings are the names under which the catalogue may keep a model, best first. Only OpenAI and
// Anthropic charge the same for a snapshot as for the name without its date.
func spellings(vendor, model string) []string {
	names := []string{model}
	switch vendor {
	case "openai", "anthropic", azure:
		if plain := dated.ReplaceAllString(model, ""); plain != model {
			names = append(names, plain)
		}
	case "gemini":
		// Google's own list of models writes "models/gemini-2.5-pro", and its endpoint takes both.
		names = append(names, strings.TrimPrefix(model, "models/"))
	}
	return names
}

// flatUpTo is the longest prompt, in tokens, for which one price is known to hold. Google and xAI charge
// twice as much for prompts over 200,000 tokens, OpenAI from GPT-5.4 on for those over 272,000, and the
// vendor of Qwen, which OpenRouter passes on, has steps from 32,000. The catalogue tells the lowest step.
func flatUpTo(vendor, model string) int64 {
	if vendor == "openrouter" && (strings.HasPrefix(model, "qwen/") || strings.HasPrefix(model, "bytedance")) {
		return 32_000
	}
	return 200_000
}
