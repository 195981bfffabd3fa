package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

func bodyOf(t *testing.T, changes ...change) gjson.Result {
	t.Helper()
	c := newClient(t, "http://localhost:1/v1", changes...)
	raw := ask(c)
	if !json.Valid(raw) {
		t.Fatalf("no JSON: %s", raw)
	}
	values := 2 * len(token) // "[turn 0] \"hello\"" has as many
	if n := len(raw) - values; n < c.FixedBytes() || n > c.FixedBytes()+8 {
		t.Errorf("%d bytes without values, FixedBytes says %d", n, c.FixedBytes())
	}
	return gjson.ParseBytes(raw)
}

func TestTheOutputsLimitIsInEachOnesField(t *testing.T) {
	for _, tc := range []struct {
		provider string
		api      API
		field    string // asked for
		want     string
	}{
		{"openai", ChatCompletions, "", "max_completion_tokens"}, {"openai", ChatCompletions, "max_tokens", "max_tokens"}, {"openai", Responses, "", "max_output_tokens"},
		{"anthropic", Messages, "", "max_tokens"}, {"azure", ChatCompletions, "", "max_completion_tokens"}, {"azure", Responses, "", "max_output_tokens"}, {"gemini", ChatCompletions, "", "max_completion_tokens"},
		{"vllm", ChatCompletions, "", "max_tokens"}, {"ollama", ChatCompletions, "", "max_tokens"}, {"openrouter", ChatCompletions, "", "max_tokens"}, {"litellm", ChatCompletions, "", "max_tokens"}, {"litellm", Messages, "", "max_tokens"},
		{"", ChatCompletions, "", "max_tokens"}, {"compatible", ChatCompletions, "", "max_tokens"}, {"compatible", ChatCompletions, "max_completion_tokens", "max_completion_tokens"},
	} {
		body := bodyOf(t, as(tc.provider, tc.api, FormatSchema), func(_ *Settings, p *Params) { p.MaxTokensField = tc.field })
		for _, field := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
			if got := body.Get(field); got.Exists() != (field == tc.want) || got.Exists() && got.Int() != 900 {
				t.Errorf("%s %s: %s is %s", tc.provider, tc.api, field, got.Raw)
			}
		}
	}
}

func TestReasoning(t *testing.T) {
	zero, half, seed := 0.0, 0.5, int64(7)
	for _, tc := range []struct {
		provider string
		api      API
		effort   string
		path     string
		want     string
		seed     bool // still sent
	}{
		{"openai", ChatCompletions, "high", "reasoning_effort", `"high"`, false},
		{"openai", Responses, "minimal", "reasoning.effort", `"minimal"`, false},
		{"azure", ChatCompletions, "low", "reasoning_effort", `"low"`, false},
		{"gemini", ChatCompletions, "none", "reasoning_effort", `"none"`, true},
		{"openrouter", ChatCompletions, "high", "reasoning", `{"effort":"high"}`, true},
		{"ollama", ChatCompletions, "high", "reasoning_effort", `"high"`, true},
		{"anthropic", Messages, "max", "output_config.effort", `"max"`, false},
		{"anthropic", Messages, "high", "thinking", `{"type":"adaptive"}`, false},
		{"anthropic", Messages, "2048", "thinking.budget_tokens", `2048`, false},
		{"anthropic", Messages, "none", "thinking", `{"type":"disabled"}`, false},
	} {
		body := bodyOf(t, as(tc.provider, tc.api, FormatSchema), func(_ *Settings, p *Params) {
			p.Reasoning, p.Temperature, p.TopP = tc.effort, &zero, &half
			if tc.api == ChatCompletions {
				p.Seed = &seed
			}
		})
		if body.Get(tc.path).Raw != tc.want || body.Get("temperature").Exists() || body.Get("top_p").Exists() || body.Get("seed").Exists() != tc.seed {
			t.Errorf("%s %s %s: %s", tc.provider, tc.api, tc.effort, body.Raw)
		}
	}
	body := bodyOf(t, func(_ *Settings, p *Params) { p.Temperature, p.TopP, p.Seed = &zero, &half, &seed })
	if body.Get("temperature").Raw != "0" || body.Get("top_p").Raw != "0.5" || body.Get("seed").Raw != "7" {
		t.Error(body.Raw)
	}
}

