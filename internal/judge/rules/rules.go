// Package rules answers by CEL expressions over a session: no network, no key, no clock.
//
// It owns what expressions see, their limits and how their values become findings. It refuses to
// know YAML and files. Its invariant: the same session gives the same answer, and an expression that
// breaks is a judge_error, never a fail.
package rules

import (
	"context"
	"fmt"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"assay/internal/assay"
	"assay/internal/judge"
)

// Spec is the kind's part of a definition: one rule per criterion, in the criteria's order.
type Spec struct {
	Rules []Rule `json:"rules"`
}

// Rule says how one criterion is answered. Every member is a CEL expression.
type Rule struct {
	Expr     string `json:"expr"`               // the value
	Applies  string `json:"applies,omitempty"`  // bool; false: the criterion does not apply
	Reason   string `json:"reason,omitempty"`   // string; may use `value`
	Evidence string `json:"evidence,omitempty"` // string or list of strings: quotes; may use `value`
}

// ExprError is a mistake in an expression, at a line and column inside it.
type ExprError struct {
	Criterion string
	Field     string // expr, applies, reason, evidence
	Line      int    // from 1
	Column    int
	Message   string
	Hint      string
}

func (e *ExprError) Error() string {
	return fmt.Sprintf("criterion %q, %s, line %d column %d: %s", e.Criterion, e.Field, e.Line, e.Column, e.Message)
}

// Judge answers by rules.
type Judge struct {
	criteria []assay.Criterion
	pass     *judge.PassRule
	rules    []compiled
	fields   []string
	env      *environment
	body     bool
}

type program struct {
	cel.Program
	touches bool
}

type compiled struct {
	expr                      program
	applies, reason, evidence program // no Program where there is none
}

// New compiles every expression; an *ExprError says where one is wrong.
func New(d judge.Definition, s Spec) (*Judge, error) {
	if len(s.Rules) != len(d.Criteria) {
		return nil, assay.Errorf(assay.CodeInvalid, "the judge has %d criteria and %d rules", len(d.Criteria), len(s.Rules)).WithHint("write one rule per criterion")
	}
	env, err := newEnvironment(d.Fields)
	if err != nil {
		return nil, err
	}
	j := &Judge{criteria: d.Criteria, fields: d.Fields, env: env}
	if j.pass, err = judge.NewPassRule(d.Pass, d.Criteria); err != nil {
		return nil, err
	}
	for i, c := range d.Criteria {
		r, err := env.compile(c, s.Rules[i])
		if err != nil {
			return nil, err
		}
		j.rules = append(j.rules, r)
		for _, p := range []program{r.expr, r.applies, r.reason, r.evidence} {
			j.body = j.body || p.touches
		}
		j.body = j.body || r.evidence.Program != nil // quotes are looked up in it
	}
	return j, nil
}

func (e *environment) compile(c assay.Criterion, r Rule) (out compiled, err error) {
	value, want := cel.StringType, []*cel.Type{cel.StringType}
	switch c.Type {
	case assay.Boolean:
		value, want = cel.BoolType, []*cel.Type{cel.BoolType}
	case assay.Number:
		value, want = cel.DoubleType, []*cel.Type{cel.DoubleType, cel.IntType, cel.UintType}
	}
	if r.Applies != "" && !c.MayNotApply {
		return out, &ExprError{Criterion: c.Name, Field: "applies", Line: 1, Column: 1, Message: "the criterion always applies", Hint: "set `may_not_apply: true` on the criterion"}
	}
	for _, part := range []struct {
		name  string
		expr  string
		value *cel.Type
		want  []*cel.Type
		to    *program
	}{
		{"expr", r.Expr, nil, want, &out.expr},
		{"applies", r.Applies, nil, []*cel.Type{cel.BoolType}, &out.applies},
		{"reason", r.Reason, value, []*cel.Type{cel.StringType}, &out.reason},
		{"evidence", r.Evidence, value, []*cel.Type{cel.StringType, cel.ListType(cel.StringType)}, &out.evidence},
	} {
		if part.expr == "" && part.name != "expr" {
			continue
		}
		if *part.to, err = e.program(part.expr, part.value, part.want...); err != nil {
			if x, ok := err.(*ExprError); ok {
				x.Criterion, x.Field = c.Name, part.name
			}
			return out, err
		}
	}
	return out, nil
}

