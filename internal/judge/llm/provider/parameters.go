package provider

import (
	"encoding/json"
	"maps"
	"slices"

	"assay/internal/assay"
)

// Names of what a request asks for, where a protocol wants one.
const (
	answerName        = "verdict"
	answerDescription = "Gives the answer."
)

// owned are the members of a request that the other parameters set: extra cannot reach around them.
var owned = map[API][]string{
	ChatCompletions: {"model", "messages", "response_format", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "stream", "stream_options", "n", "tools", "tool_choice", "functions", "function_call"},
	Responses:       {"model", "input", "instructions", "text", "temperature", "top_p", "max_output_tokens", "stream", "stream_options", "tools", "tool_choice", "background", "conversation", "previous_response_id", "prompt"},
	Messages:        {"model", "messages", "system", "output_config", "temperature", "top_p", "max_tokens", "stream", "tools", "tool_choice"},
}

// check says which of p cannot be asked of the API.
func (p Params) check(api API, profile Profile) error {
	switch formats := []string{FormatSchema, FormatTool, FormatObject, FormatNone}; {
	case p.Model == "":
		return invalid("model", "no model is given").WithHint("name the model as the endpoint knows it, with a date where it has one")
	case !slices.Contains(formats, p.Format):
		return invalid("response_format", "response_format %.40q is not known", p.Format).WithHint("use json_schema, tool, json_object or none")
	case (p.Format == FormatSchema || p.Format == FormatTool) && !json.Valid(p.Schema):
		return invalid("response_format", "response_format %s needs a schema", p.Format).WithHint("use none where there is none")
	case p.Format == FormatObject && api == Messages:
		return invalid("response_format", "the Messages API has no json_object").WithHint("use json_schema or tool")
	case p.MaxTokens < 1:
		return invalid("max_tokens", "the limit of the output is less than 1").WithHint("give at least a few hundred tokens: a cut answer is no verdict")
	case p.Seed != nil && api != ChatCompletions:
		return invalid("seed", "the API %s has no seed", api).WithHint("drop it, or use chat_completions")
	case p.MaxTokensField != "" && api != ChatCompletions:
		return invalid("max_tokens", "the API %s has one field for the limit of the output", api).WithHint("use max_tokens")
	case p.MaxTokensField != "" && p.MaxTokensField != "max_tokens" && p.MaxTokensField != "max_completion_tokens":
		return invalid("max_tokens", "the field %.40q for the limit of the output is not known", p.MaxTokensField).WithHint("use max_tokens or max_completion_tokens")
	case p.Reasoning != "" && api == Messages && p.Format == FormatTool:
		return invalid("reasoning", "a model that thinks cannot be forced to call a tool").WithHint("use response_format json_schema, or drop reasoning")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		if slices.Contains(owned[api], name) || p.Reasoning != "" && name == reasoningMember(api, profile) {
			return invalid("extra", "extra parameter %q is set by the judge itself", name).WithHint("use the field of that name, or drop it")
		}
		if !json.Valid(p.Extra[name]) {
			return invalid("extra", "extra parameter %q is not JSON", name).WithHint("give a value that can stand in JSON")
		}
	}
	return nil
}

func reasoningMember(api API, profile Profile) string {
	switch api {
	case ChatCompletions:
		return profile.reasoningField
	case Responses:
		return "reasoning"
	}
	return "thinking"
}

// parameters writes everything of a request but its messages, in the SDK's words, as a JSON object.
func parameters(api API, profile Profile, p Params, system string) (raw json.RawMessage, err error) {
	if p.Format == "" {
		p.Format = profile.Format
	}
	if err := p.check(api, profile); err != nil {
		return nil, err
	}
	p.Schema = suited(p, api, profile)
	switch api {
	case ChatCompletions:
		raw, err = json.Marshal(chatParameters(profile, p))
	case Responses:
		raw, err = json.Marshal(responsesParameters(profile, p, system))
	default:
		raw, err = messagesParameters(p, system)
	}
	if err != nil {
		return nil, assay.Errorf(assay.CodeInvalid, "write the request's parameters: %w", err).WithHint("look at `extra`")
	}
	return raw, nil
}

// extra are the members beside those that the SDK's types name.
func extra(p Params, more map[string]json.RawMessage) map[string]any {
	all := make(map[string]any, len(p.Extra)+len(more))
	for name, raw := range p.Extra {
		all[name] = raw
	}
	for name, raw := range more {
		all[name] = raw
	}
	return all
}
