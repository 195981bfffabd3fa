package main

import (
	"slices"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

type modelsCmd struct {
	List  modelsListCmd  `cmd:"" default:"withargs" help:"List models: price, limits, how their limiters stand."`
	Show  modelsShowCmd  `cmd:"" help:"Show all that is known of a model."`
	Set   modelsSetCmd   `cmd:"" help:"Set a model's price and limits."`
	Unset modelsUnsetCmd `cmd:"" help:"Forget what was set for a model."`
}

type modelsListCmd struct{}

func (modelsListCmd) Help() string {
	return "The models that the project's judges ask, and those for which something was set. Prices are in US dollars per million tokens.\n\nExample:\n\n    assay models"
}

func (c *modelsListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	models, err := d.Models(a.ctx, a.Project)
	if err != nil {
		return err
	}
	live, err := a.limitersLive(d)
	if err != nil {
		return err
	}
	if a.JSON {
		for _, m := range models {
			if err := a.printLine(shown(m, live)); err != nil {
				return err
			}
		}
		return nil
	}
	return a.printModels(models, live)
}

func (a *app) printModels(models []api.ModelView, live bool) error {
	var prices []assay.USD
	for _, m := range models {
		if m.Price != nil {
			prices = append(prices, m.Price.Input, m.Price.Output)
		}
	}
	decimals := priceDecimals(prices)
	t := newTable(a.out, "MODEL", "ENDPOINT", "JUDGES", "PRICE IN", "OUT", "FROM", "LIMITS SET", "NOW")
	for _, m := range models {
		in, out, from, now := "unknown", "unknown", "-", "-"
		if m.Price != nil {
			in, out, from = m.Price.Input.Fixed(decimals), m.Price.Output.Fixed(decimals), orDash(priceSource(m.Price))
		}
		if live {
			now = limiterNow(m.Limiter)
		}
		t.row(m.Model, m.Endpoint, orDash(judgesCell(m.Judges)), in, out, from, limitsSet(m.Settings), now)
	}
	if err := t.end(); err != nil || live || len(models) == 0 {
		return err
	}
	a.say("NOW: %s", notLive)
	return nil
}

// notLive is why limiters are not shown.
const notLive = "only a process that drives runs knows how limits stand, and none does at the moment"

// limitersLive says whether the process that answers makes calls: limiters of another one never saw any.
func (a *app) limitersLive(d *door) (bool, error) {
	o, err := d.Owner(a.ctx)
	return o.Driving, err
}

// shown leaves a limiter out that never saw a call.
func shown(m api.ModelView, live bool) api.ModelView {
	if !live {
		m.Limiter = nil
	}
	return m
}

// modelArg names a model by its endpoint and name, or by a judge that asks it.
type modelArg struct {
	Endpoint string `arg:"" name:"endpoint" help:"Base URL, or the name of a judge that asks the model."`
	Model    string `arg:"" name:"model" optional:"" help:"The model's name, as judges ask for it; not after a judge's name."`
}

// open opens a door and finds the model.
func (m modelArg) open(a *app) (*door, assay.ModelKey, error) {
	d, err := a.look()
	if err != nil {
		return nil, assay.ModelKey{}, err
	}
	key, err := m.key(a, d)
	return d, key, err
}

func (m modelArg) key(a *app, d *door) (assay.ModelKey, error) {
	if m.Model != "" {
		return assay.ModelKey{Endpoint: m.Endpoint, Model: m.Model}, nil
	}
	models, err := d.Models(a.ctx, a.Project)
	if err != nil {
		return assay.ModelKey{}, err
	}
	for _, v := range models {
		if slices.Contains(v.Judges, m.Endpoint) {
			return v.ModelKey, nil
		}
	}
	if strings.Contains(m.Endpoint, "://") {
		return assay.ModelKey{}, misuse("no model is named at %s", m.Endpoint).WithHint("give the model's name after the endpoint")
	}
	return assay.ModelKey{}, assay.Errorf(assay.CodeNotFound, "no applied judge of project %s of the name %s asks a model", a.Project, m.Endpoint).
		WithHint("`assay models` lists models with their judges; ENDPOINT MODEL names one without a judge")
}

type modelsShowCmd struct{ modelArg }

func (modelsShowCmd) Help() string {
	return "Example:\n\n    assay models show task-success\n    assay models show https://api.openai.com/v1 gpt-4.1-mini"
}

func (c *modelsShowCmd) Run(a *app) error {
	d, key, err := c.open(a)
	if err != nil {
		return err
	}
	m, err := d.Model(a.ctx, a.Project, key)
	if err != nil {
		return err
	}
	return a.printModel(d, m)
}

type modelsUnsetCmd struct{ modelArg }

func (modelsUnsetCmd) Help() string {
	return "The catalogue's price counts again, where it has one, and no limit of yours.\n\nExample:\n\n    assay models unset https://api.openai.com/v1 gpt-4.1-mini"
}

func (c *modelsUnsetCmd) Run(a *app) error {
	d, key, err := c.open(a)
	if err != nil {
		return err
	}
	if err := d.DeleteModel(a.ctx, key); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(map[string]assay.ModelKey{"unset": key})
	}
	a.print("nothing is set for %s any more\n", key.String())
	return nil
}

func (a *app) printModel(d *door, m api.ModelView) error {
	live, err := a.limitersLive(d)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(shown(m, live))
	}
	context := "unknown"
	if m.ContextTokens > 0 {
		context = comma(m.ContextTokens) + " tokens"
	}
	for _, row := range [][2]string{
		{"model", m.Model}, {"endpoint", m.Endpoint}, {"judges", orNone(strings.Join(m.Judges, ", "))}, {"price", perMillion(m.Price)},
		{"context", context}, {"limits set", limitsSet(m.Settings)},
	} {
		a.print("%-11s %s\n", row[0], row[1])
	}
	if m.UpdatedAt != nil {
		a.print("%-11s %s\n", "set", moment(m.UpdatedAt, time.UTC))
	}
	if !live {
		a.print("%-11s - (%s)\n", "limiter", notLive)
		return nil
	}
	a.printLimiter(m.Limiter)
	return nil
}
