package node

import (
	"context"
	"encoding/json"
	"os"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm"
	"assay/internal/judge/llm/provider"
)

// judging shows what judges would send, and tries their providers.
type judging struct{ models *models }

func (g judging) Builtin(name string) (assay.Judge, assay.JudgeVersion, error) {
	return g.models.judges.builtin(name)
}

func (g judging) Prompt(v assay.JudgeVersion, settings json.RawMessage, q api.PromptQuestion) (p api.Prompt, err error) {
	built, err := g.models.judges.build(v, settings)
	if err != nil {
		return p, err
	}
	defer built.Close()
	m, ok := built.(judge.Metered)
	if !ok {
		return p, assay.Errorf(assay.CodeInvalid, "a judge of the kind %s asks no model: there is no prompt", v.Kind).WithHint("try it without --dry-run (dry_run)")
	}
	d := m.Draft(question(v, q))
	p = api.Prompt{Model: m.Model(), Provider: m.Provider()}
	if d.Ended != nil {
		p.Class, p.Error = d.Ended.Class, d.Ended.Error
		return p, nil
	}
	p.Seen = api.SeenText(d.Seen)
	p.Input, p.Most, p.Output, p.Units, p.Left = d.Load.Input, d.Load.InputMost, d.Load.OutputMost, d.Asked, d.Left
	if d.Load.Count != nil {
		p.Input, p.Most, p.Exact = d.Load.Count()
	}
	if d.Request != nil {
		p.Request = d.Request()
	}
	facts := g.models.book.Facts(p.Provider, p.Model)
	p.Price = facts.Price
	p.Worst = facts.Price.Reservation(p.Most, p.Output)
	return p, nil
}

func question(v assay.JudgeVersion, q api.PromptQuestion) judge.Question {
	out := judge.Question{Session: q.Session, Content: q.Content, Repeat: q.Repeat}
	if v.Unit != assay.UnitSession && q.Answered > 0 {
		// Units are asked about in order, and what was answered about them shapes no request.
		units := judge.Units(q.Session, v.Unit)
		for _, u := range units[:min(q.Answered, len(units))] {
			out.Answered = append(out.Answered, assay.Answer{Unit: u.Name, Findings: make([]assay.Finding, len(v.Criteria))})
		}
	}
	if a := q.Unreadable; a != nil {
		out.Unreadable = &judge.Reply{Class: a.Class, Error: a.Error, Raw: a.Raw}
	}
	return out
}

// Check reads the stored definition without building the judge: a provider can be checked also for a
// version that another program made.
func (g judging) Check(ctx context.Context, v assay.JudgeVersion, settings json.RawMessage) (c api.ProviderCheck, err error) {
	if v.Kind != assay.JudgeLLM {
		return c, assay.Errorf(assay.CodeInvalid, "a judge of the kind %s asks no provider", v.Kind).WithHint("check a judge of the kind llm")
	}
	var d judge.Definition
	var spec llm.Spec
	var set llm.Settings
	for raw, into := range map[*json.RawMessage]any{&v.Canonical: &d, &settings: &set} {
		if err := json.Unmarshal(*raw, into); err != nil {
			return c, assay.Errorf(assay.CodeInternal, "read the judge's definition: %w", err)
		}
	}
	if err := json.Unmarshal(d.Spec, &spec); err != nil {
		return c, assay.Errorf(assay.CodeInternal, "read the judge's definition: %w", err)
	}
	set.API = spec.API
	return CheckView(provider.Check(ctx, set.Settings, provider.Params{
		Model: spec.Model, Format: spec.ResponseFormat, Schema: spec.Schema, Temperature: spec.Temperature, TopP: spec.TopP, Seed: spec.Seed,
		MaxTokens: spec.MaxTokens, MaxTokensField: spec.MaxTokensField, Reasoning: spec.Reasoning, Extra: spec.Extra,
	}, provider.Env{LookupEnv: os.LookupEnv, Transport: g.models.judges.transport})), nil
}

// CheckView is a report as the API tells it.
func CheckView(r provider.Report) api.ProviderCheck {
	c := api.ProviderCheck{Provider: r.Provider, Model: assay.ModelKey{Endpoint: r.Endpoint, Model: r.Model}, OK: r.OK, Steps: []api.CheckStep{}}
	for _, s := range r.Steps {
		c.Steps = append(c.Steps, api.CheckStep{Name: s.Name, State: string(s.State), Says: s.Says, Remedy: s.Remedy})
	}
	return c
}
