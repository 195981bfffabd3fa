package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/llmtest"
	"assay/internal/judge/llm/provider"
)

// BenchmarkAsk is one question after the other: the cost of ours beside the wire's.
func BenchmarkAsk(b *testing.B) {
	server := llmtest.New(b, llmtest.Fixed(map[string]any{"resolved": true}))
	j := newJudge(b, server.BaseURL)
	s := session("please cancel my booking")
	b.ReportAllocs()
	for b.Loop() {
		if r := j.Ask(b.Context(), judge.Question{Session: s}); r.Class != "" {
			b.Fatal(r)
		}
	}
}

// recorded is a session of about 8 KB as agents record them: talk, calls with arguments, results that
// are JSON.
func recorded() *assay.Session {
	s := &assay.Session{UserID: "u", SessionID: "s"}
	for i := range 10 {
		id := fmt.Sprintf("call_%d", i)
		s.Turns = append(s.Turns, assay.Turn{Messages: []assay.Message{
			{Role: assay.RoleUser, Content: fmt.Sprintf("Please move booking QK%d7B to the %dth, in the morning if you can, and tell me what it costs. I can't travel before then.", i, i+10)},
			{Role: assay.RoleAssistant, ToolCalls: []assay.ToolCall{{ID: id, Name: "search_flights", Arguments: fmt.Sprintf(`{"origin": "LIS", "destination": "OSL", "date": "2026-05-%d", "cabin": "economy"}`, i+10)}}},
			{Role: assay.RoleTool, Name: "search_flights", ToolCallID: id, Content: fmt.Sprintf(`[{"flight_number": "HAT%d3", "origin": "LIS", "destination": "OSL", "departs": "06:05:00", "arrives": "11:40:00", "status": "available", "seats": {"economy": 12, "business": 3}, "prices": {"economy": 182, "business": 611}}]`, i)},
			{Role: assay.RoleAssistant, Content: fmt.Sprintf("I found HAT%d3, which leaves at 06:05 and arrives at 11:40. It costs $182 in economy, and the change itself is free with your fare. Shall I move the booking to this flight?", i)},
		}})
	}
	return s
}

// asked are two criteria about it, with a model's answers that quote it.
var asked = []assay.Criterion{
	{Name: "resolved", Type: assay.Boolean, Evidence: assay.EvidenceRequired, Question: "Was everything that the user asked for done?"},
	{Name: "manner", Type: assay.Ordinal, Values: []string{"rude", "fair", "kind"}, MayAbstain: true, Evidence: assay.EvidenceOptional},
}

var askedAnswers = map[string]any{
	"resolved": llmtest.Finding{Value: false, Reason: "The agent kept offering flights but no booking was ever moved; every turn ends with a question to the user.", Quotes: []string{"Shall I move the booking to this flight?", "Please move booking QK37B to the 13th"}},
	"manner":   llmtest.Finding{Value: "kind", Reason: "It answers every request calmly and says what the change costs.", Status: judge.StatusAnswered, Quotes: []string{"the change itself is free with your fare"}},
}

func askedOf(_ *Spec, _ *Settings, d *judge.Definition) { d.Criteria, d.Pass = asked, "resolved" }

// BenchmarkDraft is our part of a question with a session of 8 KB: what comes before the call and after
// it.
func BenchmarkDraft(b *testing.B) {
	j := newJudge(b, "http://localhost/v1", askedOf)
	s := recorded()
	b.Run("before", func(b *testing.B) {
		oneByOne(b, func() {
			if d := j.Draft(judge.Question{Session: s}); d.Ended != nil {
				b.Fatal(d.Ended)
			}
		})
	})
	b.Run("after", func(b *testing.B) {
		q, _ := j.question(judge.Question{Session: s})
		q.token = tok
		content := llmtest.Answer(tok, askedAnswers)
		oneByOne(b, func() {
			var r judge.Reply
			if j.answered(q, content, &r); r.Class != "" {
				b.Fatal(r.Error)
			}
		})
	})
}

