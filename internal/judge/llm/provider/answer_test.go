package provider

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/llmtest"
)

func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		api  API
		raw  string
		want assay.Usage
	}{
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3}`, assay.Usage{Known: true, Input: 10, Output: 3}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2}}`, assay.Usage{Known: true, Input: 10, Output: 3, Cached: 8, Reasoning: 2}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":-1}}`, assay.Usage{Known: true, Input: 10, Output: 3}},
		{ChatCompletions, `{"prompt_tokens":100,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":80,"cache_write_tokens":15}}`, assay.Usage{Known: true, Input: 100, Output: 3, Cached: 80, CacheWrite: 15}},
		{ChatCompletions, `{"prompt_tokens":100,"completion_tokens":3,"cache_creation_input_tokens":50,"prompt_tokens_details":{"cached_tokens":80}}`, assay.Usage{Known: true, Input: 100, Output: 3, Cached: 80, CacheWrite: 20}},
		// Gemini leaves its thoughts out of completion_tokens.
		{ChatCompletions, `{"prompt_tokens":20,"completion_tokens":198,"total_tokens":623}`, assay.Usage{Known: true, Input: 20, Output: 603, Reasoning: 405}},
		{ChatCompletions, `{"prompt_tokens":21,"completion_tokens":0,"total_tokens":81,"completion_tokens_details":{"reasoning_tokens":60}}`, assay.Usage{Known: true, Input: 21, Output: 60, Reasoning: 60}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"total_tokens":5}`, assay.Usage{Known: true, Input: 10, Output: 3}},
		{ChatCompletions, `{"prompt_tokens":0,"completion_tokens":0}`, assay.Usage{Known: true}},
		{ChatCompletions, `{"prompt_tokens":-5,"completion_tokens":3}`, assay.Usage{}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":99999999999999999999}`, assay.Usage{}},
		{ChatCompletions, `{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}`, assay.Usage{}},
		{ChatCompletions, `{"prompt_tokens":"10","completion_tokens":3}`, assay.Usage{}},
		{ChatCompletions, `{"prompt_tokens":10}`, assay.Usage{}},
		{ChatCompletions, `{}`, assay.Usage{}}, {ChatCompletions, `null`, assay.Usage{}}, {ChatCompletions, `"many"`, assay.Usage{}},
		{Responses, `{"input_tokens":81,"input_tokens_details":{"cached_tokens":64},"output_tokens":1035,"output_tokens_details":{"reasoning_tokens":832},"total_tokens":1116}`, assay.Usage{Known: true, Input: 81, Cached: 64, Output: 1035, Reasoning: 832}},
		{Responses, `{"prompt_tokens":1,"completion_tokens":1}`, assay.Usage{}},
		// Anthropic's input_tokens are only those beside the cache.
		{Messages, `{"input_tokens":50,"cache_creation_input_tokens":1000,"cache_read_input_tokens":100000,"output_tokens":503}`, assay.Usage{Known: true, Input: 101050, Cached: 100000, CacheWrite: 1000, Output: 503}},
		{Messages, `{"input_tokens":50,"output_tokens":503,"output_tokens_details":{"thinking_tokens":400}}`, assay.Usage{Known: true, Input: 50, Output: 503, Reasoning: 400}},
		{Messages, `{"input_tokens":50,"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"output_tokens":5}`, assay.Usage{Known: true, Input: 50, Output: 5}},
		{Messages, `{"input_tokens":50}`, assay.Usage{}},
	} {
		if got := usageOf(tc.api, gjson.Parse(`{"usage":`+tc.raw+`}`)); got != tc.want {
			t.Errorf("%s %s: %+v, want %+v", tc.api, tc.raw, got, tc.want)
		}
	}
}

