package provider

import (
	"math"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// mostTokens is more than any call can use. Larger counts are a server's mistake, and enough of them
// would overflow the sums over a run.
const mostTokens = 1_000_000_000

// usageOf reads what a call used, in our terms: Input holds Cached and CacheWrite, Output holds
// Reasoning. Counts that are missing or cannot be are unknown, never 0.
func usageOf(api API, doc gjson.Result) assay.Usage {
	u := doc.Get("usage")
	switch api {
	case ChatCompletions:
		return chatUsage(u)
	case Responses:
		return counted(u.Get("input_tokens"), u.Get("output_tokens"), u.Get("input_tokens_details.cached_tokens"), u.Get("input_tokens_details.cache_write_tokens"), u.Get("output_tokens_details.reasoning_tokens"))
	}
	return messagesUsage(u)
}

func counted(input, output, cached, written, reasoning gjson.Result) assay.Usage {
	in, okIn := tokens(input)
	out, okOut := tokens(output)
	if !okIn || !okOut {
		return assay.Usage{}
	}
	c, _ := tokens(cached)
	w, _ := tokens(written)
	r, _ := tokens(reasoning)
	c = min(c, in)
	return assay.Usage{Known: true, Input: in, Output: out, Cached: c, CacheWrite: min(w, in-c), Reasoning: min(r, out)}
}

// chatUsage knows two habits beside OpenAI's. Gemini and xAI leave reasoning out of completion_tokens
// and count it in total_tokens alone; it is billed as output. Servers in front of Anthropic tell what
// was written to the cache under one of three names.
func chatUsage(u gjson.Result) assay.Usage {
	written := u.Get("prompt_tokens_details.cache_write_tokens")
	for _, name := range []string{"prompt_tokens_details.cache_creation_tokens", "cache_creation_input_tokens"} {
		if !written.Exists() {
			written = u.Get(name)
		}
	}
	reasoning := u.Get("completion_tokens_details.reasoning_tokens")
	usage := counted(u.Get("prompt_tokens"), u.Get("completion_tokens"), u.Get("prompt_tokens_details.cached_tokens"), written, reasoning)
	if total, ok := tokens(u.Get("total_tokens")); ok && usage.Known && total > usage.Input+usage.Output {
		apart := total - usage.Input - usage.Output
		usage.Output += apart
		told, _ := tokens(reasoning)
		usage.Reasoning = min(max(told, apart), usage.Output)
	}
	return usage
}

// messagesUsage adds up what Anthropic counts apart: input_tokens are those that were neither read from
// the cache nor written to it.
func messagesUsage(u gjson.Result) assay.Usage {
	input, okIn := tokens(u.Get("input_tokens"))
	output, okOut := tokens(u.Get("output_tokens"))
	if !okIn || !okOut {
		return assay.Usage{}
	}
	read, _ := tokens(u.Get("cache_read_input_tokens"))
	written, _ := tokens(u.Get("cache_creation_input_tokens"))
	thought, _ := tokens(u.Get("output_tokens_details.thinking_tokens"))
	return assay.Usage{Known: true, Input: input + read + written, Cached: read, CacheWrite: written, Output: output, Reasoning: min(thought, output)}
}

func tokens(n gjson.Result) (int64, bool) {
	if n.Type != gjson.Number || n.Num < 0 || n.Num > mostTokens {
		return 0, false
	}
	return n.Int(), true
}

// billed is what a router that chooses among dearer and cheaper servers says that a call cost, in dollars.
func billed(provider string, doc gjson.Result) *assay.USD {
	cost := doc.Get("usage.cost")
	if provider != "openrouter" || cost.Type != gjson.Number || cost.Num < 0 || cost.Num > float64(assay.MaxUSD/assay.Dollar) {
		return nil
	}
	usd := assay.USD(math.Ceil(cost.Num * float64(assay.Dollar)))
	return &usd
}
