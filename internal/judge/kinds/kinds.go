// Package kinds knows the three kinds of judge: it reads a definition in YAML, makes its immutable
// version, and builds a judge from a stored version.
//
// It owns the YAML's form and the errors that name a line in it. It refuses to know how a kind
// answers. Its invariant: Build(Parse(y)) is the judge that y describes, and what Build needs beyond
// the version (Settings) cannot change an answer.
package kinds

import (
	"encoding/json"
	"net/http"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/command"
	"assay/internal/judge/llm"
	"assay/internal/judge/rules"
	"assay/internal/session/transcript"
)

// Env is what a process gives to its judges.
type Env struct {
	// LookupEnv gates what definitions can reach: keys by api_key_env, variables of commands, and
	// ${ASSAY_JUDGE_…} in the fields of an llm judge that say which model is asked, and how.
	LookupEnv func(string) (string, bool)
	// Transport is shared by all llm judges; nil makes one per judge (provider.NewTransport makes one
	// that knows CA files).
	Transport http.RoundTripper
	// ContextTokens tells the context of a model, 0 where it is not known; nil knows none. What it says of
	// a model changes defaults of what is parsed later, never a stored version.
	ContextTokens func(provider string, key assay.ModelKey) int64
	// Folder is where a command's relative paths begin: that of the YAML file.
	Folder string
}

func (e Env) lookup(name string) (string, bool) {
	if e.LookupEnv == nil {
		return "", false
	}
	return e.LookupEnv(name)
}

func (e Env) contextTokens(provider string, key assay.ModelKey) int64 {
	if e.ContextTokens == nil {
		return 0
	}
	return e.ContextTokens(provider, key)
}

// madeWith names the parts of this program that shape an answer, per kind.
func madeWith(kind assay.JudgeKind, unit assay.UnitKind) map[string]string {
	parts := map[string]string{"pass": judge.PassVersion}
	if unit != assay.UnitSession {
		parts["rollup"] = judge.RollUpVersion
	}
	switch kind {
	case assay.JudgeRules:
		parts["rules"] = rules.Version
	case assay.JudgeCommand:
		parts["answer"], parts["command"] = judge.AnswerVersion, command.Version
	case assay.JudgeLLM:
		parts["answer"], parts["prompt"], parts["transcript"] = judge.AnswerVersion, llm.Version, transcript.Version
	}
	return parts
}

// Build makes a judge of a stored version and its settings. Questions to it never panic.
func Build(v assay.JudgeVersion, settings json.RawMessage, env Env) (judge.Judge, error) {
	d, err := judge.ReadDefinition(v, madeWith(v.Kind, v.Unit))
	if err != nil {
		return nil, err
	}
	var j judge.Judge
	switch d.Kind {
	case assay.JudgeRules:
		j, err = build(d, settings, func(s rules.Spec, _ struct{}) (judge.Judge, error) { return rules.New(d, s) })
	case assay.JudgeCommand:
		j, err = build(d, settings, func(s command.Spec, set command.Settings) (judge.Judge, error) {
			if set.Folder == "" {
				set.Folder = env.Folder
			}
			return command.New(d, s, set, command.Env{LookupEnv: env.lookup})
		})
	case assay.JudgeLLM:
		j, err = build(d, settings, func(s llm.Spec, set llm.Settings) (judge.Judge, error) {
			key := assay.ModelKey{Endpoint: set.BaseURL, Model: s.Model}
			return llm.New(v.ID, d, s, set, env.contextTokens(set.Provider, key), llm.Env{LookupEnv: env.lookup, Transport: env.Transport})
		})
	default:
		err = assay.Errorf(assay.CodeInvalid, "judge version %s is of the kind %q, which this program does not know", v.ID, d.Kind).WithHint("use a newer assay")
	}
	if err != nil {
		return nil, err
	}
	return judge.Safe(j), nil
}

// build reads a kind's own part and its settings.
func build[Spec, Settings any](d judge.Definition, raw json.RawMessage, make func(Spec, Settings) (judge.Judge, error)) (judge.Judge, error) {
	var spec Spec
	if err := json.Unmarshal(d.Spec, &spec); err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "read the judge's definition: %w", err)
	}
	var settings Settings
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &settings); err != nil {
			return nil, assay.Errorf(assay.CodeInternal, "read the judge's settings: %w", err)
		}
	}
	return make(spec, settings)
}
