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
	"assay/internal/judge"
	"assay/internal/judge/command"
	"assay/internal/judge/llm"
	"assay/internal/judge/rules"
)

// ruleBlock is one rule with where its expressions stand.
type ruleBlock struct {
	place                           *yaml.Node
	expr, applies, reason, evidence source
}

func (d *draft) rules(def judge.Definition) error {
	block := d.blocks[assay.JudgeRules]
	found := map[string]*ruleBlock{}
	members := fields{}
	for _, c := range d.criteria {
		members[c.Name] = func(n *yaml.Node) error {
			r := &ruleBlock{place: n}
			found[c.Name] = r
			if n.Kind == yaml.ScalarNode {
				return intoSource(&r.expr, "the rule")(n)
			}
			return mapping(n, "the rule "+c.Name, fields{
				"expr": intoSource(&r.expr, "expr"), "applies": intoSource(&r.applies, "applies"),
				"reason": intoSource(&r.reason, "reason"), "evidence": intoSource(&r.evidence, "evidence"),
			})
		}
	}
	if err := mapping(block, "rules", members); err != nil {
		return err
	}
	var spec rules.Spec
	for _, c := range d.criteria {
		r := found[c.Name]
		if r == nil || strings.TrimSpace(r.expr.text) == "" {
			return at(block, "criterion %q has no rule", c.Name).WithHint("write `%s: …` under `rules:` with a CEL expression", c.Name)
		}
		spec.Rules = append(spec.Rules, rules.Rule{Expr: r.expr.text, Applies: r.applies.text, Reason: r.reason.text, Evidence: r.evidence.text})
	}
	_, err := rules.New(def, spec)
	var wrong *rules.ExprError
	if errors.As(err, &wrong) {
		r := found[wrong.Criterion]
		src := map[string]source{"expr": r.expr, "applies": r.applies, "reason": r.reason, "evidence": r.evidence}[wrong.Field]
		return lineError(src.line(wrong.Line), assay.Errorf(assay.CodeInvalid, "criterion %q, %s, column %d of the expression: %s", wrong.Criterion, wrong.Field, wrong.Column, wrong.Message).WithHint("%s", wrong.Hint))
	}
	d.spec = spec
	return within(block, err)
}

func (d *draft) command(judge.Definition) error {
	block := d.blocks[assay.JudgeCommand]
	var argv, allowed []string
	var settings command.Settings
	err := mapping(block, "command", fields{
		"argv":    intoTexts(&argv, "argv", "a command is a list, without a shell: [python3, grade.py, --strict]"),
		"env":     intoTexts(&allowed, "env", "names of variables that the program gets, for instance [MODEL_KEY]"),
		"timeout": intoDuration(&settings.Timeout, "timeout"),
	})
	if err != nil {
		return err
	}
	if len(argv) == 0 || argv[0] == "" {
		return at(block, "the command has no argv").WithHint("write `argv: [./grade.py]`")
	}
	for _, name := range allowed {
		if !variableName.MatchString(name) {
			return at(block, "env holds %.60q, which is not the name of a variable", name).WithHint("list names only; their values come from the environment of the process that drives runs")
		}
	}
	settings.Folder, err = filepath.Abs(d.env.Folder)
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "find the folder of the command: %w", err)
	}
	spec, err := command.NewSpec(argv, allowed, settings.Folder, command.Env{LookupEnv: d.env.lookup})
	if err != nil {
		return within(block, err)
	}
	d.spec, d.settings = spec, settings
	return nil
}

