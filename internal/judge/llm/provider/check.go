package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/limit"
)

// Report says what of a provider works, after one cheap call.
type Report struct {
	Provider  string        `json:"provider"`
	API       API           `json:"api"`
	Endpoint  string        `json:"endpoint"`
	Model     string        `json:"model"`
	Served    string        `json:"served_model,omitempty"`
	OK        bool          `json:"ok"` // a judge can be asked; a step may still be missing
	Steps     []Step        `json:"steps"`
	Usage     assay.Usage   `json:"usage"`
	Told      limit.Told    `json:"limits"`
	Took      time.Duration `json:"took"`
	Class     assay.Class   `json:"class,omitempty"` // that a judge's call would have had
	RequestID string        `json:"request_id,omitempty"`
}

// StepState is how a step ended.
type StepState string

const (
	stateOK      StepState = "ok"
	stateMissing StepState = "missing" // judges work without it, but something is lost
	stateFailed  StepState = "failed"
	stateSkipped StepState = "skipped" // nobody knows: an earlier step failed
)

// Step is one thing that must work, or be there, for a judge to be asked well.
type Step struct {
	Name   string    `json:"name"`
	State  StepState `json:"state"`
	Says   string    `json:"says"`             // one sentence
	Remedy string    `json:"remedy,omitempty"` // what to do about it
}

// Names of the steps, in order.
const (
	stepSettings = "settings"
	stepAddress  = "address"
	stepTLS      = "tls"
	stepKey      = "key"
	stepModel    = "model"
	stepAnswer   = "answer"
	stepSchema   = "structured_output"
	stepUsage    = "usage"
	stepLimits   = "limits"
)

var checks = []string{stepSettings, stepAddress, stepTLS, stepKey, stepModel, stepAnswer, stepSchema, stepUsage, stepLimits}

