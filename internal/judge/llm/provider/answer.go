package provider

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
	"assay/internal/judge"
)

// answer is what a response of any protocol holds of the model's own.
type answer struct {
	found    bool     // there is an answer, be it empty
	text     string   // of all its text parts; thoughts are left out
	calls    []string // the inputs of its tool calls
	refusal  string   // what the model says when it declines
	refused  bool
	filtered string // why a filter stopped it
	cut      string // why it ends before its end
	pending  string // a status under which there is no answer yet
	failed   bool   // the response says that it failed, with an error
}

// content is what the strict parser reads. An answer through a tool is its input; where a server knows
// no tools, the model's text.
func (a answer) content(format string) string {
	calls := strings.Join(a.calls, "\n")
	if calls != "" && (format == FormatTool || strings.TrimSpace(a.text) == "") {
		return calls
	}
	return a.text
}

// readers find the answer in a response of each protocol. They are lenient: a server that adds a
// field, leaves one out or writes a number as a text is not taken for a broken one.
var readers = map[API]func(gjson.Result) answer{ChatCompletions: chatAnswer, Responses: responsesAnswer, Messages: messagesAnswer}

// read takes the model's text out of a response with status 2xx, or says why there is none.
func (c *Client) read(got *received, r *judge.Reply) (content string) {
	fail := func(class assay.Class, format string, args ...any) string {
		r.Class, r.Error = class, fmt.Sprintf(format, args...)
		return ""
	}
	if !gjson.ValidBytes(got.body) {
		return fail(unreadable(got))
	}
	doc := gjson.ParseBytes(got.body)
	r.Model, r.Usage = firstLine(doc.Get("model").String()), usageOf(c.settings.API, doc)
	r.Billed = billed(c.settings.Provider, doc)
	r.Fingerprint = firstLine(doc.Get("system_fingerprint").String())
	a := readers[c.settings.API](doc)
	if a.failed || !a.found && reportsError(doc) {
		p := relayed(got.status, doc)
		p.header = got.header
		c.failed(p, r)
		return ""
	}
	content = a.content(c.format)
	switch {
	case !a.found:
		return fail(assay.ClassMalformed, "the endpoint's response holds no answer of %s", c.settings.API)
	case a.refused:
		return fail(assay.ClassRefused, "the model refused: %s", firstLine(a.refusal))
	case a.filtered != "":
		return fail(assay.ClassContentFiltered, "the provider's filter stopped the answer (%s)", firstLine(a.filtered))
	case a.cut != "":
		if r.Usage.Known {
			a.cut += fmt.Sprintf(" after %d tokens", r.Usage.Output)
		}
		return fail(assay.ClassTruncated, "%s", a.cut)
	case a.pending != "":
		return fail(assay.ClassProviderError, "the response has the status %s and no answer", firstLine(a.pending))
	case strings.TrimSpace(content) == "":
		return fail(assay.ClassMalformed, "%sit is empty", Unread)
	}
	if calls := len(a.calls); calls > 0 && content != a.text {
		for _, call := range a.calls {
			if !gjson.Valid(call) {
				return fail(assay.ClassMalformed, "%sthe input of its tool call is not JSON", Unread)
			}
		}
	}
	return content
}

// unreadable says what a body with status 2xx is that is no JSON.
func unreadable(got *received) (class assay.Class, format string, arg any) {
	start := strings.TrimSpace(string(got.body[:min(len(got.body), 64)]))
	switch lower := strings.ToLower(start); {
	case start == "":
		return assay.ClassMalformed, "the endpoint's response is empty (status %d)", got.status
	case strings.HasPrefix(lower, "<"):
		return assay.ClassMalformed, "the endpoint's response is a page, not JSON (status %d); base_url may be that of a web site or of a login", got.status
	case strings.HasPrefix(lower, "data:") || strings.HasPrefix(lower, "event:") || strings.HasPrefix(lower, ": "):
		return assay.ClassMalformed, "the endpoint's response is an event stream although none was asked for (status %d)", got.status
	case start[0] == '{' && completed(string(got.body)) != string(got.body):
		return assay.ClassNetwork, "the endpoint's response ends in its middle, after %d bytes", len(got.body)
	}
	return assay.ClassMalformed, "the endpoint's response is not JSON (status %d)", got.status
}

const (
	cutByLimit   = "the answer hit its length limit; raise max_tokens; it ended"
	cutByContext = "the model's context window was full before the answer's end; shorten the prompt, use a model with a longer context, or a judge with `long_transcripts: head_and_tail`; it ended"
)

