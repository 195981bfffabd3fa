package llm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
	"assay/internal/judge"
)

// readCompletion takes the model's text out of a response with status 200, or says why there is none.
// It is read leniently, so that a server that adds a field, leaves one out or writes a number as a
// text is not taken for a broken one.
func readCompletion(body []byte, r *judge.Reply) (content string, ok bool) {
	fail := func(class assay.Class, format string, args ...any) (string, bool) {
		r.Class, r.Error = class, fmt.Sprintf(format, args...)
		return "", false
	}
	c := gjson.ParseBytes(body)
	if !json.Valid(body) || !c.IsObject() {
		r.Raw = bounded(string(body))
		return fail(assay.ClassMalformed, "the endpoint's response is not a chat completion")
	}
	r.Model, r.Fingerprint, r.Usage = c.Get("model").String(), c.Get("system_fingerprint").String(), usage(c.Get("usage"))
	choice := c.Get("choices.0")
	if !choice.IsObject() {
		r.Raw = bounded(string(body))
		if c.Get("error").Exists() && c.Get("error").Type != gjson.Null {
			p := relayed(body)
			class := p.class()
			return fail(class, "%s", p.sentence(class))
		}
		return fail(assay.ClassMalformed, "the endpoint's response has no choices")
	}
	content = text(choice.Get("message.content"))
	r.Raw = bounded(content)
	refusal, finish := choice.Get("message.refusal").String(), choice.Get("finish_reason").String()
	switch {
	case refusal != "":
		r.Raw = bounded(refusal)
		return fail(assay.ClassRefused, "the model refused: %s", firstLine(refusal))
	case finish == "content_filter":
		return fail(assay.ClassContentFiltered, "the provider's filter stopped the answer")
	case finish == "length":
		return fail(assay.ClassTruncated, "the answer hit its length limit after %d tokens; raise max_tokens", r.Usage.Output)
	case strings.TrimSpace(content) == "":
		return fail(assay.ClassMalformed, "%sit is empty", unread)
	}
	return content, true
}

// text is a message's content, from a string or from a list of text parts.
func text(content gjson.Result) string {
	if !content.IsArray() {
		return content.String()
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		b.WriteString(part.Get("text").String())
		return true
	})
	return b.String()
}

// mostTokens is more than any call can use. Larger counts are a server's mistake, and enough of them
// would overflow the sums over a run.
const mostTokens = 1_000_000_000

// usage reads what a call used; counts that are missing or cannot be are unknown, never 0.
func usage(u gjson.Result) assay.Usage {
	input, okInput := tokens(u.Get("prompt_tokens"))
	output, okOutput := tokens(u.Get("completion_tokens"))
	if !okInput || !okOutput {
		return assay.Usage{}
	}
	cached, _ := tokens(u.Get("prompt_tokens_details.cached_tokens"))
	reasoning, _ := tokens(u.Get("completion_tokens_details.reasoning_tokens"))
	return assay.Usage{Known: true, Input: input, Output: output, Cached: min(cached, input), Reasoning: min(reasoning, output)}
}

func tokens(n gjson.Result) (int64, bool) {
	if n.Type != gjson.Number || n.Num < 0 || n.Num > mostTokens {
		return 0, false
	}
	return n.Int(), true
}

func bounded(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), judge.MaxRaw)], "�")
}
