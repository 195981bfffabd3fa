package provider

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"assay/internal/assay"
)

// Client calls one model with one set of parameters and one prompt. It is safe for concurrent use.
type Client struct {
	settings Settings
	profile  Profile
	model    string
	format   string
	body     body
	keys     *Keys
	timeout  time.Duration
	post     func(ctx context.Context, key string, body []byte, via middleware) error
}

// middleware is what both SDKs call one.
type middleware = func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error)

// New compiles everything that is the same for all questions. The settings are completed first. A key
// that is not there is no error: each call is answered with bad_credentials, so that the run pauses
// and can be resumed.
func New(s Settings, p Params, system string, user []Part, env Env) (*Client, error) {
	s, err := s.Complete()
	if err != nil {
		return nil, err
	}
	profile, _ := ProfileOf(s.Provider)
	raw, err := parameters(s.API, profile, p, system)
	if err != nil {
		return nil, err
	}
	transport, err := transportFor(env.Transport, s.CAFile)
	if err != nil {
		return nil, err
	}
	if env.Keys == nil {
		env.Keys = NewKeys(s, env)
	}
	c := &Client{settings: s, profile: profile, model: p.Model, format: cmp.Or(p.Format, profile.Format),
		body: newBody(s.API, system, user, raw), keys: env.Keys, timeout: s.Timeout}
	// A redirect would carry the key to another address.
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if s.API == Messages {
		c.post = c.overAnthropic(client)
	} else {
		c.post = c.overOpenAI(client)
	}
	return c, nil
}

// overOpenAI makes a client without openai.NewClient, which would read OPENAI_* from the environment.
func (c *Client) overOpenAI(client *http.Client) func(context.Context, string, []byte, middleware) error {
	options := []option.RequestOption{option.WithBaseURL(c.settings.BaseURL), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	for name, value := range c.settings.Query {
		options = append(options, option.WithQuery(name, value))
	}
	sdk := openai.Client{Options: options}
	path := c.path()
	return func(ctx context.Context, key string, body []byte, via middleware) error {
		var ignored []byte
		per := make([]option.RequestOption, 1, 2)
		per[0] = option.WithMiddleware(via)
		switch {
		case key == "":
		case c.profile.keyHeader != "":
			per = append(per, option.WithHeader(c.profile.keyHeader, key))
		default:
			per = append(per, option.WithAPIKey(key))
		}
		return sdk.Post(ctx, path, body, &ignored, per...)
	}
}

// overAnthropic makes a client without anthropic.NewClient, which would read ANTHROPIC_* and the
// profiles of this machine's user.
func (c *Client) overAnthropic(client *http.Client) func(context.Context, string, []byte, middleware) error {
	options := []anthropicoption.RequestOption{anthropicoption.WithBaseURL(c.settings.BaseURL + "/"), anthropicoption.WithHTTPClient(client), anthropicoption.WithMaxRetries(0)}
	for name, value := range c.settings.Query {
		options = append(options, anthropicoption.WithQuery(name, value))
	}
	sdk := anthropic.Client{Options: options}
	return func(ctx context.Context, key string, body []byte, via middleware) error {
		var ignored []byte
		per := make([]anthropicoption.RequestOption, 1, 2)
		per[0] = anthropicoption.WithMiddleware(via)
		if key != "" {
			per = append(per, anthropicoption.WithAPIKey(key))
		}
		return sdk.Post(ctx, "v1/messages", body, &ignored, per...)
	}
}

// path is where calls go under the base URL.
func (c *Client) path() string {
	path := map[API]string{ChatCompletions: "chat/completions", Responses: "responses", Messages: "v1/messages"}[c.settings.API]
	if c.settings.Provider != "azure" || c.settings.Query[apiVersion] == "" || strings.Contains(c.settings.BaseURL, "/openai") {
		return path
	}
	if c.settings.API == Responses {
		return "openai/responses"
	}
	return "openai/deployments/" + url.PathEscape(c.model) + "/" + path
}

// Body is the whole request for one question. An answer that could not be read is shown with it, and
// what the model is told about it.
func (c *Client) Body(values []string, again *Again) []byte { return c.body.fill(values, again) }

// FixedBytes are the bytes of a body without its values.
func (c *Client) FixedBytes() int { return c.body.size }

// Key names the model that calls go to.
func (c *Client) Key() assay.ModelKey {
	return assay.ModelKey{Endpoint: c.settings.BaseURL, Model: c.model}
}

// Name is the name of the provider's profile.
func (c *Client) Name() string { return c.settings.Provider }
