package llmtest

import (
	"net/http"
	"strings"
)

// Fixed answers every request with the same verdict and parses nothing but the token: the cheapest
// model, for benchmarks.
func Fixed(values map[string]any) Script {
	const place = "0123456789abcdef"
	body := completion(&Request{N: 1, parsed: parsed{Model: "fixed"}}, Answer(place, values), "", "stop")
	before, after, _ := strings.Cut(body, place)
	step := Step{status: http.StatusOK, body: func(r *Request) string { return before + r.Token() + after }}
	return Always(step)
}
