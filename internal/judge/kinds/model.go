package kinds

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
	"assay/internal/judge"
	"assay/internal/judge/llm"
	"assay/internal/judge/llm/provider"
)

// keyVariable keeps who may apply judges from sending any other secret of this process, a database's
// address for instance, to an endpoint of their own.
var keyVariable = regexp.MustCompile(`^(ASSAY_JUDGE_\w+|\w+_API_KEY)$`)

// modelBlock is an llm block on its way from YAML.
type modelBlock struct {
	spec                     llm.Spec
	settings                 llm.Settings
	api                      string
	apiVersion               string
	maxTokens, maxCompletion *int64
	context, transcript      *int64
	temperatureByDefault     bool
	unitsPerCall             *int64
	places                   map[string]*yaml.Node
}

func (d *draft) llm(def judge.Definition) error {
	block := d.blocks[assay.JudgeLLM]
	m := modelBlock{places: map[string]*yaml.Node{}}
	members := d.modelFields(&m)
	for name, set := range members {
		members[name] = func(n *yaml.Node) error { m.places[name] = n; return set(n) }
	}
	if err := mapping(block, "llm", members); err != nil {
		return err
	}
	if err := m.complete(d, def); err != nil {
		place := block
		var e *assay.Error
		if errors.As(err, &e) && m.places[yamlField(e.Details[llm.DetailField], m.places)] != nil {
			place = m.places[yamlField(e.Details[llm.DetailField], m.places)]
		}
		return definition.Within(place, err)
	}
	d.spec, d.settings, d.alias = m.spec, m.settings, llm.Alias(m.spec.Model)
	return nil
}

func (d *draft) modelFields(m *modelBlock) definition.Fields {
	s, set := &m.spec, &m.settings
	return definition.Fields{
		"provider":              d.intoExpanded(&set.Provider, "provider"),
		"api":                   d.intoExpanded(&m.api, "api"),
		"base_url":              d.intoExpanded(&set.BaseURL, "base_url"),
		"api_version":           definition.Text(&m.apiVersion, "api_version"),
		"endpoint":              definition.Text(&s.Endpoint, "endpoint"),
		"model":                 d.intoExpanded(&s.Model, "model"),
		"api_key_env":           d.intoExpanded(&set.KeyEnv, "api_key_env"),
		"api_key_file":          definition.Text(&set.KeyFile, "api_key_file"),
		"api_key_command":       definition.Texts(&set.KeyCommand, "api_key_command", "a command is a list, without a shell: [pass, show, openai]"),
		"ca_file":               definition.Text(&set.CAFile, "ca_file"),
		"system":                definition.Text(&s.System, "system"),
		"prompt":                definition.Text(&s.Prompt, "prompt"),
		"rubric":                definition.Text(&s.Rubric, "rubric"),
		"examples":              d.intoExamples(&s.Examples),
		"response_format":       d.intoExpanded(&s.ResponseFormat, "response_format"),
		"temperature":           d.orExpanded("temperature", &m.temperatureByDefault, definition.Number(&s.Temperature, "temperature")),
		"top_p":                 definition.Number(&s.TopP, "top_p"),
		"seed":                  definition.Int(&s.Seed, "seed"),
		"max_tokens":            d.orExpanded("max_tokens", nil, definition.Int(&m.maxTokens, "max_tokens")),
		"max_completion_tokens": definition.Int(&m.maxCompletion, "max_completion_tokens"),
		"reasoning":             d.intoExpanded(&s.Reasoning, "reasoning"),
		"timeout":               d.orExpanded("timeout", nil, definition.Duration(&set.Timeout, "timeout")),
		"context_tokens":        d.orExpanded("context_tokens", nil, definition.Int(&m.context, "context_tokens")),
		"long_transcripts":      definition.Text(&s.LongTranscripts, "long_transcripts"),
		"transcript_tokens":     definition.Int(&m.transcript, "transcript_tokens"),
		"units_per_call":        definition.Int(&m.unitsPerCall, "units_per_call"),
		"extra":                 intoExtra(&s.Extra),
	}
}

