package kinds

import (
	"errors"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
	"assay/internal/judge"
	"assay/internal/judge/command"
	"assay/internal/judge/rules"
)

// ruleBlock is one rule with where its expressions stand.
type ruleBlock struct {
	place                           *yaml.Node
	expr, applies, reason, evidence definition.Source
}

func (d *draft) rules(def judge.Definition) error {
	block := d.blocks[assay.JudgeRules]
	found := map[string]*ruleBlock{}
	members := definition.Fields{}
	for _, c := range d.criteria {
		members[c.Name] = func(n *yaml.Node) error {
			r := &ruleBlock{place: n}
			found[c.Name] = r
			if n.Kind == yaml.ScalarNode {
				return r.expr.Into("the rule")(n)
			}
			return mapping(n, "the rule "+c.Name, definition.Fields{
				"expr": r.expr.Into("expr"), "applies": r.applies.Into("applies"),
				"reason": r.reason.Into("reason"), "evidence": r.evidence.Into("evidence"),
			})
		}
	}
	if err := mapping(block, "rules", members); err != nil {
		return err
	}
	var spec rules.Spec
	for _, c := range d.criteria {
		r := found[c.Name]
		if r == nil || strings.TrimSpace(r.expr.Text) == "" {
			return definition.At(block, "criterion %q has no rule", c.Name).WithHint("write `%s: …` under `rules:` with a CEL expression", c.Name)
		}
		spec.Rules = append(spec.Rules, rules.Rule{Expr: r.expr.Text, Applies: r.applies.Text, Reason: r.reason.Text, Evidence: r.evidence.Text})
	}
	_, err := rules.New(def, spec)
	var wrong *rules.ExprError
	if errors.As(err, &wrong) {
		r := found[wrong.Criterion]
		src := map[string]definition.Source{"expr": r.expr, "applies": r.applies, "reason": r.reason, "evidence": r.evidence}[wrong.Field]
		return definition.AtLine(src.Line(wrong.Line), assay.Errorf(assay.CodeInvalid, "criterion %q, %s, column %d of the expression: %s", wrong.Criterion, wrong.Field, wrong.Column, wrong.Message).WithHint("%s", wrong.Hint))
	}
	d.spec = spec
	return definition.Within(block, err)
}

func (d *draft) command(judge.Definition) error {
	block := d.blocks[assay.JudgeCommand]
	var argv, allowed []string
	var settings command.Settings
	err := mapping(block, "command", definition.Fields{
		"argv":    definition.Texts(&argv, "argv", "a command is a list, without a shell: [python3, grade.py, --strict]"),
		"env":     definition.Texts(&allowed, "env", "names of variables that the program gets, for instance [MODEL_KEY]"),
		"timeout": definition.Duration(&settings.Timeout, "timeout"),
	})
	if err != nil {
		return err
	}
	if len(argv) == 0 || argv[0] == "" {
		return definition.At(block, "the command has no argv").WithHint("write `argv: [./grade.py]`")
	}
	for _, name := range allowed {
		if !definition.VariableName(name) {
			return definition.At(block, "env holds %.60q, which is not the name of a variable", name).WithHint("list names only; their values come from the environment of the process that drives runs")
		}
	}
	settings.Folder, err = filepath.Abs(d.env.Folder)
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "find the folder of the command: %w", err)
	}
	spec, err := command.NewSpec(argv, allowed, settings.Folder, command.Env{LookupEnv: d.env.lookup})
	if err != nil {
		return definition.Within(block, err)
	}
	d.spec, d.settings = spec, settings
	return nil
}