// The schema reaches every provider with its properties in order: a model must quote before it decides.
func TestSchemaIsSentAsTheProviderTakesIt(t *testing.T) {
	const whole = `{"type":"string","maxLength":600}`
	where := map[API]map[string]string{
		ChatCompletions: {FormatSchema: "response_format.json_schema.schema", FormatTool: "tools.0.function.parameters"},
		Responses:       {FormatSchema: "text.format.schema", FormatTool: "tools.0.parameters"},
		Messages:        {FormatSchema: "output_config.format.schema", FormatTool: "tools.0.input_schema"},
	}
	spoken(t, func(t *testing.T, provider string, api API, format string) {
		body := bodyOf(t, as(provider, api, format))
		got := body.Get(where[api][format]).Raw
		bounds := provider != "azure" && provider != "gemini" && (api != Messages || format == FormatTool)
		if bounds && got != schema {
			t.Errorf("it was changed: %s", got)
		}
		if !bounds && (strings.Contains(got, "maxLength") || strings.Contains(got, "minLength")) {
			t.Errorf("bounds are left: %s", got)
		}
		order := []string{`"answer_token"`, `"evidence"`, `"reason"`, `"value"`, `"minimum"`}
		for i := 1; i < len(order); i++ {
			if strings.Index(got, order[i-1]) > strings.Index(got, order[i]) || !strings.Contains(got, order[i]) {
				t.Errorf("the order is lost: %s", got)
			}
		}
		if !gjson.Get(got, "properties.minimum.type").Exists() || len(gjson.Get(got, "required").Array()) != 3 {
			t.Errorf("a property that is named like a keyword is gone: %s", got)
		}
	})
	tuned := bodyOf(t, as("openai", ChatCompletions, FormatSchema), func(_ *Settings, p *Params) { p.Model = "ft:gpt-4o-2024-08-06:org::abc" })
	if strings.Contains(tuned.Raw, "maxLength") {
		t.Error("a fine-tuned model refuses bounds")
	}
	p := Params{Format: FormatSchema, Schema: json.RawMessage(`{"anyOf":[` + whole + `,{"type":"null"}],"$defs":{"pattern":` + whole + `},"items":` + whole + `,"enum":["maxLength"]}`)}
	if got := string(suited(p, Messages, Profile{})); got != `{"anyOf":[{"type":"string"},{"type":"null"}],"$defs":{"pattern":{"type":"string"}},"items":{"type":"string"},"enum":["maxLength"]}` {
		t.Error(got)
	}
}

func TestFormats(t *testing.T) {
	for _, tc := range []struct {
		api    API
		format string
		path   string
		want   string
	}{
		{ChatCompletions, FormatObject, "response_format", `{"type":"json_object"}`},
		{ChatCompletions, FormatNone, "response_format", ""},
		{ChatCompletions, FormatTool, "tool_choice", `{"function":{"name":"verdict"},"type":"function"}`},
		{Responses, FormatObject, "text.format", `{"type":"json_object"}`},
		{Responses, FormatNone, "text", ""},
		{Responses, FormatNone, "store", "false"},
		{Responses, FormatTool, "tool_choice.name", `"verdict"`},
		{Messages, FormatTool, "tool_choice.type", `"tool"`},
		{Messages, FormatNone, "output_config", ""},
		{Messages, FormatSchema, "output_config.format.type", `"json_schema"`},
	} {
		if got := bodyOf(t, as("", tc.api, tc.format)).Get(tc.path).Raw; got != tc.want {
			t.Errorf("%s %s: %s is %s", tc.api, tc.format, tc.path, got)
		}
	}
	body := bodyOf(t, as("openai", Responses, FormatSchema), func(_ *Settings, p *Params) {
		p.Extra = map[string]json.RawMessage{"store": json.RawMessage("true"), "provider": json.RawMessage(`{"order":["a"],"b":1.0}`), "odd.name:x": json.RawMessage(`1`)}
	})
	if body.Get("store").Raw != "true" || body.Get("provider").Raw != `{"order":["a"],"b":1.0}` || body.Get(`odd\.name\:x`).Raw != "1" {
		t.Error(body.Raw)
	}
}

