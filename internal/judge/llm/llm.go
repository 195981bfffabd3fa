// Package llm answers by a model behind an OpenAI-compatible chat-completions endpoint.
//
// It owns the prompt, the output schema, one HTTP call and the reading of what comes back. It refuses
// to know retries, waits and budgets: it makes one call and says how that ended. Its invariants: only
// an object that the model itself wrote as its answer becomes a verdict (answer.go), everything else
// has a class, and no key is in any text that leaves the package.
package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"assay/internal/assay"
	"assay/internal/judge"
)

// Env is what this process gives.
type Env struct {
	LookupEnv func(string) (string, bool)
	Client    *http.Client // shared by all judges, see NewClient
}

// NewClient makes a client for thousands of calls in flight: connections are kept, none is refused.
func NewClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 1024
	t.MaxConnsPerHost = 0
	t.ForceAttemptHTTP2 = true
	t.WriteBufferSize = 16 << 10 // a short question leaves in one piece
	t.ResponseHeaderTimeout = 0  // every call has its own deadline
	return &http.Client{Transport: t}
}

// Judge asks a model.
type Judge struct {
	spec     Spec
	criteria []assay.Criterion
	pass     *judge.PassRule
	prompt   prompt
	params   json.RawMessage
	size     int // of a request without its transcript, about
	client   openai.Client
	key      string
	keyEnv   string
	timeout  time.Duration
	context  int64
}

