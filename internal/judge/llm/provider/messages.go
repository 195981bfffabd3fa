package provider

import (
	"encoding/json"
	"strconv"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicparam "github.com/anthropics/anthropic-sdk-go/packages/param"
)

func messagesParameters(p Params, system string) (json.RawMessage, error) {
	c := anthropic.MessageNewParams{Model: anthropic.Model(p.Model), MaxTokens: p.MaxTokens, Messages: []anthropic.MessageParam{}}
	if system != "" {
		c.System = []anthropic.TextBlockParam{{Text: system}}
	}
	if p.Reasoning == "" {
		if p.Temperature != nil {
			c.Temperature = anthropicparam.NewOpt(*p.Temperature)
		}
		if p.TopP != nil {
			c.TopP = anthropicparam.NewOpt(*p.TopP)
		}
	}
	switch budget, err := strconv.ParseInt(p.Reasoning, 10, 64); {
	case p.Reasoning == "":
	case err == nil:
		c.Thinking.OfEnabled = &anthropic.ThinkingConfigEnabledParam{BudgetTokens: budget}
	case p.Reasoning == "none":
		c.Thinking.OfDisabled = &anthropic.ThinkingConfigDisabledParam{}
	default:
		c.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{}
		c.OutputConfig.Effort = anthropic.OutputConfigEffort(p.Reasoning)
	}
	switch p.Format {
	case FormatSchema:
		c.OutputConfig.Format.SetExtraFields(map[string]any{"schema": p.Schema, "type": "json_schema"}) // a map of the SDK's would lose the order
	case FormatTool:
		t := anthropic.ToolParam{Name: answerName, Description: anthropicparam.NewOpt(answerDescription)} // not strict: models that know strict know json_schema
		t.SetExtraFields(map[string]any{"input_schema": p.Schema})
		c.Tools = []anthropic.ToolUnionParam{{OfTool: &t}}
		c.ToolChoice.OfTool = &anthropic.ToolChoiceToolParam{Name: answerName, DisableParallelToolUse: anthropicparam.NewOpt(true)}
	}
	all := extra(p, nil)
	all["messages"] = anthropicparam.Omit // they are written beside
	c.SetExtraFields(all)
	return json.Marshal(c)
}
