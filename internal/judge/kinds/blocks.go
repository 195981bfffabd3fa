package kinds

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/command"
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

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

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
