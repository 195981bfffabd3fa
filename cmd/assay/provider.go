package main

import (
	"cmp"
	"os"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge/llm/provider"
	"assay/internal/node"
)

type providerCmd struct {
	List  providerListCmd  `cmd:"" default:"1" help:"List known providers with their defaults."`
	Check providerCheckCmd `cmd:"" help:"Make one cheap call and say what works."`
}

type providerListCmd struct{}

func (providerListCmd) Help() string {
	return "What a judge's `provider` fills in. The last one, compatible, is any other server that speaks one of the protocols.\n\nExample:\n\n    assay provider list"
}

// providerView is a profile for programs.
type providerView struct {
	Name    string         `json:"name"`
	BaseURL string         `json:"base_url,omitempty"`
	APIs    []provider.API `json:"apis"`
	KeyEnv  string         `json:"api_key_env,omitempty"`
	Format  string         `json:"response_format"`
	Notes   string         `json:"notes,omitempty"`
}

func (c *providerListCmd) Run(a *app) error {
	for i, p := range provider.Profiles() {
		if a.JSON {
			if err := a.printLine(providerView{p.Name, p.BaseURL, p.APIs, p.KeyEnv, p.Format, p.Notes}); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			a.print("\n")
		}
		apis := make([]string, len(p.APIs))
		for k, api := range p.APIs {
			apis[k] = string(api)
		}
		base := cmp.Or(p.BaseURL, "to be given")
		a.print("%s\n  base_url         %s\n  api              %s\n  api_key_env      %s\n  response_format  %s\n", p.Name, base, strings.Join(apis, ", "), orNone(p.KeyEnv), p.Format)
		if p.Notes != "" {
			a.print("  %s\n", p.Notes)
		}
	}
	return nil
}

type providerCheckCmd struct {
	Judge string `arg:"" optional:"" help:"Applied judge whose provider is checked, where runs are driven."`

	Provider  string        `placeholder:"NAME" help:"In place of a judge: a known provider, see the list. The call is made from here."`
	Model     string        `placeholder:"NAME" help:"Model to ask."`
	BaseURL   string        `name:"base-url" placeholder:"URL" help:"Default: the provider's."`
	API       string        `name:"api" placeholder:"NAME" help:"chat_completions, responses or messages. Default: the provider's."`
	KeyEnv    string        `name:"api-key-env" placeholder:"NAME" help:"Variable that holds the key. Default: the provider's."`
	KeyFile   string        `name:"api-key-file" placeholder:"FILE" help:"File that holds the key."`
	CAFile    string        `name:"ca-file" placeholder:"FILE" help:"Certificates to trust beside the system's, PEM."`
	Version   string        `name:"api-version" placeholder:"DATE" help:"Of Azure, where the address is that of a deployment."`
	Format    string        `name:"response-format" placeholder:"NAME" help:"How the answer is asked for: json_schema, tool, json_object or none. Default: the provider's."`
	Reasoning string        `placeholder:"EFFORT" help:"For reasoning models, e.g. low."`
	Timeout   time.Duration `default:"1m" placeholder:"TIME" help:"How long the call may take, default 1m."`
}

func (providerCheckCmd) Help() string {
	return `Checks the address, the key, the model, the answer and its form, and whether usage is reported, with one short call, and says what to do about what does not work. The call costs a few tokens and is not part of a run.

Exit status 1 when something that a judge needs does not work.

Example:

    assay provider check my-judge
    assay provider check --provider openai --model gpt-4.1-mini
    assay provider check --base-url http://localhost:8000/v1 --model qwen3-8b`
}

func (c *providerCheckCmd) Run(a *app) error {
	k, err := c.check(a)
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.printJSON(k)
	} else {
		a.printCheck(k)
	}
	if err == nil && !k.OK {
		return assay.Errorf(assay.CodeInternal, "%s cannot be used as it is", k.Model).WithHint("`assay provider list` shows what each provider needs")
	}
	return err
}

func (c *providerCheckCmd) check(a *app) (api.ProviderCheck, error) {
	named := c.Provider != "" || c.BaseURL != ""
	switch {
	case c.Judge != "" && (named || c.Model != ""):
		return api.ProviderCheck{}, misuse("a judge is named and a provider too").WithHint("name the judge alone: it says which provider and model")
	case c.Judge != "":
		d, err := a.look()
		if err != nil {
			return api.ProviderCheck{}, err
		}
		return d.CheckProvider(a.ctx, a.Project, c.Judge)
	case !named || c.Model == "":
		return api.ProviderCheck{}, misuse("nothing to check is named").WithHint("name a judge, or --provider (or --base-url) and --model")
	}
	var query map[string]string
	if c.Version != "" {
		query = map[string]string{"api-version": c.Version}
	}
	s, err := provider.Settings{
		Provider: c.Provider, API: provider.API(c.API), BaseURL: c.BaseURL, Query: query, KeyEnv: c.KeyEnv, KeyFile: c.KeyFile, CAFile: c.CAFile, Timeout: c.Timeout,
	}.Complete()
	if err != nil {
		return api.ProviderCheck{}, err
	}
	params := provider.Params{Model: c.Model, Format: c.Format, Reasoning: c.Reasoning}
	return node.CheckView(provider.Check(a.ctx, s, params, provider.Env{LookupEnv: os.LookupEnv})), nil
}

func (a *app) printCheck(k api.ProviderCheck) {
	a.print("%s\n", k.Model.String())
	for _, s := range k.Steps {
		mark := map[string]string{"ok": "ok   ", "failed": "WRONG", "missing": "note ", "skipped": "-    "}[s.State]
		a.print("%s  %-18s %s\n", mark, strings.ReplaceAll(s.Name, "_", " "), s.Says)
		if s.Remedy != "" {
			a.print("       %-18s %s\n", "", s.Remedy)
		}
	}
}