func oneByOne(b *testing.B, op func()) {
	b.ReportAllocs()
	used := llmtest.ProcessorTime()
	for b.Loop() {
		op()
	}
	b.ReportMetric(float64((llmtest.ProcessorTime()-used).Nanoseconds())/float64(b.N)/1000, "cpu-us/op")
}

// BenchmarkCall is all of a call about such a session, from drafting to the verified quotes, at 500 in
// flight, beside the SDK's own typed call that sends the same prompt and reads nothing but the text.
func BenchmarkCall(b *testing.B) {
	base := llmtest.Elsewhere(b, 50*time.Millisecond)
	s := recorded()
	const n = 500
	var sdk float64
	b.Run("sdk", func(b *testing.B) {
		transport := provider.NewTransport()
		defer transport.CloseIdleConnections()
		call := typed(b, base, s, transport)
		sdk = llmtest.InFlight(b, b.N, n, call).CPU
	})
	b.Run("judge", func(b *testing.B) {
		j := newJudge(b, base, askedOf)
		ours := llmtest.InFlight(b, b.N, n, func() error {
			if r := j.Ask(b.Context(), judge.Question{Session: s}); r.Class != "" {
				return fmt.Errorf("%s: %s", r.Class, r.Error)
			}
			return nil
		})
		if sdk > 0 {
			b.ReportMetric(100*ours.CPU/sdk, "%cpuofsdk")
		}
	})
}

// typed is the SDK's own way, with its retries off and our transport.
func typed(t testing.TB, base string, s *assay.Session, transport http.RoundTripper) func() error {
	var sent struct {
		Messages []struct{ Content string }
		Format   struct {
			Schema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(sentBody(t, s, askedOf), &sent); err != nil {
		t.Fatal(err)
	}
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(secret), option.WithMaxRetries(0), option.WithHTTPClient(&http.Client{Transport: transport}))
	return func() error {
		c, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "m-1", MaxTokens: param.NewOpt[int64](2000),
			Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(sent.Messages[0].Content), openai.UserMessage(sent.Messages[1].Content)},
			ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "verdict", Strict: param.NewOpt(true), Schema: sent.Format.Schema.Schema}}}})
		if err == nil && c.Choices[0].Message.Content == "" {
			err = errors.New("no text")
		}
		return err
	}
}

// BenchmarkInFlight compares a judge with a bare Go client that sends the same body to the same
// server in the same run, at 50 ms latency. The server is a process of its own.
func BenchmarkInFlight(b *testing.B) {
	base := llmtest.Elsewhere(b, 50*time.Millisecond)
	s := session("please cancel my booking")
	for _, n := range []int{200, 500} {
		var bare, ours float64
		b.Run(fmt.Sprintf("bare/%d", n), func(b *testing.B) {
			client := &http.Client{Transport: provider.NewTransport()}
			defer client.CloseIdleConnections()
			body := sentBody(b, s)
			bare = llmtest.InFlight(b, b.N, n, func() error { return post(client, base, body) }).PerSecond
		})
		b.Run(fmt.Sprintf("judge/%d", n), func(b *testing.B) {
			j := newJudge(b, base)
			ours = llmtest.InFlight(b, b.N, n, func() error {
				if r := j.Ask(b.Context(), judge.Question{Session: s}); r.Class != "" {
					return fmt.Errorf("%s: %s", r.Class, r.Error)
				}
				return nil
			}).PerSecond
			if bare > 0 {
				b.ReportMetric(100*ours/bare, "%ofbare")
			}
		})
	}
}

func post(client *http.Client, base string, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// sentBody is what the judge sends.
func sentBody(t testing.TB, s *assay.Session, changes ...change) (body []byte) {
	server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { body = r.Body; return llmtest.Garbage() })
	newJudge(t, server.BaseURL, changes...).Ask(t.Context(), judge.Question{Session: s})
	return body
}

// served is what the other process answers.
func served() llmtest.Script {
	short, long := llmtest.Fixed(map[string]any{"resolved": true}), llmtest.Fixed(askedAnswers)
	return func(r *llmtest.Request) llmtest.Step {
		if len(r.Body) < 8<<10 {
			return short(r)
		}
		return long(r)
	}
}