// NeedsBody is false when no expression reads the session: its answer is a constant.
func (j *Judge) NeedsBody() bool { return j.body }

func (j *Judge) Close() error { return nil }

// Ask evaluates every rule. It makes no call, so ctx ends it only before it begins.
func (j *Judge) Ask(ctx context.Context, q judge.Question) judge.Reply {
	r := judge.Reply{CallAt: time.Now()}
	if ctx.Err() != nil {
		r.Class, r.Error, r.EndedAt = assay.ClassAborted, "the question was withdrawn", r.CallAt
		return r
	}
	if j.body && q.Session == nil {
		r.Class, r.Error, r.EndedAt = assay.ClassSessionMissing, "the session's body is not there", r.CallAt
		return r
	}
	answer, err := j.answer(q.Session)
	r.EndedAt = time.Now()
	if err != nil {
		r.Class, r.Error = assay.ClassJudgeError, err.Error()
		return r
	}
	r.Answers = []assay.Answer{answer}
	return r
}

func (j *Judge) answer(s *assay.Session) (assay.Answer, error) {
	v := &view{session: s, fields: j.fields, list: j.env.list}
	findings := make([]assay.Finding, len(j.criteria))
	for i := range j.criteria {
		var err error
		if findings[i], err = j.find(v, i); err != nil {
			return assay.Answer{}, fmt.Errorf("criterion %s: %w", j.criteria[i].Name, err)
		}
	}
	return j.pass.Answer(findings)
}

func (j *Judge) find(v *view, i int) (assay.Finding, error) {
	c, r := j.criteria[i], j.rules[i]
	f := assay.Finding{Criterion: c.Name, Applies: true}
	v.value = nil
	if r.applies.Program != nil {
		out, err := r.applies.eval(v)
		if err != nil {
			return f, fmt.Errorf("applies: %w", err)
		}
		if out != types.True {
			f.Applies = false
			return f, nil
		}
	}
	out, err := r.expr.eval(v)
	if err != nil {
		return f, err
	}
	if f.Value, v.value, err = value(c, out); err != nil {
		return f, err
	}
	if r.reason.Program != nil {
		reason, err := r.reason.eval(v)
		if err != nil {
			return f, fmt.Errorf("reason: %w", err)
		}
		f.Reason = string(reason.(types.String))
	}
	if r.evidence.Program != nil && c.Evidence != assay.EvidenceNone {
		quotes, err := r.evidence.eval(v)
		if err != nil {
			return f, fmt.Errorf("evidence: %w", err)
		}
		f.Evidence = judge.Verify(v.session, evidence(quotes))
	}
	return f, nil
}

func (p program) eval(v *view) (ref.Val, error) {
	out, _, err := p.Program.Eval(v)
	return out, err
}

// value checks what an expression gave and returns it as it is stored and as `value` shows it.
func value(c assay.Criterion, out ref.Val) ([]byte, ref.Val, error) {
	switch o := out.(type) {
	case types.Bool:
		if o {
			return []byte("true"), o, nil
		}
		return []byte("false"), o, nil
	case types.String:
		raw, err := judge.TextValue(c, string(o))
		return raw, o, err
	case types.Int:
		raw, err := judge.NumberValue(c, float64(o))
		return raw, types.Double(o), err
	case types.Uint:
		raw, err := judge.NumberValue(c, float64(o))
		return raw, types.Double(o), err
	case types.Double:
		raw, err := judge.NumberValue(c, float64(o))
		return raw, o, err
	}
	return nil, nil, fmt.Errorf("the expression gave a %s", out.Type().TypeName())
}

func evidence(out ref.Val) []assay.Evidence {
	var quotes []assay.Evidence
	add := func(v ref.Val) {
		if s, ok := v.(types.String); ok && s != "" && len(quotes) < judge.MaxQuotes {
			quotes = append(quotes, assay.Evidence{Turn: -1, Message: -1, Quote: string(s)})
		}
	}
	if list, ok := out.(traits.Lister); ok {
		for it := list.Iterator(); it.HasNext() == types.True; {
			add(it.Next())
		}
	} else {
		add(out)
	}
	return quotes
}
