package llm

import (
	"testing"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// Counts that no call can have come from real proxies; sums over a run must survive them.
func TestUsage(t *testing.T) {
	for raw, want := range map[string]assay.Usage{
		`{"prompt_tokens":10,"completion_tokens":3}`: {Known: true, Input: 10, Output: 3},
		`{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2}}`: {Known: true, Input: 10, Output: 3, Cached: 8, Reasoning: 2},
		`{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":-1}}`:               {Known: true, Input: 10, Output: 3},
		`{"prompt_tokens":0,"completion_tokens":0}`:                                     {Known: true},
		`{"prompt_tokens":-5,"completion_tokens":3}`:                                    {},
		`{"prompt_tokens":10,"completion_tokens":99999999999999999999}`:                 {},
		`{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}`: {},
		`{"prompt_tokens":"10","completion_tokens":3}`:                                  {},
		`{"prompt_tokens":10}`:                                                          {},
		`{}`:                                                                            {},
		`null`:                                                                          {},
		`"many"`:                                                                        {},
	} {
		if got := usage(gjson.Parse(raw)); got != want {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
}
