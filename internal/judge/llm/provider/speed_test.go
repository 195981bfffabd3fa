package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"assay/internal/judge/llm/llmtest"
)

// BenchmarkInFlight compares a whole call of ours, from filling the body to the text, with the SDK's
// own typed call of the same content to the same server in the same run: 8 KB prompts, 500 in flight.
func BenchmarkInFlight(b *testing.B) {
	base := llmtest.Elsewhere(b, 50*time.Millisecond)
	prompt := "Grade this:\n" + strings.Repeat("[turn 3 message 1] tool:\n  {\"status\": \"ok\", \"found\": 3}\n", 8<<10/57) + "\n- \"answer_token\": \"" + token + "\", copied exactly."
	const n = 500
	for _, api := range []API{ChatCompletions, Responses, Messages} {
		var sdk float64
		b.Run(string(api)+"/sdk", func(b *testing.B) {
			t := NewTransport()
			defer t.CloseIdleConnections()
			call := typedCall(base, api, t, prompt)
			sdk = llmtest.InFlight(b, b.N, n, func() error { return call(b.Context()) }).CPU
		})
		b.Run(string(api)+"/ours", func(b *testing.B) {
			provider := ""
			if api == Messages {
				provider = "anthropic"
			}
			c := newClient(b, base, as(provider, api, FormatSchema))
			ours := llmtest.InFlight(b, b.N, n, func() error {
				content, r := c.Send(b.Context(), c.Body([]string{prompt, token}, nil))
				if content == "" {
					return fmt.Errorf("%s: %s", r.Class, r.Error)
				}
				return nil
			}).CPU
			if sdk > 0 {
				b.ReportMetric(100*ours/sdk, "%cpuofsdk")
			}
		})
	}
}

// BenchmarkSend is one call after the other.
func BenchmarkSend(b *testing.B) {
	server := llmtest.New(b, llmtest.Fixed(yes))
	c := newClient(b, server.BaseURL)
	b.ReportAllocs()
	for b.Loop() {
		if content, r := c.Send(b.Context(), ask(c)); content == "" {
			b.Fatal(r)
		}
	}
}

// BenchmarkBody fills an 8 KB prompt in.
func BenchmarkBody(b *testing.B) {
	c := newClient(b, "http://localhost:1/v1")
	values := []string{strings.Repeat("[turn 3 message 1] tool:\n  {\"status\": \"ok\", \"found\": 3}\n", 8<<10/57), token}
	b.ReportAllocs()
	b.SetBytes(8 << 10)
	for b.Loop() {
		c.Body(values, nil)
	}
}

// typedCall is the SDK's own way, with its retries off and our transport.
func typedCall(base string, api API, t *Transport, prompt string) func(context.Context) error {
	var schemaMap map[string]any
	if err := json.Unmarshal([]byte(schema), &schemaMap); err != nil {
		panic(err)
	}
	if api == Messages {
		client := anthropic.NewClient(anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithBaseURL(strings.TrimSuffix(base, "v1")), anthropicoption.WithAPIKey(secret), anthropicoption.WithMaxRetries(0), anthropicoption.WithHTTPClient(&http.Client{Transport: t}))
		return func(ctx context.Context) error {
			m, err := client.Messages.New(ctx, anthropic.MessageNewParams{Model: "m-1", MaxTokens: 900, System: []anthropic.TextBlockParam{{Text: "You grade."}},
				Messages:     []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
				OutputConfig: anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: schemaMap}}})
			if err == nil && m.Content[len(m.Content)-1].Text == "" {
				err = fmt.Errorf("no text")
			}
			return err
		}
	}
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(secret), option.WithMaxRetries(0), option.WithHTTPClient(&http.Client{Transport: t}))
	if api == Responses {
		return func(ctx context.Context) error {
			r, err := client.Responses.New(ctx, responses.ResponseNewParams{Model: "m-1", MaxOutputTokens: param.NewOpt[int64](900), Store: param.NewOpt(false), Instructions: param.NewOpt("You grade."),
				Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(prompt, responses.EasyInputMessageRoleUser)}},
				Text:  responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{Name: answerName, Strict: param.NewOpt(true), Schema: schemaMap}}}})
			if err == nil && r.OutputText() == "" {
				err = fmt.Errorf("no text")
			}
			return err
		}
	}
	return func(ctx context.Context) error {
		c, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: "m-1", MaxTokens: param.NewOpt[int64](900),
			Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("You grade."), openai.UserMessage(prompt)},
			ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: answerName, Strict: param.NewOpt(true), Schema: json.RawMessage(schema)}}}})
		if err == nil && c.Choices[0].Message.Content == "" {
			err = fmt.Errorf("no text")
		}
		return err
	}
}
