package provider

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
)

func chatParameters(profile Profile, p Params) openai.ChatCompletionNewParams {
	c := openai.ChatCompletionNewParams{Model: shared.ChatModel(p.Model)}
	if p.Reasoning == "" {
		c.Temperature, c.TopP = optional(p.Temperature), optional(p.TopP)
	}
	if p.Reasoning == "" || !profile.reasoningFixed {
		c.Seed = optional(p.Seed)
	}
	field := p.MaxTokensField
	if field == "" {
		field = profile.MaxTokensField
	}
	if field == "max_tokens" {
		c.MaxTokens = param.NewOpt(p.MaxTokens)
	} else {
		c.MaxCompletionTokens = param.NewOpt(p.MaxTokens)
	}
	switch p.Format {
	case FormatSchema:
		c.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: answerName, Strict: param.NewOpt(true), Schema: p.Schema}}
	case FormatObject:
		c.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case FormatTool:
		f := shared.FunctionDefinitionParam{Name: answerName, Description: param.NewOpt(answerDescription)}
		if profile.strictTools {
			f.Strict = param.NewOpt(true)
			c.ParallelToolCalls = param.NewOpt(false)
		}
		f.SetExtraFields(map[string]any{"parameters": p.Schema}) // a map of the SDK's would lose the order
		c.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(f)}
		c.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: answerName})
	}
	more := map[string]json.RawMessage{}
	switch {
	case p.Reasoning == "":
	case profile.reasoningField == "reasoning":
		more["reasoning"] = json.RawMessage(`{"effort":` + string(appendText(nil, p.Reasoning)) + `}`)
	default:
		c.ReasoningEffort = shared.ReasoningEffort(p.Reasoning)
	}
	if all := extra(p, more); len(all) > 0 {
		c.SetExtraFields(all)
	}
	return c
}

func optional[T float64 | int64](v *T) param.Opt[T] {
	if v == nil {
		return param.Opt[T]{}
	}
	return param.NewOpt(*v)
}