const (
	checkSchema = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`
	checkPrompt = `This is a test of the connection. Answer with the JSON object {"ok": true} and nothing else.`

	checkTokens          = 200
	checkTokensReasoning = 4000 // reasoning counts against the limit; what is not used is not paid
)

// Check makes one cheap call with the settings and parameters of a judge, and says which steps worked.
// The parameters' schema and, unless it is smaller, their limit of the output are its own.
func Check(ctx context.Context, s Settings, p Params, env Env) Report {
	if env.Transport == nil {
		t := NewTransport()
		defer t.CloseIdleConnections()
		env.Transport = t
	}
	most := int64(checkTokens)
	if p.Reasoning != "" {
		most = checkTokensReasoning
	}
	if p.MaxTokens < 1 || p.MaxTokens > most {
		p.MaxTokens = most
	}
	p.Schema = json.RawMessage(checkSchema)
	c, err := New(s, p, "", []Part{{Text: checkPrompt}}, env)
	if err != nil {
		r := Report{Provider: s.Provider, API: s.API, Endpoint: s.BaseURL, Model: p.Model}
		r.fail(stepSettings, err.Error(), hintOf(err))
		return r.finish()
	}
	began := time.Now()
	content, reply := c.Send(ctx, c.Body(nil, nil))
	r := Report{Provider: c.settings.Provider, API: c.settings.API, Endpoint: c.settings.BaseURL, Model: c.model, Served: reply.Model,
		Usage: reply.Usage, Told: reply.Told, Took: time.Since(began), Class: reply.Class, RequestID: reply.RequestID}
	r.ok(stepSettings, "%s at %s", r.API, r.Endpoint)
	r.look(c, content, reply)
	return r.finish()
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*assay.Error](err); ok {
		return e.Hint
	}
	return ""
}

func (r *Report) step(name string, state StepState, says, remedy string) {
	r.Steps = append(r.Steps, Step{Name: name, State: state, Says: says, Remedy: remedy})
}

func (r *Report) ok(name, format string, args ...any) {
	r.step(name, stateOK, fmt.Sprintf(format, args...), "")
}

func (r *Report) fail(name, says, remedy string) { r.step(name, stateFailed, says, remedy) }

// finish adds the steps that were not reached.
func (r *Report) finish() Report {
	r.OK = true
	for _, s := range r.Steps {
		r.OK = r.OK && s.State != stateFailed
	}
	for _, name := range checks[len(r.Steps):] {
		r.step(name, stateSkipped, "not known: an earlier step failed", "")
	}
	return *r
}

// look walks the steps until one failed.
func (r *Report) look(c *Client, content string, reply judge.Reply) {
	remedy := mend(reply.Class)
	secure := strings.HasPrefix(r.Endpoint, "https:")
	switch {
	case reply.Class == assay.ClassBadCredentials && reply.CallAt.IsZero():
		r.step(stepAddress, stateSkipped, "not known: no call left without a key", "")
		r.step(stepTLS, stateSkipped, "not known: no call left without a key", "")
		r.fail(stepKey, reply.Error, "give the key by api_key_env, api_key_file or api_key_command where runs are driven")
		return
	case strings.HasPrefix(reply.Error, insecure):
		r.ok(stepAddress, "something answers there")
		r.fail(stepTLS, reply.Error, "give the authority's certificate as ca_file; or the endpoint speaks http: look at base_url")
		return
	case reply.HTTPStatus == 0 || reply.Class == assay.ClassUnreachable:
		r.fail(stepAddress, reply.Error, remedy+"; look at base_url, at HTTPS_PROXY and at NO_PROXY")
		return
	}
	r.ok(stepAddress, "it answers in %s", r.Took.Round(time.Millisecond))
	if secure {
		r.ok(stepTLS, "the connection is secure")
	} else {
		r.step(stepTLS, stateMissing, "the connection is not encrypted", "use https where the endpoint is not on this machine or in a network of your own")
	}
	if reply.Class == assay.ClassBadCredentials {
		r.fail(stepKey, reply.Error, remedy)
		return
	}
	switch {
	case reply.HTTPStatus >= 500 || reply.HTTPStatus == 404:
		r.step(stepKey, stateSkipped, "not known: the endpoint answered before it looked at the key", "")
	case c.keys.source == nil:
		r.ok(stepKey, "none was asked for")
	default:
		r.ok(stepKey, "the key of %s is taken", c.keys.source.name())
	}
	if reply.Class == assay.ClassModelMissing {
		r.fail(stepModel, reply.Error, "name a model that the endpoint has, as it spells it")
		return
	}
	if reply.HTTPStatus < 200 || reply.HTTPStatus >= 300 {
		r.step(stepModel, stateSkipped, "not known: there was no answer", "")
	} else {
		r.ok(stepModel, "%s answers", cmp.Or(r.Served, r.Model))
	}
	r.answered(c, content, reply, remedy)
}

func (r *Report) answered(c *Client, content string, reply judge.Reply, remedy string) {
	switch {
	case reply.Class == assay.ClassJudgeError:
		r.fail(stepAnswer, reply.Error, "the endpoint does not take one of the parameters: if it is the format, use response_format tool, json_object or none; if it is temperature, top_p or seed, leave it out or set reasoning")
		return
	case reply.Class != assay.ClassNone:
		r.fail(stepAnswer, reply.Error, remedy)
		return
	}
	r.ok(stepAnswer, "the model answered")
	switch answer := gjson.Parse(content); {
	case c.format == FormatNone:
		r.step(stepSchema, stateMissing, "none is asked for: the strict parser alone reads the answer", "use response_format json_schema or tool where the model knows one")
	case gjson.Valid(content) && answer.IsObject() && (answer.Get("ok").IsBool() || c.format == FormatObject):
		r.ok(stepSchema, "the answer has the form that was asked for by %s", c.format)
	default:
		r.step(stepSchema, stateMissing, fmt.Sprintf("the answer has not the form that was asked for by %s: %s", c.format, firstLine(content)), "the model or its server does not know this format: try another one (json_schema, tool, json_object)")
	}
	if r.Usage.Known {
		says := fmt.Sprintf("%d tokens in, %d out", r.Usage.Input, r.Usage.Output)
		if r.Usage.Reasoning > 0 {
			says += fmt.Sprintf(", of which %d reasoning", r.Usage.Reasoning)
		}
		r.ok(stepUsage, "%s", says)
	} else {
		r.step(stepUsage, stateMissing, "the response does not tell how many tokens were used", "costs stay unknown, and a budget counts the most that a call can cost")
	}
	if r.Told == (limit.Told{}) {
		r.step(stepLimits, stateMissing, "the response tells no limits", "set the model's limits by hand where you know them; without, calls grow until a 429")
	} else {
		r.ok(stepLimits, "%s", limits(r.Told))
	}
}

func limits(t limit.Told) string {
	var parts []string
	add := func(what string, most float64, left *float64) {
		switch {
		case most > 0 && left != nil:
			parts = append(parts, fmt.Sprintf("%.0f of %.0f %s are left", *left, most, what))
		case most > 0:
			parts = append(parts, fmt.Sprintf("%.0f %s", most, what))
		case left != nil:
			parts = append(parts, fmt.Sprintf("%.0f %s are left", *left, what))
		}
	}
	add("requests", t.LimitRequests, t.RemainingRequests)
	add("tokens", t.LimitTokens, t.RemainingTokens)
	if len(parts) == 0 {
		return "the response tells when limits are whole again"
	}
	return strings.Join(parts, ", ")
}

// mend is what to do about a class where no run is at hand.
func mend(c assay.Class) string {
	switch c {
	case assay.ClassUnreachable:
		return "start the endpoint"
	case assay.ClassBadCredentials:
		return "give the right key by api_key_env, api_key_file or api_key_command"
	case assay.ClassModelMissing:
		return "name a model that the endpoint has"
	case assay.ClassQuota:
		return "raise the account's quota or wait until it is back"
	case assay.ClassRateLimited:
		return "wait a moment; `assay models set` keeps runs below a limit"
	case assay.ClassTimeout:
		return "raise timeout, or look at the endpoint's latency"
	case assay.ClassProviderError, assay.ClassNetwork:
		return "try again later; look at the provider's status, and at proxies"
	case assay.ClassJudgeError:
		return "change the parameter that it refuses"
	}
	return "look at what it answered; another model or response_format may suit better"
}
