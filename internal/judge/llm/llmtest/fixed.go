package llmtest

import (
	"net/http"
	"strings"
)

// Fixed answers every request with the same verdict and parses nothing but the token: the cheapest
// model, for benchmarks.
func Fixed(values map[string]any) Script {
	const place = "0123456789abcdef"
	type ends struct{ before, after string }
	type kind struct {
		api  API
		tool bool
	}
	bodies := map[kind]ends{}
	for _, path := range []string{"/chat/completions", "/responses", "/messages"} {
		for _, body := range []string{"", `"tool_choice":{`} {
			r := &Request{N: 1, Path: path, Body: []byte(body), parsed: parsed{Model: "fixed"}}
			r.once.Do(func() {})
			o := output{text: Answer(place, values), finish: "stop"}
			if body != "" {
				o.text, o.call = "", o.text
			}
			var e ends
			e.before, e.after, _ = strings.Cut(completion(r, o), place)
			bodies[kind{r.API(), r.Tool()}] = e
		}
	}
	return Always(Step{status: http.StatusOK, body: func(r *Request) string {
		e := bodies[kind{r.API(), r.Tool()}]
		return e.before + r.Token() + e.after
	}})
}
