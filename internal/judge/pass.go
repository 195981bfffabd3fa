package judge

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"assay/internal/assay"
)

// PassVersion names the environment that pass rules run in.
const PassVersion = "pass/1"

const passCostLimit = 10_000

// PassRule decides whether an answer passes. It is safe for concurrent use.
type PassRule struct {
	expr     string
	criteria []assay.Criterion
	lone     int // the rule is this boolean criterion itself; -1: program decides
	program  cel.Program
}

// NewPassRule compiles a rule over the criteria by name: booleans are bool, ordinals and categories
// string, numbers double; `applies.NAME` says whether a criterion applies. "" is the default: the
// only boolean criterion, or no rule where there is no boolean criterion.
func NewPassRule(expr string, criteria []assay.Criterion) (*PassRule, error) {
	rule := &PassRule{expr: expr, criteria: criteria, lone: -1}
	if expr == "" {
		var booleans []string
		for _, c := range criteria {
			if c.Type == assay.Boolean {
				booleans = append(booleans, c.Name)
			}
		}
		if len(booleans) > 1 {
			return nil, assay.Errorf(assay.CodeInvalid, "the judge has %d boolean criteria and no pass rule", len(booleans)).
				WithHint("say when a session passes, for instance `pass: %s`", strings.Join(booleans, " && "))
		}
		if len(booleans) == 0 {
			return rule, nil
		}
		rule.expr = booleans[0]
	}
	for i, c := range criteria {
		if c.Name == rule.expr && c.Type == assay.Boolean {
			rule.lone = i
			return rule, nil
		}
	}
	return rule, rule.compile()
}

// Expr is the rule with the default filled in; "" when there is none.
func (p *PassRule) Expr() string { return p.expr }

func (p *PassRule) compile() error {
	options := []cel.EnvOption{cel.CrossTypeNumericComparisons(true), cel.Variable("applies", cel.MapType(cel.StringType, cel.BoolType))}
	names := make([]string, 0, len(p.criteria))
	for _, c := range p.criteria {
		typ := cel.StringType
		switch c.Type {
		case assay.Boolean:
			typ = cel.BoolType
		case assay.Number:
			typ = cel.DoubleType
		}
		options = append(options, cel.Variable(c.Name, typ))
		names = append(names, c.Name)
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "make the environment of the pass rule: %w", err)
	}
	ast, issues := env.Compile(p.expr)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return assay.Errorf(assay.CodeInvalid, "pass rule, column %d: %s", first.Location.Column()+1, first.Message).
			WithHint("it is a CEL expression over the criteria %s", strings.Join(names, ", "))
	}
	if ast.OutputType() != cel.BoolType {
		return assay.Errorf(assay.CodeInvalid, "pass rule is of type %s, not bool", ast.OutputType()).
			WithHint("compare the value, for instance `%s == ...`", names[0])
	}
	p.program, err = env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(passCostLimit))
	if err != nil {
		return assay.Errorf(assay.CodeInvalid, "pass rule: %w", err).WithHint("it is a CEL expression over the criteria %s", strings.Join(names, ", "))
	}
	return nil
}

// Answer puts the findings, which stand in the criteria's order, together with what the rule makes
// of them. Pass is nil when the rule needs a criterion that does not apply or was abstained on.
func (p *PassRule) Answer(findings []assay.Finding) (assay.Answer, error) {
	pass, err := p.pass(findings)
	if err != nil {
		return assay.Answer{}, err
	}
	return assay.Answer{Pass: pass, Findings: findings}, nil
}

func boolean(b bool) *bool { return &b }

func (p *PassRule) pass(findings []assay.Finding) (*bool, error) {
	if p.lone >= 0 {
		f := findings[p.lone]
		if f.Value == nil {
			return nil, nil
		}
		return boolean(string(f.Value) == "true"), nil
	}
	if p.program == nil {
		return nil, nil
	}
	out, _, err := p.program.Eval(answered{p.criteria, findings})
	if types.IsUnknown(out) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the pass rule failed: %w", err)
	}
	b, ok := out.(types.Bool)
	if !ok {
		return nil, fmt.Errorf("the pass rule gave %v, not true or false", out)
	}
	return boolean(bool(b)), nil
}

// answered gives CEL the values by name; a missing one is unknown, so `a || b` holds when a does
// even though b was abstained on, and is undefined when a does not.
type answered struct {
	criteria []assay.Criterion
	findings []assay.Finding
}

func (a answered) Parent() cel.Activation { return nil }

func (a answered) ResolveName(name string) (any, bool) {
	if name == "applies" {
		m := make(map[string]bool, len(a.criteria))
		for i, c := range a.criteria {
			m[c.Name] = a.findings[i].Applies
		}
		return m, true
	}
	i := slices.IndexFunc(a.criteria, func(c assay.Criterion) bool { return c.Name == name })
	if i < 0 {
		return nil, false
	}
	raw := a.findings[i].Value
	if raw == nil {
		return types.NewUnknown(int64(i+1), types.NewAttributeTrail(name)), true
	}
	return scalar(raw), true
}
