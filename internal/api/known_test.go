package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

// knownModels stands for the process's book, limiters and judges: what the API asks of them is that they
// are asked, and told. The real ones are tested in package node.
type knownModels struct {
	store    store.Store
	reloaded atomic.Int64
	checked  atomic.Int64
}

// seenHash is of what Prompt shows.
var seenHash = assay.Hash(strings.Repeat("cd", 32))

var known = assay.ModelKey{Endpoint: "http://model/v1", Model: "m"}

func (k *knownModels) Key(endpoint, model string) (assay.ModelKey, error) {
	if !strings.HasPrefix(endpoint, "http") || model == "" {
		return assay.ModelKey{}, assay.Errorf(assay.CodeInvalid, "endpoint %q is not an address", endpoint)
	}
	return assay.ModelKey{Endpoint: strings.TrimRight(endpoint, "/"), Model: model}, nil
}

func (k *knownModels) Of(v assay.JudgeVersion, _ json.RawMessage) (string, assay.ModelKey, bool) {
	return "openai", known, v.Kind == assay.JudgeLLM
}

func (k *knownModels) Facts(_ string, key assay.ModelKey) (f api.ModelFacts) {
	if key.Model == "priced" {
		f = api.ModelFacts{Price: &assay.Price{Input: assay.Dollar, Source: "catalogue"}, ContextTokens: 1000}
	}
	return f
}

func (k *knownModels) Limiters() map[assay.ModelKey]api.Limiter {
	return map[assay.ModelKey]api.Limiter{known: {InFlight: 3, Breaker: "closed"}}
}

func (k *knownModels) Reload(context.Context) error { k.reloaded.Add(1); return nil }

func (k *knownModels) Builtin(name string) (assay.Judge, assay.JudgeVersion, error) {
	if name != "builtin" {
		return assay.Judge{}, assay.JudgeVersion{}, assay.Errorf(assay.CodeNotFound, "no judge %s", name)
	}
	return compile(api.JudgeSource{Source: "builtin llm0"}, false)
}

// Prompt shows what it was asked about.
func (k *knownModels) Prompt(v assay.JudgeVersion, _ json.RawMessage, q api.PromptQuestion) (p api.Prompt, err error) {
	if v.Kind != assay.JudgeLLM {
		return p, assay.Errorf(assay.CodeInvalid, "it asks no model")
	}
	p = api.Prompt{Model: known, Units: 1, Input: 7, Most: 9, Output: 11}
	p.Request, err = json.Marshal(map[string]any{"session": q.Session.SessionID, "repeat": q.Repeat, "again": q.Unreadable != nil})
	p.Seen = api.SeenText{Hash: seenHash, Text: q.Session.Turns[0].Messages[0].Content}
	return p, err
}

func (k *knownModels) Check(context.Context, assay.JudgeVersion, json.RawMessage) (api.ProviderCheck, error) {
	k.checked.Add(1)
	return api.ProviderCheck{Model: known, Steps: []api.CheckStep{{Name: "key", State: "failed", Says: "no key", Remedy: "set it"}}}, nil
}
