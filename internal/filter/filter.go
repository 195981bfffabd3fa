// Package filter selects sessions by a CEL expression over their heads.
//
// It owns the variables that an expression may use and what a failed evaluation means. It refuses to
// know bodies: a filter never needs one. Its invariant: what a session holds can make it not match,
// but never stops a scan; only an expression that is itself at fault is an error.
package filter

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"assay/internal/assay"
)

// Filter is a compiled expression. It is safe for concurrent use.
type Filter struct {
	program cel.Program
	values  map[string]func(*assay.Head) any
	text    string
}

// Variables lists what an expression may use, for help and hints.
func Variables() []string {
	names := make([]string, 0, len(variables()))
	for _, v := range variables() {
		names = append(names, v.name)
	}
	return names
}

type variable struct {
	name string
	typ  *cel.Type
	of   func(*assay.Head) any
}

func variables() []variable {
	return []variable{
		{"user", cel.StringType, func(h *assay.Head) any { return h.UserID }},
		{"session", cel.StringType, func(h *assay.Head) any { return h.SessionID }},
		{"day", cel.StringType, func(h *assay.Head) any { return h.Day }},
		{"arm", cel.StringType, func(h *assay.Head) any { return h.Arm }},
		{"case", cel.StringType, func(h *assay.Head) any { return h.Case }},
		{"source", cel.StringType, func(h *assay.Head) any { return h.Source }},
		{"agent_version", cel.StringType, func(h *assay.Head) any { return h.AgentVersion }},
		{"turns", cel.IntType, func(h *assay.Head) any { return h.Turns }},
		{"messages", cel.IntType, func(h *assay.Head) any { return h.Messages }},
		{"tool_calls", cel.IntType, func(h *assay.Head) any { return h.ToolCalls }},
		{"bytes", cel.IntType, func(h *assay.Head) any { return h.BodyBytes }},
		{"undated", cel.BoolType, func(h *assay.Head) any { return h.StartedAt == nil }},
		{"started", cel.TimestampType, started},
		{"metadata", cel.MapType(cel.StringType, cel.DynType), metadata},
	}
}

// started is no value at all for an undated session: comparing it is no match, either way round.
func started(h *assay.Head) any {
	if h.StartedAt == nil {
		return nil
	}
	return types.Timestamp{Time: *h.StartedAt}
}

// Compile reads an expression; its errors name the place and the variables.
func Compile(expr string) (*Filter, error) {
	if strings.TrimSpace(expr) == "" {
		return nil, refuse("the filter is empty")
	}
	if len(expr) > maxLength {
		return nil, refuse("the filter is %d bytes long; at most %d are allowed", len(expr), maxLength)
	}
	var options []cel.EnvOption
	values := map[string]func(*assay.Head) any{}
	for _, v := range variables() {
		options = append(options, cel.Variable(v.name, v.typ))
		values[v.name] = v.of
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "prepare filters: %w", err)
	}
	ast, issues := env.Compile(expr)
	if issues.Err() != nil {
		return nil, refuse("filter %s", place(issues))
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, refuse("the filter gives a value of type %s; it must say true or false, for instance by a comparison", ast.OutputType())
	}
	program, err := env.Program(ast, append(limited(env, ast), cel.EvalOptions(cel.OptOptimize))...)
	if err != nil {
		return nil, refuse("filter: %s", err)
	}
	return &Filter{program, values, expr}, nil
}

func refuse(format string, args ...any) error {
	return assay.Errorf(assay.CodeInvalid, "%s", fmt.Sprintf(format, args...)).
		WithHint("it is a CEL expression, such as arm == 'treatment' && turns > 2 && metadata.plan == 'pro'; variables: %s", strings.Join(Variables(), ", "))
}

// place tells the first issue with where it is. Columns count from 1, as editors do.
func place(issues *cel.Issues) string {
	e := issues.Errors()[0]
	message := strings.ReplaceAll(e.Message, " (in container '')", "")
	return fmt.Sprintf("line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, message)
}

// String is the expression as it was given.
func (f *Filter) String() string { return f.text }

// Match says whether h is selected. A key that the metadata lacks, or a value of another type than
// the expression needs, is no match. An error means that the expression costs too much.
func (f *Filter) Match(h *assay.Head) (bool, error) {
	out, _, err := f.program.Eval(&activation{f.values, h})
	if err != nil {
		var cancelled interpreter.EvalCancelledError
		if errors.As(err, &cancelled) {
			return false, assay.Errorf(assay.CodeInvalid, "the filter costs too much on session %s", h.Name()).
				WithHint("make it shorter, or simplify its regular expressions and nested macros")
		}
		return false, nil
	}
	return out == types.True, nil
}

// activation gives an expression the values that it asks for, and computes no others.
type activation struct {
	values map[string]func(*assay.Head) any
	h      *assay.Head
}

func (a *activation) ResolveName(name string) (any, bool) {
	of, ok := a.values[name]
	if !ok {
		return nil, false
	}
	value := of(a.h)
	return value, value != nil
}

func (a *activation) Parent() interpreter.Activation { return nil }