// New makes a judge ready to be asked. A key that is not there is no error here: each question is
// answered with bad_credentials, so that the run pauses and can be resumed.
func New(id assay.Hash, d judge.Definition, s Spec, settings Settings, env Env) (*Judge, error) {
	pass, err := judge.NewPassRule(d.Pass, d.Criteria)
	if err != nil {
		return nil, err
	}
	j := &Judge{spec: s, criteria: d.Criteria, pass: pass, timeout: settings.Timeout, context: settings.ContextTokens, keyEnv: settings.KeyEnv}
	if j.timeout <= 0 {
		j.timeout = DefaultTimeout
	}
	if j.prompt, err = newPrompt(s, id, d.Criteria); err != nil {
		return nil, err
	}
	base, err := LogicalEndpoint(settings.BaseURL)
	if err != nil {
		return nil, err
	}
	client := env.Client
	if client == nil {
		client = NewClient()
	}
	options := []option.RequestOption{option.WithBaseURL(base), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if j.keyEnv != "" {
		j.key, _ = env.LookupEnv(j.keyEnv)
		j.key = strings.TrimSpace(j.key)
		options = append(options, option.WithAPIKey(j.key))
	}
	// Not openai.NewClient: that would read OPENAI_* from this process's environment.
	j.client = openai.Client{Options: options}
	if j.params, err = parameters(s); err != nil {
		return nil, err
	}
	j.size = len(j.params) + 1<<10
	for _, x := range j.prompt.parts {
		j.size += len(x.text)
	}
	return j, nil
}

func (j *Judge) NeedsBody() bool { return true }

// Close leaves the client alone: it is shared.
func (j *Judge) Close() error { return nil }

// Ask makes at most one call.
func (j *Judge) Ask(ctx context.Context, q judge.Question) judge.Reply {
	var r judge.Reply // CallAt stays zero when no call leaves
	j.ask(ctx, q, &r)
	if r.EndedAt.IsZero() {
		r.EndedAt = time.Now()
	}
	r.Error, r.Raw = j.mask(r.Error), j.mask(r.Raw)
	return r
}

func (j *Judge) ask(ctx context.Context, q judge.Question, r *judge.Reply) {
	if q.Session == nil {
		r.Class, r.Error = assay.ClassSessionMissing, "the session's body is not there"
		return
	}
	if j.keyEnv != "" && j.key == "" {
		r.Class, r.Error = assay.ClassBadCredentials, fmt.Sprintf("the environment variable %s, which should hold the key, is not set where the runs are driven", j.keyEnv)
		return
	}
	asked := j.prompt.ask(q.Session, j.spec.Transcript, q.Repeat)
	if j.tooLong(asked, r) {
		return
	}
	content, ok := j.call(ctx, j.requestBody(asked, q.Unreadable), r)
	if !ok {
		return
	}
	findings, err := readAnswer(content, asked.token, asked.transcript, j.criteria)
	if err != nil {
		r.Class, r.Error = assay.ClassMalformed, unread+err.Error()
		return
	}
	for i := range findings {
		findings[i].Evidence = judge.Verify(q.Session, findings[i].Evidence)
	}
	answer, err := j.pass.Answer(findings)
	if err != nil {
		r.Class, r.Error = assay.ClassJudgeError, err.Error()
		return
	}
	r.Answers = []assay.Answer{answer}
}

// unread begins the error of an answer that could not be read.
const unread = "the answer could not be read: "

// tooLong refuses, before anything is paid, a prompt that cannot fit.
func (j *Judge) tooLong(q question, r *judge.Reply) bool {
	if j.context <= 0 {
		return false
	}
	need := j.prompt.estimate(q)
	answer := int64(0)
	if j.spec.MaxTokens != nil {
		answer = *j.spec.MaxTokens
	} else if j.spec.MaxCompletion != nil {
		answer = *j.spec.MaxCompletion
	}
	if need+answer <= j.context {
		return false
	}
	r.Class = assay.ClassContextTooLong
	r.Error = fmt.Sprintf("the prompt has about %d tokens (estimated from its length) and the answer may have %d, more than the %d of context_tokens; nothing was sent", need, answer, j.context)
	return true
}

// maxBody bounds a response: a chat completion is a few kilobytes.
const maxBody = 8 << 20

// received is a response as it came, read whole.
type received struct {
	status int
	header http.Header
	body   []byte
	err    error // reading stopped
	over   bool  // it is longer than maxBody
}

// call makes the request. What the SDK makes of the response is not used: it cannot read half of what
// real servers answer. It brings the request, its authorization and its transport.
func (j *Judge) call(ctx context.Context, body []byte, r *judge.Reply) (content string, ok bool) {
	limited, cancel := context.WithTimeoutCause(ctx, j.timeout, errDeadline)
	defer cancel()
	var got *received
	var ignored []byte
	r.CallAt = time.Now()
	err := j.client.Post(limited, "chat/completions", body, &ignored, option.WithMiddleware(
		func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			// The SDK's own wrapper hides from net/http that the body is in memory, which then sends the
			// header in a packet of its own.
			req.Body = io.NopCloser(bytes.NewReader(body))
			for name := range req.Header {
				if strings.HasPrefix(name, "X-Stainless-") {
					delete(req.Header, name) // what machine this is concerns no endpoint
				}
			}
			resp, err := next(req)
			if err != nil {
				return resp, err
			}
			got = receive(resp)
			resp.Body = http.NoBody
			return resp, nil
		}))
	r.EndedAt = time.Now()
	switch {
	case got != nil && got.err == nil:
		return j.answered(got, r)
	case ctx.Err() != nil:
		r.Class, r.Error = assay.ClassAborted, "the call was cut because the question was withdrawn"
	case errors.Is(context.Cause(limited), errDeadline):
		r.Class, r.Error = assay.ClassTimeout, fmt.Sprintf("the endpoint did not answer within %s", j.timeout)
	case got != nil:
		r.HTTPStatus = got.status
		r.Class, r.Error = assay.ClassNetwork, "the connection broke while the answer came: "+firstLine(innermost(got.err).Error())
	case err == nil:
		r.Class, r.Error = assay.ClassNetwork, "the call brought no response"
	default:
		r.Class, r.Error = broken(err)
		if r.Class == assay.ClassUnreachable {
			r.CallAt = time.Time{} // there was no connection: nothing left
		}
	}
	return "", false
}

func receive(resp *http.Response) *received {
	defer resp.Body.Close()
	g := &received{status: resp.StatusCode, header: resp.Header}
	b := bytes.NewBuffer(make([]byte, 0, bytes.MinRead+max(0, min(resp.ContentLength, maxBody))))
	_, g.err = b.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	g.body = b.Bytes()
	g.over = len(g.body) > maxBody
	return g
}

func (j *Judge) answered(got *received, r *judge.Reply) (content string, ok bool) {
	r.HTTPStatus = got.status
	switch {
	case got.status >= 200 && got.status < 300 && got.over:
		r.Class, r.Error, r.Raw = assay.ClassMalformed, fmt.Sprintf("the endpoint's response is longer than %d bytes", maxBody), bounded(string(got.body))
		return "", false
	case got.status >= 200 && got.status < 300:
		return readCompletion(got.body, r)
	}
	p := readProblem(got.status, got.body)
	r.Class = p.class()
	r.Error = p.sentence(r.Class)
	r.Raw = bounded(string(got.body[:min(len(got.body), maxShown)]))
	r.RetryAfter = retryAfter(got.header, r.EndedAt)
	return "", false
}

// mask takes the key out of what a server said about it.
func (j *Judge) mask(s string) string {
	if j.key == "" {
		return s
	}
	return strings.ReplaceAll(s, j.key, "[key]")
}
