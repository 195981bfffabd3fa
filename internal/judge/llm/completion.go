package llm

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/assay"
	"assay/internal/judge"
)

// completion is what is read of a chat completion. It is read leniently, so that a server that adds
// or leaves out a field is not taken for a broken one.
type completion struct {
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint"`
	Choices     []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content json.RawMessage `json:"content"`
			Refusal string          `json:"refusal"`
		} `json:"message"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		PromptMore *struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionMore *struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (c *completion) usage() assay.Usage {
	if c.Usage == nil {
		return assay.Usage{}
	}
	u := assay.Usage{Known: true, Input: c.Usage.Prompt, Output: c.Usage.Completion}
	if c.Usage.PromptMore != nil {
		u.Cached = c.Usage.PromptMore.Cached
	}
	if c.Usage.CompletionMore != nil {
		u.Reasoning = c.Usage.CompletionMore.Reasoning
	}
	return u
}

// content is the text of the first choice, from a string or from a list of text parts.
func (c *completion) content() string {
	raw := c.Choices[0].Message.Content
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			s += p.Text
		}
	}
	return s
}

// readCompletion takes the model's text out of a response with status 200, or says why there is none.
func readCompletion(body []byte, r *judge.Reply) (content string, ok bool) {
	fail := func(class assay.Class, format string, args ...any) (string, bool) {
		r.Class, r.Error = class, fmt.Sprintf(format, args...)
		return "", false
	}
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		r.Raw = bounded(string(body))
		return fail(assay.ClassMalformed, "the endpoint's response is not a chat completion: %s", firstLine(err.Error()))
	}
	r.Model, r.Fingerprint, r.Usage = c.Model, c.Fingerprint, c.usage()
	if len(c.Choices) == 0 {
		r.Raw = bounded(string(body))
		if p := readProblem(0, body); len(c.Error) > 0 && string(c.Error) != "null" {
			// Routers report an upstream's error with status 200 and its status as the code.
			if _, err := fmt.Sscanf(p.code, "%d", &p.status); err != nil || p.status < 400 {
				p.status = 502
			}
			class := p.class()
			return fail(class, "%s", p.sentence(class))
		}
		return fail(assay.ClassMalformed, "the endpoint's response has no choices")
	}
	choice := c.Choices[0]
	content = c.content()
	r.Raw = bounded(content)
	switch {
	case choice.Message.Refusal != "":
		r.Raw = bounded(choice.Message.Refusal)
		return fail(assay.ClassRefused, "the model refused: %s", firstLine(choice.Message.Refusal))
	case choice.FinishReason == "content_filter":
		return fail(assay.ClassContentFiltered, "the provider's filter stopped the answer")
	case choice.FinishReason == "length":
		return fail(assay.ClassTruncated, "the answer hit its length limit after %d tokens; raise max_tokens", r.Usage.Output)
	case strings.TrimSpace(content) == "":
		return fail(assay.ClassMalformed, unread+"it is empty")
	}
	return content, true
}

func bounded(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), judge.MaxRaw)], "�")
}