// complete fills in defaults and checks the block as a whole. The error names the field.
func (m *modelBlock) complete(d *draft, def judge.Definition) error {
	bad := func(field, format string, args ...any) *assay.Error {
		return assay.Errorf(assay.CodeInvalid, format, args...).With(llm.DetailField, field)
	}
	set := &m.settings
	switch {
	case set.KeyEnv != "" && !definition.VariableName(set.KeyEnv):
		return bad("api_key_env", "api_key_env is not the name of an environment variable").WithHint("name the variable that holds the key, for instance OPENAI_API_KEY; never write the key itself here")
	case set.KeyEnv != "" && !keyVariable.MatchString(set.KeyEnv):
		return bad("api_key_env", "api_key_env names %s, which a judge may not send", set.KeyEnv).
			WithHint("a judge's endpoint gets what this variable holds, so only names that end in _API_KEY or begin with ASSAY_JUDGE_ are taken; put the key into such a variable")
	case m.maxTokens != nil && m.maxCompletion != nil:
		return bad("max_tokens", "max_tokens and max_completion_tokens are both given").WithHint("keep max_tokens, which every provider gets under its own name")
	}
	for field, n := range map[string]*int64{"max_tokens": m.maxTokens, "max_completion_tokens": m.maxCompletion, "context_tokens": m.context, "transcript_tokens": m.transcript, "units_per_call": m.unitsPerCall} {
		if n != nil && (*n < 1 || *n > maxTokens) {
			return bad(field, "%s %d is out of range", field, *n).WithHint("use 1 to %d", maxTokens)
		}
	}
	if m.spec.Reasoning != "" && m.temperatureByDefault {
		m.spec.Temperature = nil
	}
	m.take(d.env.Folder)
	var err error
	if set.Settings, err = set.Settings.Complete(); err != nil {
		return err
	}
	key := assay.ModelKey{Endpoint: set.BaseURL, Model: m.spec.Model}
	return m.spec.Complete(def, *set, d.env.contextTokens(set.Provider, key))
}

// maxTokens is more than any model has.
const maxTokens = 100_000_000

// take moves what has another form in the definition than in YAML.
func (m *modelBlock) take(folder string) {
	m.settings.API = provider.API(m.api)
	if m.apiVersion != "" {
		m.settings.Query = map[string]string{"api-version": m.apiVersion}
	}
	switch {
	case m.maxCompletion != nil:
		m.spec.MaxTokens, m.spec.MaxTokensField = *m.maxCompletion, "max_completion_tokens"
	case m.maxTokens != nil:
		m.spec.MaxTokens = *m.maxTokens
	}
	if m.context != nil {
		m.settings.ContextTokens = *m.context
	}
	if m.transcript != nil {
		m.spec.TranscriptTokens = *m.transcript
	}
	if m.unitsPerCall != nil {
		m.spec.UnitsPerCall = int(*m.unitsPerCall)
	}
	for _, file := range []*string{&m.settings.KeyFile, &m.settings.CAFile} {
		if *file != "" && !filepath.IsAbs(*file) && folder != "" {
			*file = filepath.Join(folder, *file)
		}
	}
}

// yamlField is the field of YAML that a field of the provider's settings was given by.
func yamlField(name string, places map[string]*yaml.Node) string {
	other := map[string]string{"query": "api_version", "max_tokens": "max_completion_tokens", "api_key_env": "api_key_file"}[name]
	if places[name] == nil && places[other] != nil {
		return other
	}
	return name
}

func (d *draft) intoExamples(to *[]llm.Example) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return definition.Each(n, "examples", "begin each with `- session: |`", func(n *yaml.Node) error {
			var e llm.Example
			err := mapping(n, "an example", definition.Fields{
				"session": definition.Text(&e.Session, "session"),
				"answer": func(n *yaml.Node) error {
					names := make([]string, len(d.criteria))
					for i, c := range d.criteria {
						names[i] = c.Name
					}
					if n.Kind == yaml.MappingNode {
						for i := 0; i < len(n.Content); i += 2 {
							if key := n.Content[i]; !slices.Contains(names, key.Value) {
								return definition.At(key, "the answer of an example names %.60q, which is not a criterion%s", key.Value, definition.Nearest(key.Value, names)).WithHint("the criteria are %s", strings.Join(names, ", "))
							}
						}
					}
					var err error
					e.Answer, err = definition.JSON(n)
					return err
				},
			})
			if err == nil && (strings.TrimSpace(e.Session) == "" || e.Answer == nil) {
				err = definition.At(n, "an example needs a session and an answer").WithHint("write both, or drop the example")
			}
			*to = append(*to, e)
			return err
		})
	}
}

func intoExtra(to *map[string]json.RawMessage) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		raw, err := definition.JSON(n)
		if err == nil && json.Unmarshal(raw, to) != nil {
			err = definition.At(n, "extra must be a mapping").WithHint("it holds further parameters of the request, for instance `reasoning_effort: low`")
		}
		return err
	}
}