// Shapes of answers beside those that llmtest's models give.
func TestAnswersOfManyShapes(t *testing.T) {
	for name, tc := range map[string]struct {
		api   API
		body  string
		class assay.Class
		want  string // the text, or what the error says
	}{
		"parts":                        {ChatCompletions, `{"choices":[{"finish_reason":"stop","message":{"content":[{"type":"thinking","text":"no"},{"type":"text","text":"{\"a\":"},{"type":"text","text":"1}"}]}}]}`, "", `{"a":1}`},
		"reasoning beside":             {ChatCompletions, `{"choices":[{"message":{"reasoning_content":"hmm","reasoning":"hmm","content":"{}"}}]}`, "", `{}`},
		"several choices":              {ChatCompletions, `{"choices":[{"message":{"content":"first"}},{"message":{"content":"second"}}]}`, "", "first"},
		"tool although none was asked": {ChatCompletions, `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"verdict","arguments":"{\"a\":1}"}}]}}]}`, "", `{"a":1}`},
		"arguments as an object":       {ChatCompletions, `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":{"a": 1}}}]}}]}`, "", `{"a": 1}`},
		"two tool calls":               {ChatCompletions, `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{\"a\":1}"}},{"function":{"arguments":"{\"a\":2}"}}]}}]}`, "", "{\"a\":1}\n{\"a\":2}"},
		"legacy function":              {ChatCompletions, `{"choices":[{"message":{"function_call":{"arguments":"{\"a\":1}"}}}]}`, "", `{"a":1}`},
		"null content":                 {ChatCompletions, `{"choices":[{"finish_reason":"stop","message":{"content":null}}]}`, assay.ClassMalformed, "it is empty"},
		"number as content":            {ChatCompletions, `{"choices":[{"message":{"content":5}}]}`, assay.ClassMalformed, "it is empty"},
		"no choices":                   {ChatCompletions, `{"choices":[]}`, assay.ClassMalformed, "no answer"},
		"JSON of another kind":         {ChatCompletions, `"ok"`, assay.ClassMalformed, "no answer"},
		"another protocol's":           {ChatCompletions, `{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`, assay.ClassMalformed, "no answer"},
		"empty body":                   {ChatCompletions, ``, assay.ClassMalformed, "is empty"},
		"text":                         {ChatCompletions, `OK`, assay.ClassMalformed, "not JSON"},
		"error as a text":              {ChatCompletions, `{"error":"model is loading"}`, assay.ClassProviderError, "loading"},
		"refusal part":                 {ChatCompletions, `{"choices":[{"message":{"content":[{"type":"refusal","refusal":"No."}]}}]}`, assay.ClassRefused, "No."},
		"length with a tool":           {ChatCompletions, `{"choices":[{"finish_reason":"length","message":{"tool_calls":[{"function":{"arguments":"{\"a"}}]}}]}`, assay.ClassTruncated, "raise max_tokens"},

		"messages and reasoning": {Responses, `{"status":"completed","output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"hmm"}],"summary":[{"text":"hmm"}]},{"type":"message","content":[{"type":"output_text","text":"{\"a\""},{"type":"output_text","text":":1}"}]}]}`, "", `{"a":1}`},
		"no output":              {Responses, `{"status":"completed","output":[]}`, assay.ClassMalformed, "it is empty"},
		"refusal of a response":  {Responses, `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}`, assay.ClassRefused, "No."},
		"queued":                 {Responses, `{"status":"queued","output":[]}`, assay.ClassProviderError, "queued"},
		"incomplete otherwise":   {Responses, `{"status":"incomplete","incomplete_details":{"reason":"odd"},"output":[]}`, assay.ClassProviderError, "incomplete"},
		"filter of a response":   {Responses, `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, assay.ClassContentFiltered, "filter"},
		"cut response":           {Responses, `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"{\"a"}]}]}`, assay.ClassTruncated, "raise max_tokens"},
		"no response":            {Responses, `{"status":"completed"}`, assay.ClassMalformed, "no answer"},

		"blocks":                 {Messages, `{"type":"message","content":[{"type":"thinking","thinking":"hmm","text":"hmm"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"{\"a\""},{"type":"text","text":":1}"}],"stop_reason":"end_turn"}`, "", `{"a":1}`},
		"tool keeps its order":   {Messages, `{"type":"message","content":[{"type":"tool_use","input":{"z":1,  "a":2.0}}],"stop_reason":"tool_use"}`, "", `{"z":1,  "a":2.0}`},
		"refusal without words":  {Messages, `{"type":"message","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":null}}`, assay.ClassRefused, "cyber"},
		"no content":             {Messages, `{"type":"message","content":[],"stop_reason":"end_turn"}`, assay.ClassMalformed, "it is empty"},
		"error with status 200":  {Messages, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, assay.ClassProviderError, "Overloaded"},
		"only thoughts":          {Messages, `{"type":"message","content":[{"type":"thinking","thinking":"hmm"}],"stop_reason":"max_tokens"}`, assay.ClassTruncated, "raise max_tokens"},
		"window is full":         {Messages, `{"type":"message","content":[{"type":"text","text":"{\"a"}],"stop_reason":"model_context_window_exceeded"}`, assay.ClassTruncated, "long_transcripts: head_and_tail"},
		"guardrail of a gateway": {Messages, `{"type":"message","content":[],"stop_reason":"guardrail_intervened"}`, assay.ClassContentFiltered, "filter"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Always(llmtest.Status(200, tc.body)))
			c := newClient(t, server.BaseURL, as("", tc.api, FormatSchema))
			content, r := c.Send(t.Context(), ask(c))
			if r.Class != tc.class || tc.class == "" && content != tc.want || tc.class != "" && !strings.Contains(r.Error, tc.want) {
				t.Errorf("%q %q %q", r.Class, r.Error, content)
			}
			if tc.class == "" && c.Content(r.Raw) != content {
				t.Errorf("found again: %q", c.Content(r.Raw))
			}
		})
	}
}

// What is kept of a long response still tells the model's text, as far as it goes.
func TestContentOfACutResponse(t *testing.T) {
	long := `{"reason": "` + strings.Repeat(`a "b" \ é`, judge.MaxRaw/8) + `"}`
	for _, api := range []API{ChatCompletions, Responses, Messages} {
		server := llmtest.New(t, llmtest.Always(llmtest.Text(long)))
		c := newClient(t, server.BaseURL, as("", api, FormatSchema))
		content, r := c.Send(t.Context(), ask(c))
		if content != long || len(r.Raw) > judge.MaxRaw+3 || !utf8.ValidString(r.Raw) {
			t.Fatalf("%s: %d bytes of text, %d kept", api, len(content), len(r.Raw))
		}
		if got := c.Content(r.Raw); len(got) < judge.MaxRaw/2 || !strings.HasPrefix(long, strings.TrimRight(got, "�")) {
			t.Errorf("%s: %d bytes found again, %.60q", api, len(got), got)
		}
	}
}

func TestContentOfEveryPrefix(t *testing.T) {
	text := "é \"quoted\" \\ \u2028 \t😀 {\"a\": [1, true, null]}"
	for _, api := range []API{ChatCompletions, Responses, Messages} {
		for _, format := range []string{FormatSchema, FormatTool} {
			var raw string
			server := llmtest.New(t, llmtest.Always(llmtest.Wrote(func(*llmtest.Request) string {
				if format == FormatTool {
					return `{"a": [1, true, null, -2.5e3], "b": "` + `é😀"}`
				}
				return text
			})))
			c := newClient(t, server.BaseURL, as("", api, format))
			content, r := c.Send(t.Context(), ask(c))
			raw = r.Raw
			whole := false
			for i := range len(raw) + 1 {
				got := c.Content(raw[:i])
				if whole = got == content; format == FormatSchema && !strings.HasPrefix(content, got) {
					t.Fatalf("%s: after %d bytes %q", api, i, got)
				}
				if format == FormatTool && got != "" && api == Messages && !json.Valid([]byte(got)) {
					t.Fatalf("%s: after %d bytes %q", api, i, got)
				}
			}
			if !whole {
				t.Errorf("%s %s: the whole is not found", api, format)
			}
		}
	}
}

// Whatever comes back: no panic, and no class only with a text.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, `{"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}],"status":"completed"}`,
		`{"type":"message","content":[{"type":"tool_use","input":{"a":1}}],"stop_reason":"tool_use"}`, `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"23s"}]}}]`,
		`{"error":{"message":"{\"error\":{\"message\":\"{}\"}}"}}`, `<html><title>x`, "data: {}\n\n", ``, `{`, `{"choices":[{"message":{"content":[{}]}}]}`, `{"error":{"metadata":{"raw":"{","headers":{"a":1}}}}`, "\x00", `{"choices":[{"message":{"content":" "}}]}`,
	} {
		for _, status := range []int{200, 400, 429, 500} {
			f.Add([]byte(seed), status)
		}
	}
	var clients []*Client
	for _, api := range []API{ChatCompletions, Responses, Messages} {
		for _, format := range []string{FormatTool, FormatNone} {
			c, err := New(Settings{API: api, BaseURL: "http://localhost:1"}, Params{Model: "m", Format: format, Schema: json.RawMessage(`{}`), MaxTokens: 1}, "", user, Env{})
			if err != nil {
				f.Fatal(err)
			}
			clients = append(clients, c)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		for _, c := range clients {
			r := judge.Reply{EndedAt: time.Now()}
			content := c.answered(&received{status: status, body: body}, &r)
			if (r.Class == "") != (strings.TrimSpace(content) != "") || (r.Class == "") != (r.Error == "") || r.RetryAfter < 0 || r.RetryAfter > longest {
				t.Fatalf("class %q error %q content %q", r.Class, r.Error, content)
			}
			u := r.Usage
			if u.Cached < 0 || u.CacheWrite < 0 || u.Cached+u.CacheWrite > u.Input || u.Reasoning < 0 || u.Reasoning > u.Output {
				t.Fatalf("usage %+v", u)
			}
			if again := c.Content(r.Raw); r.Class == "" && len(body) < judge.MaxRaw && utf8.Valid(body) && again != content {
				t.Fatalf("%q found again as %q", content, again)
			}
			c.Content(string(body[:len(body)/2]))
		}
	})
}