// keyVariable keeps who may apply judges from sending any other secret of this process, a database's
// address for instance, to an endpoint of their own.
var keyVariable = regexp.MustCompile(`^(ASSAY_JUDGE_\w+|\w+_API_KEY)$`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (d *draft) llm(def judge.Definition) error {
	block := d.blocks[assay.JudgeLLM]
	var s llm.Spec
	var set llm.Settings
	var context *int64
	places := map[string]*yaml.Node{}
	note := func(name string, set func(*yaml.Node) error) func(*yaml.Node) error {
		return func(n *yaml.Node) error { places[name] = n; return set(n) }
	}
	members := fields{
		"base_url":              d.intoExpanded(&set.BaseURL, "base_url"),
		"endpoint":              intoText(&s.Endpoint, "endpoint"),
		"model":                 d.intoExpanded(&s.Model, "model"),
		"api_key_env":           d.intoExpanded(&set.KeyEnv, "api_key_env"),
		"system":                intoText(&s.System, "system"),
		"prompt":                intoText(&s.Prompt, "prompt"),
		"rubric":                intoText(&s.Rubric, "rubric"),
		"examples":              d.intoExamples(&s.Examples),
		"response_format":       intoText(&s.ResponseFormat, "response_format"),
		"temperature":           intoNumber(&s.Temperature, "temperature"),
		"top_p":                 intoNumber(&s.TopP, "top_p"),
		"seed":                  intoInt(&s.Seed, "seed"),
		"max_tokens":            intoInt(&s.MaxTokens, "max_tokens"),
		"max_completion_tokens": intoInt(&s.MaxCompletion, "max_completion_tokens"),
		"timeout":               intoDuration(&set.Timeout, "timeout"),
		"context_tokens":        intoInt(&context, "context_tokens"),
		"extra":                 intoExtra(&s.Extra),
	}
	for name, set := range members {
		members[name] = note(name, set)
	}
	if err := mapping(block, "llm", members); err != nil {
		return err
	}
	if context != nil {
		set.ContextTokens = *context
	}
	if set.KeyEnv != "" && !variableName.MatchString(set.KeyEnv) {
		return at(places["api_key_env"], "api_key_env is not the name of an environment variable").WithHint("name the variable that holds the key, for instance OPENAI_API_KEY; never write the key itself here")
	}
	if set.KeyEnv != "" && !keyVariable.MatchString(set.KeyEnv) {
		return at(places["api_key_env"], "api_key_env names %s, which a judge may not send", set.KeyEnv).
			WithHint("a judge's endpoint gets what this variable holds, so only names that end in _API_KEY or begin with ASSAY_JUDGE_ are taken; put the key into such a variable")
	}
	if set.BaseURL == "" {
		return at(block, "the llm block has no base_url").WithHint("for instance https://api.openai.com/v1 or http://localhost:8000/v1")
	}
	logical, err := llm.LogicalEndpoint(set.BaseURL)
	if err == nil {
		set.BaseURL = logical
		if s.Endpoint == "" {
			s.Endpoint = logical
		}
		err = s.Complete(def)
	}
	if err != nil {
		place := block
		var e *assay.Error
		if errors.As(err, &e) && places[e.Details[llm.DetailField]] != nil {
			place = places[e.Details[llm.DetailField]]
		}
		return within(place, err)
	}
	d.spec, d.settings, d.alias = s, set, llm.Alias(s.Model)
	return nil
}

func (d *draft) intoExamples(to *[]llm.Example) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return each(n, "examples", "begin each with `- session: |`", func(n *yaml.Node) error {
			var e llm.Example
			err := mapping(n, "an example", fields{
				"session": intoText(&e.Session, "session"),
				"answer": func(n *yaml.Node) error {
					names := make([]string, len(d.criteria))
					for i, c := range d.criteria {
						names[i] = c.Name
					}
					if n.Kind == yaml.MappingNode {
						for i := 0; i < len(n.Content); i += 2 {
							if key := n.Content[i]; !slices.Contains(names, key.Value) {
								return at(key, "the answer of an example names %.60q, which is not a criterion%s", key.Value, judge.Nearest(key.Value, names)).WithHint("the criteria are %s", strings.Join(names, ", "))
							}
						}
					}
					var err error
					e.Answer, err = toJSON(n)
					return err
				},
			})
			if err == nil && (strings.TrimSpace(e.Session) == "" || e.Answer == nil) {
				err = at(n, "an example needs a session and an answer").WithHint("write both, or drop the example")
			}
			*to = append(*to, e)
			return err
		})
	}
}

func intoExtra(to *map[string]json.RawMessage) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		raw, err := toJSON(n)
		if err == nil && json.Unmarshal(raw, to) != nil {
			err = at(n, "extra must be a mapping").WithHint("it holds further parameters of the request, for instance `reasoning_effort: low`")
		}
		return err
	}
}

// toJSON writes a YAML value as JSON, with sorted keys.
func toJSON(n *yaml.Node) (json.RawMessage, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, at(n, "the value cannot be read").WithHint("use texts, numbers, true, false, lists and mappings")
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, at(n, "the value cannot be written as JSON").WithHint("use texts as keys, and finite numbers")
	}
	return raw, nil
}

// variablePrefix limits what a definition can read of the environment, so that one sent from
// elsewhere cannot carry a secret out in a URL.
const variablePrefix = "ASSAY_JUDGE_"

var variable = regexp.MustCompile(`\$\{([^}:]*)(:-([^}]*))?\}`)

// intoExpanded reads a text in which ${ASSAY_JUDGE_NAME} or ${ASSAY_JUDGE_NAME:-default} stand for a
// variable. What they mean now is what the version is made of.
func (d *draft) intoExpanded(to *string, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := intoText(to, name)(n); err != nil {
			return err
		}
		var wrong error
		*to = variable.ReplaceAllStringFunc(*to, func(s string) string {
			m := variable.FindStringSubmatch(s)
			value, set := d.env.lookup(m[1])
			switch {
			case !strings.HasPrefix(m[1], variablePrefix):
				wrong = at(n, "%s names the variable %.60q", name, m[1]).WithHint("only variables that begin with %s can be named in a definition", variablePrefix)
			case set && value != "":
				return value
			case m[2] == "":
				wrong = at(n, "%s needs the variable %s, which is not set", name, m[1]).WithHint("set it, or give a default: ${%s:-…}", m[1])
			}
			return m[3]
		})
		*to = strings.TrimSpace(*to)
		return wrong
	}
}
