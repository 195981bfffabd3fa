package provider

import (
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func responsesParameters(profile Profile, p Params, system string) responses.ResponseNewParams {
	c := responses.ResponseNewParams{Model: p.Model, MaxOutputTokens: param.NewOpt(p.MaxTokens)}
	c.Store = param.NewOpt(false) // a transcript is kept nowhere that was not asked for
	if system != "" {
		c.Instructions = param.NewOpt(system)
	}
	if p.Reasoning == "" {
		c.Temperature, c.TopP = optional(p.Temperature), optional(p.TopP)
	} else {
		c.Reasoning.Effort = shared.ReasoningEffort(p.Reasoning)
	}
	switch p.Format {
	case FormatSchema:
		f := responses.ResponseFormatTextJSONSchemaConfigParam{Name: answerName, Strict: param.NewOpt(true)}
		f.SetExtraFields(map[string]any{"schema": p.Schema}) // a map of the SDK's would lose the order
		c.Text.Format.OfJSONSchema = &f
	case FormatObject:
		c.Text.Format.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case FormatTool:
		f := responses.FunctionToolParam{Name: answerName, Description: param.NewOpt(answerDescription), Strict: param.NewOpt(profile.strictTools)}
		f.SetExtraFields(map[string]any{"parameters": p.Schema})
		c.Tools = []responses.ToolUnionParam{{OfFunction: &f}}
		c.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: answerName}
		if profile.strictTools {
			c.ParallelToolCalls = param.NewOpt(false)
		}
	}
	if all := extra(p, nil); len(all) > 0 {
		c.SetExtraFields(all)
	}
	return c
}