func TestParametersThatCannotBeAsked(t *testing.T) {
	seed := int64(1)
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, tc := range map[string]struct {
		api    API
		change func(*Params)
		field  string
	}{
		"no model":              {ChatCompletions, func(p *Params) { p.Model = "" }, "model"},
		"unknown format":        {ChatCompletions, func(p *Params) { p.Format = "xml" }, "response_format"},
		"no schema":             {ChatCompletions, func(p *Params) { p.Schema = nil }, "response_format"},
		"json_object of Claude": {Messages, func(p *Params) { p.Format = FormatObject }, "response_format"},
		"no limit":              {ChatCompletions, func(p *Params) { p.MaxTokens = 0 }, "max_tokens"},
		"odd field":             {ChatCompletions, func(p *Params) { p.MaxTokensField = "n_predict" }, "max_tokens"},
		"field of another API":  {Responses, func(p *Params) { p.MaxTokensField = "max_tokens" }, "max_tokens"},
		"seed of Claude":        {Messages, func(p *Params) { p.Seed = &seed }, "seed"},
		"seed of Responses":     {Responses, func(p *Params) { p.Seed = &seed }, "seed"},
		"thinking and a tool":   {Messages, func(p *Params) { p.Format, p.Reasoning = FormatTool, "high" }, "reasoning"},
		"messages around":       {ChatCompletions, func(p *Params) { p.Extra = map[string]json.RawMessage{"messages": raw("[]")} }, "extra"},
		"stream":                {Messages, func(p *Params) { p.Extra = map[string]json.RawMessage{"stream": raw("true")} }, "extra"},
		"effort twice": {ChatCompletions, func(p *Params) {
			p.Reasoning, p.Extra = "low", map[string]json.RawMessage{"reasoning_effort": raw(`"high"`)}
		}, "extra"},
		"extra that is not JSON": {ChatCompletions, func(p *Params) { p.Extra = map[string]json.RawMessage{"x": raw("{")} }, "extra"},
	} {
		p := Params{Model: "m", Schema: json.RawMessage(schema), MaxTokens: 9}
		tc.change(&p)
		_, err := New(Settings{API: tc.api, BaseURL: "http://localhost:1"}, p, "", user, Env{})
		e, ok := err.(*assay.Error)
		if !ok || e.Code != assay.CodeInvalid || e.Details[DetailField] != tc.field || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnUnreadableAnswerIsShownAgain(t *testing.T) {
	for _, api := range []API{ChatCompletions, Responses, Messages} {
		c := newClient(t, "http://localhost:1/v1", as("", api, FormatSchema))
		list := map[API]string{ChatCompletions: "messages", Responses: "input", Messages: "messages"}[api]
		messages := func(a *Again) []string {
			raw := c.Body([]string{"x", token}, a)
			if !json.Valid(raw) {
				t.Fatalf("%s", raw)
			}
			var all []string
			gjson.GetBytes(raw, list).ForEach(func(_, m gjson.Result) bool {
				all = append(all, m.Get("role").String()+": "+m.Get("content").String())
				return true
			})
			return all
		}
		first := len(messages(nil))
		if got := messages(&Again{Answer: "it \"is\" {odd}\n", Why: "It is not JSON."}); len(got) != first+2 || got[first] != "assistant: it \"is\" {odd}\n" || got[first+1] != "user: It is not JSON." {
			t.Errorf("%s: %q", api, got)
		}
		if got := messages(&Again{Answer: " \n", Why: "It is empty."}); len(got) != first+1 {
			t.Errorf("%s: an empty answer is shown: %q", api, got)
		}
		if got := messages(&Again{Answer: strings.Repeat("é", maxShown), Why: "w"}); len(got[first]) > maxShown+len("assistant: ") {
			t.Errorf("%s: %d bytes are shown", api, len(got[first]))
		}
	}
}

func FuzzBody(f *testing.F) {
	f.Add("plain", "again", true)
	f.Add("\x00\xff\u2028\"\\\n\t\r\x1f\x7f😀", "\xed\xa0\x80", false)
	clients := map[bool]*Client{}
	for api, key := range map[API]bool{ChatCompletions: true, Messages: false} {
		c, err := New(Settings{API: api, BaseURL: "http://localhost:1"}, Params{Model: "m", Format: FormatNone, MaxTokens: 1}, "s", user, Env{})
		if err != nil {
			f.Fatal(err)
		}
		clients[key] = c
	}
	f.Fuzz(func(t *testing.T, value, answer string, chat bool) {
		raw := clients[chat].Body([]string{value, token}, &Again{Answer: answer, Why: value})
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		said := body.Messages[len(body.Messages)-1]
		if want := strings.ToValidUTF8(value, "\x00"); said.Role != "user" || strings.ReplaceAll(strings.ReplaceAll(said.Content, "\ufffd", ""), "\x00", "") != strings.ReplaceAll(strings.ReplaceAll(want, "\ufffd", ""), "\x00", "") {
			t.Fatalf("%q became %q", value, said.Content)
		}
	})
}
