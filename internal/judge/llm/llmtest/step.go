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
	every  time.Duration // between two bytes of the body
	claude *Step         // what a request of the Messages API gets in its place
}

// end says how a response ends.
type end int

const (
	whole    end = iota
	hang         // never answers
	hangBody     // sends its header and half of its body, then nothing
	cut          // closes the connection before anything is sent
	cutBody      // closes it in the middle of the body
	cutChunk     // likewise, of a body whose length was not told
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

// Wrote answers with a completion of the given text, as the input of the tool where the model was told
// to call one.
func Wrote(text func(*Request) string) Step {
	return ended("stop", text)
}

func ended(finish string, text func(*Request) string) Step {
	return Step{status: http.StatusOK, body: func(r *Request) string {
		o := output{text: text(r), finish: finish}
		if r.Tool() && o.text != "" {
			o.text, o.call = "", o.text
		}
		return completion(r, o)
	}}
}

// Text is Wrote for a fixed text.
func Text(text string) Step { return Wrote(func(*Request) string { return text }) }

// Empty answers with no text at all.
func Empty() Step { return Text("") }

// Garbage answers with text that is no JSON.
func Garbage() Step { return Text("I would say that it went {rather} well.") }

// Refusal answers as a model that declines does in each protocol.
func Refusal(text string) Step {
	return Step{status: http.StatusOK, body: func(r *Request) string { return completion(r, output{refusal: text, finish: "stop"}) }}
}

// Truncated stops in the middle of the answer at the length limit.
func Truncated(values map[string]any) Step {
	return ended("length", func(r *Request) string {
		text := Answer(r.Token(), values)
		return text[:len(text)/2]
	})
}

// Filtered stops because of a content filter.
func Filtered() Step {
	return Step{status: http.StatusOK, body: func(r *Request) string { return completion(r, output{finish: "content_filter"}) }}
}

// Called answers with a call of the tool with the given input, JSON or not.
func Called(input string) Step {
	return Step{status: http.StatusOK, body: func(r *Request) string { return completion(r, output{call: input, finish: "stop"}) }}
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

// ClaudeProblem answers with Anthropic's error object.
func ClaudeProblem(status int, kind, message string, header ...string) Step {
	return Status(status, marshal(map[string]any{"type": "error", "request_id": "req_test", "error": map[string]any{"type": kind, "message": message}}), header...)
}

// Or gives requests of the Messages API another step.
func (s Step) Or(claude Step) Step {
	s.claude = &claude
	return s
}

// RateLimited is a 429 that asks to wait for whole seconds.
func RateLimited(wait time.Duration) Step {
	seconds := strconv.Itoa(int(wait.Seconds()))
	return Problem(http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Rate limit reached", "Retry-After", seconds).
		Or(ClaudeProblem(http.StatusTooManyRequests, "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute.", "Retry-After", seconds))
}

// Quota is a refusal that no waiting helps against.
func Quota() Step {
	return Problem(http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.").
		Or(ClaudeProblem(http.StatusBadRequest, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."))
}

// BadKey is a 401 that repeats the key, as some servers do.
func BadKey(key string) Step {
	return Problem(http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: "+key).
		Or(ClaudeProblem(http.StatusUnauthorized, "authentication_error", "invalid x-api-key "+key))
}

// NoModel is a 404 for an unknown model.
func NoModel() Step {
	return Problem(http.StatusNotFound, "invalid_request_error", "model_not_found", "The model `m` does not exist or you do not have access to it.").
		Or(ClaudeProblem(http.StatusNotFound, "not_found_error", "model: m"))
}

// Refuses is a 400 of a model that does not take the parameter.
func Refuses(parameter string) Step {
	return Problem(http.StatusBadRequest, "invalid_request_error", "unsupported_parameter", "Unsupported parameter: '"+parameter+"' is not supported with this model.").
		Or(ClaudeProblem(http.StatusBadRequest, "invalid_request_error", "`"+parameter+"` is deprecated for this model."))
}

// ContextTooLong is a 400 for a prompt that does not fit.
func ContextTooLong() Step {
	return Problem(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens.").
		Or(ClaudeProblem(http.StatusBadRequest, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"))
}

// ServerError is a 500.
func ServerError() Step {
	return Problem(http.StatusInternalServerError, "server_error", "", "The server had an error while processing your request.").
		Or(ClaudeProblem(http.StatusInternalServerError, "api_error", "Internal server error"))
}

// Overloaded is a 503, of the Messages API a 529.
func Overloaded() Step {
	return Problem(http.StatusServiceUnavailable, "service_unavailable_error", "server_is_overloaded", "The server is currently overloaded with other requests. Sorry about that!").
		Or(ClaudeProblem(529, "overloaded_error", "Overloaded"))
}

// Page is an HTML page, as proxies and walls send them.
func Page(status int, title string) Step {
	return Status(status, "<!DOCTYPE html>\n<html><head><title>"+title+"</title></head><body><h1>"+title+"</h1></body></html>\n", "Content-Type", "text/html; charset=utf-8")
}

// Stream answers with an event stream although none was asked for.
func Stream() Step {
	return Step{status: http.StatusOK, header: map[string]string{"Content-Type": "text/event-stream"}, body: func(r *Request) string {
		return "data: " + completion(r, output{text: "part", finish: ""}) + "\n\ndata: [DONE]\n\n"
	}}
}

// CutStream answers with half of an event stream, and closes the connection.
func CutStream() Step {
	s := Stream()
	s.end = cutChunk
	return s
}

// Hang never answers.
func Hang() Step { return Step{end: hang} }

// HangBody sends its header and half of a body, then nothing.
func HangBody() Step { return Step{status: http.StatusOK, end: hangBody, body: garbage} }

// Cut closes the connection before an answer.
func Cut() Step { return Step{end: cut} }

// CutBody closes the connection in the middle of a body whose length was told.
func CutBody() Step { return Step{status: http.StatusOK, end: cutBody, body: garbage} }

// CutChunk closes the connection in the middle of a body whose length was not told.
func CutChunk() Step { return Step{status: http.StatusOK, end: cutChunk, body: garbage} }

// Half sends two thirds of a body and ends it as if it were whole.
func Half() Step {
	return Step{status: http.StatusOK, body: func(r *Request) string { b := garbage(r); return b[:len(b)*2/3] }}
}

func garbage(r *Request) string {
	return completion(r, output{text: "never read whole", finish: "stop"})
}

// With adds headers, as pairs.
func (s Step) With(header ...string) Step {
	all := maps.Clone(s.header)
	if all == nil {
		all = map[string]string{}
	}
	for i := 0; i+1 < len(header); i += 2 {
		all[header[i]] = header[i+1]
	}
	s.header = all
	if s.claude != nil {
		claude := s.claude.With(header...)
		s.claude = &claude
	}
	return s
}

// Drip sends the body byte by byte.
func (s Step) Drip(every time.Duration) Step {
	s.every = every
	return s
}

// After delays a step.
func (s Step) After(d time.Duration) Step {
	s.delay += d
	return s
}

func nullable(s string) string {
	if s == "" {
		return "null"
	}
	return marshal(s)
}

// play sends the step and returns the status that was sent.
func (s Step) play(w http.ResponseWriter, r *http.Request, q *Request, latency time.Duration) int {
	if s.claude != nil && q.API() == Messages {
		other := *s.claude
		other.delay += s.delay
		other.every = max(other.every, s.every)
		s = other
	}
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
	if s.end != cutChunk {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(s.status)
	if s.every > 0 {
		return s.drip(w, r, body)
	}
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

// drip sends the body byte by byte, for as long as somebody reads.
func (s Step) drip(w http.ResponseWriter, r *http.Request, body string) int {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for i := range len(body) {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(body[i : i+1]))
		_ = http.NewResponseController(w).Flush()
	}
	return s.status
}
