package llmtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// output is what a scripted model gives, in no protocol yet. finish is Chat Completions' word.
type output struct {
	text    string
	call    string // the input of a tool call
	refusal string
	finish  string
}

// cachedTokens and reasoningTokens are told of every call whose prompt and answer have as many.
const (
	cachedTokens    = 16
	reasoningTokens = 4
)

// used counts four bytes as a token. All protocols tell the same counts in their own way.
func used(r *Request, o output) (input, cached, written int) {
	input = len(r.Body) / 4
	return input, min(input, cachedTokens), len(o.text+o.call)/4 + reasoningTokens
}

// completion is a response of the request's protocol.
func completion(r *Request, o output) string {
	switch r.API() {
	case Responses:
		return response(r, o)
	case Messages:
		return claudeMessage(r, o)
	}
	return chatCompletion(r, o)
}

func served(r *Request) string { return marshal(r.Model() + "-2025-01-01") }

func chatCompletion(r *Request, o output) string {
	input, cached, written := used(r, o)
	calls := ""
	if o.call != "" {
		calls = `,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"verdict","arguments":` + marshal(o.call) + `}}]`
	}
	return fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion","created":1700000000,"model":%s,"system_fingerprint":"fp_test",`+
		`"choices":[{"index":0,"finish_reason":%q,"logprobs":null,"message":{"role":"assistant","content":%s,"refusal":%s%s}}],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}}`,
		r.N, served(r), o.finish, nullable(o.text), nullable(o.refusal), calls, input, written, input+written, cached, reasoningTokens)
}

func response(r *Request, o output) string {
	input, cached, written := used(r, o)
	items := []string{`{"type":"reasoning","id":"rs_1","summary":[]}`}
	if o.call != "" {
		items = append(items, `{"type":"function_call","id":"fc_1","call_id":"call_1","status":"completed","name":"verdict","arguments":`+marshal(o.call)+`}`)
	}
	part := func(p string) {
		items = append(items, `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[`+p+`]}`)
	}
	switch {
	case o.refusal != "":
		part(`{"type":"refusal","refusal":` + marshal(o.refusal) + `}`)
	case o.text != "":
		part(`{"type":"output_text","annotations":[],"text":` + marshal(o.text) + `}`)
	}
	status, why := "completed", "null"
	if reason := map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}[o.finish]; reason != "" {
		status, why = "incomplete", `{"reason":`+strconv.Quote(reason)+`}`
	}
	return fmt.Sprintf(`{"id":"resp_%d","object":"response","created_at":1700000000,"status":%q,"error":null,"incomplete_details":%s,"model":%s,"output":[%s],`+
		`"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}}`,
		r.N, status, why, served(r), strings.Join(items, ","), input, cached, written, reasoningTokens, input+written)
}

func claudeMessage(r *Request, o output) string {
	input, cached, written := used(r, o)
	blocks := []string{`{"type":"thinking","thinking":"Let me see.","signature":"c2ln"}`}
	stop, details := "end_turn", "null"
	if o.text != "" {
		blocks = append(blocks, `{"type":"text","text":`+marshal(o.text)+`}`)
	}
	if o.call != "" {
		stop, blocks = "tool_use", append(blocks, `{"type":"tool_use","id":"toolu_1","name":"verdict","input":`+toolInput(o.call)+`}`)
	}
	switch {
	case o.refusal != "":
		stop, details = "refusal", `{"type":"refusal","category":null,"explanation":`+marshal(o.refusal)+`}`
	case o.finish == "length":
		stop = "max_tokens"
	case o.finish == "content_filter": // a platform in front of the model; Anthropic itself answers 400
		stop = "content_filtered"
	}
	return fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":%s,"content":[%s],"stop_reason":%q,"stop_sequence":null,"stop_details":%s,`+
		`"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d},"service_tier":"standard"}}`,
		r.N, served(r), strings.Join(blocks, ","), stop, details, input-cached, cached, written, reasoningTokens)
}

// toolInput is the input as it stands in a block: the object itself, or where it is no JSON, a text, as
// servers in front of a model that streams it hand it on.
func toolInput(call string) string {
	if json.Valid([]byte(call)) {
		return call
	}
	return marshal(call)
}
