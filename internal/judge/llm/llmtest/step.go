package llmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Step is what one request gets.
type Step struct {
	status int
	header map[string]string
	body   func(*Request) string
	delay  time.Duration
	end    end
}

// end says how a response ends.
type end int

const (
	whole    end = iota
	hang         // never answers
	hangBody     // sends its header and half of its body, then nothing
	cut          // closes the connection before anything is sent
	cutBody      // closes it in the middle of the body
)

// Finding is what a scripted model says about one criterion.
type Finding struct {
	Value  any
	Reason string
	Status string
	Quotes []string
}

// Answer is the object that a well-behaved model writes. Values are plain values or Findings.
func Answer(token string, values map[string]any) string {
	members := []string{fmt.Sprintf("%q:%q", "answer_token", token)}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f, ok := values[name].(Finding)
		if !ok {
			f = Finding{Value: values[name], Reason: "as scripted"}
		}
		type quote struct {
			Turn    int    `json:"turn"`
			Message int    `json:"message"`
			Quote   string `json:"quote"`
		}
		answer := struct {
			Evidence []quote `json:"evidence"`
			Reason   string  `json:"reason"`
			Status   string  `json:"status,omitempty"`
			Value    any     `json:"value"`
		}{[]quote{}, f.Reason, f.Status, f.Value}
		for _, q := range f.Quotes {
			answer.Evidence = append(answer.Evidence, quote{Quote: q})
		}
		members = append(members, fmt.Sprintf("%q:%s", name, marshal(answer)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func marshal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // a script with a value that is no JSON
	}
	return string(raw)
}

// Verdict answers as a well-behaved model.
func Verdict(values map[string]any) Step {
	return Wrote(func(r *Request) string { return Answer(r.Token(), values) })
}

// ByTranscript makes a script that answers with what f makes of the transcript.
func ByTranscript(f func(transcript string) map[string]any) Script {
	return func(r *Request) Step { return Verdict(f(r.Transcript())) }
}

// Always gives every request the same step.
func Always(s Step) Script { return func(*Request) Step { return s } }

// Sequence gives the nth request the nth step, later ones the last.
func Sequence(steps ...Step) Script {
	return func(r *Request) Step { return steps[min(int(r.N), len(steps))-1] }
}

// Wrote answers with a completion of the given text.
func Wrote(text func(*Request) string) Step {
	return Step{status: http.StatusOK, body: func(r *Request) string { return completion(r, text(r), "", "stop") }}
}

// Text is Wrote for a fixed text.
func Text(text string) Step { return Wrote(func(*Request) string { return text }) }

// Fenced wraps the answer in a fence, with prose around it.
func Fenced(values map[string]any) Step {
	return Wrote(func(r *Request) string {
		return "Here is my verdict:\n```json\n" + Answer(r.Token(), values) + "\n```\nI hope that helps."
	})
}

// Empty answers with no text at all.
func Empty() Step { return Text("") }

// Garbage answers with text that is no JSON.
func Garbage() Step { return Text("I would say that it went {rather} well.") }

// Refusal answers with the refusal field set.
func Refusal(text string) Step {
	return Step{status: http.StatusOK, body: func(r *Request) string { return completion(r, "", text, "stop") }}
}

// Truncated stops in the middle of the answer with finish_reason length.
func Truncated(values map[string]any) Step {
	return Step{status: http.StatusOK, body: func(r *Request) string {
		text := Answer(r.Token(), values)
		return completion(r, text[:len(text)/2], "", "length")
	}}
}

// Filtered stops with finish_reason content_filter.
func Filtered() Step {
	return Step{status: http.StatusOK, body: func(r *Request) string { return completion(r, "", "", "content_filter") }}
}

// Status answers with a status and a body as they are; header are pairs.
func Status(code int, body string, header ...string) Step {
	s := Step{status: code, body: func(*Request) string { return body }, header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		s.header[header[i]] = header[i+1]
	}
	return s
}

// Problem answers with OpenAI's error object.
func Problem(status int, kind, code, message string, header ...string) Step {
	return Status(status, marshal(map[string]any{"error": map[string]any{"message": message, "type": kind, "code": code, "param": nil}}), header...)
}

// RateLimited is a 429 that asks to wait for whole seconds.
func RateLimited(wait time.Duration) Step {
	return Problem(http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Rate limit reached", "Retry-After", strconv.Itoa(int(wait.Seconds())))
}

// Quota is a 429 that no waiting helps against.
func Quota() Step {
	return Problem(http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")
}

// BadKey is a 401 that repeats the key, as some servers do.
func BadKey(key string) Step {
	return Problem(http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: "+key)
}

// NoModel is a 404 for an unknown model.
func NoModel() Step {
	return Problem(http.StatusNotFound, "invalid_request_error", "model_not_found", "The model `m` does not exist or you do not have access to it.")
}

// ContextTooLong is a 400 for a prompt that does not fit.
func ContextTooLong() Step {
	return Problem(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens.")
}

// ServerError is a 500.
func ServerError() Step {
	return Problem(http.StatusInternalServerError, "server_error", "", "The server had an error while processing your request.")
}

// Hang never answers; HangBody sends its header and half of a body, then nothing.
func Hang() Step     { return Step{end: hang} }
func HangBody() Step { return Step{status: http.StatusOK, end: hangBody, body: garbage} }

// Cut closes the connection before an answer, CutBody in the middle of it.
func Cut() Step     { return Step{end: cut} }
func CutBody() Step { return Step{status: http.StatusOK, end: cutBody, body: garbage} }

func garbage(r *Request) string { return completion(r, "never read whole", "", "stop") }

// After delays a step.
func (s Step) After(d time.Duration) Step {
	s.delay += d
	return s
}

func completion(r *Request, text, refusal, finish string) string {
	model := r.Model()
	return fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion","created":1700000000,"model":%s,"system_fingerprint":"fp_test",`+
		`"choices":[{"index":0,"finish_reason":%q,"logprobs":null,"message":{"role":"assistant","content":%s,"refusal":%s}}],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":4}}}`,
		r.N, marshal(model+"-2025-01-01"), finish, nullable(text), nullable(refusal), len(r.Body)/4, len(text)/4+4, len(r.Body)/4+len(text)/4+4)
}

func nullable(s string) string {
	if s == "" {
		return "null"
	}
	return marshal(s)
}

// play sends the step and returns the status that was sent.
func (s Step) play(w http.ResponseWriter, r *http.Request, q *Request, latency time.Duration) int {
	if d := s.delay + latency; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler) // returning would send an empty answer
		}
	}
	switch s.end {
	case hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case cut:
		panic(http.ErrAbortHandler)
	}
	body := s.body(q)
	w.Header().Set("Content-Type", "application/json")
	for name, value := range s.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(s.status)
	if s.end == whole {
		_, _ = w.Write([]byte(body)) // a client that left is recorded as answered
		return s.status
	}
	_, _ = w.Write([]byte(body[:len(body)/2]))
	_ = http.NewResponseController(w).Flush()
	if s.end == hangBody {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}