// filters are the words of providers for a filter, beside content_filter itself.
var filters = map[string]bool{"safety": true, "prohibited_content": true, "blocklist": true, "spii": true, "recitation": true, "image_safety": true, "content_filtered": true, "guardrail_intervened": true}

var cuts = map[string]string{"length": cutByLimit, "max_tokens": cutByLimit, "max_output_tokens": cutByLimit, "model_length": cutByContext, "model_context_window_exceeded": cutByContext}

func (a *answer) finished(reason string) {
	reason = strings.ToLower(reason)
	if strings.HasPrefix(reason, "content_filter") || filters[reason] {
		a.filtered = reason
	}
	a.cut = cuts[reason]
}

// chatAnswer reads a chat completion: its first choice.
func chatAnswer(doc gjson.Result) (a answer) {
	choice := doc.Get("choices.0")
	if !choice.IsObject() {
		// Gemini and Azure answer without choices when the prompt itself was stopped.
		if reason := doc.Get("promptFeedback.blockReason").String(); reason != "" {
			a.found, a.filtered = true, reason
		}
		return a
	}
	if e := choice.Get("error"); e.IsObject() {
		return answer{failed: true}
	}
	a.found = true
	message := choice.Get("message")
	a.take(message.Get("content"))
	message.Get("tool_calls").ForEach(func(_, call gjson.Result) bool {
		a.call(call.Get("function.arguments"))
		return true
	})
	if legacy := message.Get("function_call.arguments"); legacy.Exists() {
		a.call(legacy)
	}
	if refusal := message.Get("refusal").String(); refusal != "" {
		a.refused, a.refusal = true, refusal
	}
	a.finished(choice.Get("finish_reason").String())
	return a
}

// take reads a message's content: a string, or a list of parts of which only texts count.
func (a *answer) take(content gjson.Result) {
	if !content.IsArray() {
		if content.Type == gjson.String {
			a.text = content.Str
		}
		return
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		switch kind := part.Get("type").String(); {
		case kind == "refusal":
			a.refused, a.refusal = true, part.Get("refusal").String()
		case kind == "" || kind == "text" || kind == "output_text":
			b.WriteString(part.Get("text").String())
		}
		return true
	})
	a.text += b.String()
}

// call takes a tool's input: JSON in a string, or as some servers send it, the object itself.
func (a *answer) call(input gjson.Result) {
	switch {
	case input.Type == gjson.String:
		a.calls = append(a.calls, input.Str)
	case input.Exists():
		a.calls = append(a.calls, input.Raw)
	}
}

// responsesAnswer reads an object of the Responses API: its messages and function calls.
func responsesAnswer(doc gjson.Result) (a answer) {
	status := doc.Get("status").String()
	if status == "failed" || status == "cancelled" {
		return answer{failed: true}
	}
	output := doc.Get("output")
	a.found = output.IsArray()
	output.ForEach(func(_, item gjson.Result) bool {
		switch item.Get("type").String() {
		case "message":
			a.take(item.Get("content"))
		case "function_call":
			a.call(item.Get("arguments"))
		}
		return true
	})
	switch status {
	case "incomplete":
		a.finished(doc.Get("incomplete_details.reason").String())
		if a.filtered == "" && a.cut == "" {
			a.pending = status
		}
	case "queued", "in_progress":
		a.pending = status
	}
	return a
}

// messagesAnswer reads an object of the Messages API: its text and tool_use blocks.
func messagesAnswer(doc gjson.Result) (a answer) {
	if doc.Get("type").String() == "error" {
		return answer{failed: true}
	}
	content, stop := doc.Get("content"), doc.Get("stop_reason").String()
	a.found = content.IsArray() || stop != ""
	var b strings.Builder
	content.ForEach(func(_, block gjson.Result) bool {
		switch block.Get("type").String() {
		case "text":
			b.WriteString(block.Get("text").String())
		case "tool_use":
			a.call(block.Get("input"))
		}
		return true
	})
	a.text = b.String()
	if stop == "refusal" {
		a.refused = true
		if a.refusal = doc.Get("stop_details.explanation").String(); a.refusal == "" {
			a.refusal = doc.Get("stop_details.category").String()
		}
		if a.refusal == "" {
			a.refusal = a.text
		}
	}
	a.finished(stop)
	return a
}
