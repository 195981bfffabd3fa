package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"

	"assay/internal/assay"
	"assay/internal/definition"
	"assay/internal/judge"
)

// Version names the environment that expressions run in: variables, types, functions and limits.
const Version = "rules/1"

// costLimit bounds one expression on one session. It is counted in steps and bytes looked at, so
// the same session always meets it or never does.
const costLimit = 20_000_000

const (
	varTurns             = "turns"
	varMessages          = "messages"
	varUserMessages      = "user_messages"
	varAssistantMessages = "assistant_messages"
	varToolCalls         = "tool_calls"
	varToolResults       = "tool_results"
	varText              = "text"
	varLowerText         = "lower_text"
	varMetadata          = "metadata"
	varValue             = "value"
)

// environment compiles expressions for one judge.
type environment struct {
	base   *cel.Env
	list   func([]ref.Val) ref.Val
	names  []string // of variables, for hints
	fields []string
}

func newEnvironment(fields []string) (*environment, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "make the environment of rules: %w", err)
	}
	list := func(values []ref.Val) ref.Val { return types.NewRefValList(registry, values) }
	e := &environment{list: list, fields: fields}
	messages := cel.ListType(messageType)
	variables := []struct {
		name string
		typ  *cel.Type
	}{
		{varTurns, cel.ListType(turnType)}, {varMessages, messages}, {varUserMessages, messages},
		{varAssistantMessages, messages}, {varToolResults, messages}, {varToolCalls, cel.ListType(callType)},
		{varText, cel.StringType}, {varLowerText, cel.StringType},
	}
	for _, f := range fields {
		if !strings.HasPrefix(f, varMetadata) {
			variables = append(variables, struct {
				name string
				typ  *cel.Type
			}{f, cel.StringType})
		}
	}
	if len(judge.MetadataKeys(fields)) > 0 {
		variables = append(variables, struct {
			name string
			typ  *cel.Type
		}{varMetadata, cel.MapType(cel.StringType, cel.DynType)})
	}
	options := []cel.EnvOption{
		cel.CustomTypeAdapter(registry), cel.CustomTypeProvider(&provider{registry, objectFields(list)}),
		ext.Strings(ext.StringsVersion(4)), cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(20_000),
		lowerFunction(), jsonFunction(registry), findFunction(list),
	}
	for _, v := range variables {
		options = append(options, cel.Variable(v.name, v.typ))
		e.names = append(e.names, v.name)
	}
	e.base, err = cel.NewEnv(options...)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "make the environment of rules: %w", err)
	}
	return e, nil
}

// lowerFunction is text.lower(): the text in lower case, of any alphabet.
func lowerFunction() cel.EnvOption {
	return cel.Function("lower", cel.MemberOverload("string_lower", []*cel.Type{cel.StringType}, cel.StringType,
		cel.UnaryBinding(func(s ref.Val) ref.Val { return types.String(strings.ToLower(string(s.(types.String)))) })))
}

// jsonFunction is json(text): the value that a text of JSON means, for tool arguments and results.
func jsonFunction(adapter types.Adapter) cel.EnvOption {
	return cel.Function("json", cel.Overload("json_string", []*cel.Type{cel.StringType}, cel.DynType,
		cel.UnaryBinding(func(s ref.Val) ref.Val {
			var v any
			if err := json.Unmarshal([]byte(s.(types.String)), &v); err != nil {
				return types.NewErr("json(...) was given a text that is not JSON: %v", err)
			}
			return adapter.NativeToValue(v)
		})))
}

// findFunction is text.find(pattern): everything in the text that the pattern (RE2) meets, to quote.
func findFunction(list func([]ref.Val) ref.Val) cel.EnvOption {
	return cel.Function("find", cel.MemberOverload("string_find", []*cel.Type{cel.StringType, cel.StringType}, cel.ListType(cel.StringType),
		cel.BinaryBinding(func(s, pattern ref.Val) ref.Val {
			re, err := regexp.Compile(string(pattern.(types.String)))
			if err != nil {
				return types.NewErr("find(...) was given a pattern that is not valid: %v", err)
			}
			return found(list, re, string(s.(types.String)))
		})))
}

func found(list func([]ref.Val) ref.Val, re *regexp.Regexp, s string) ref.Val {
	var values []ref.Val
	for _, m := range re.FindAllString(s, judge.MaxQuotes) {
		values = append(values, types.String(m))
	}
	return list(values)
}

// program compiles one expression. value is the type of the variable `value`, nil where there is none.
func (e *environment) program(expr string, value *cel.Type, want ...*cel.Type) (program, error) {
	env := e.base
	if value != nil {
		var err error
		if env, err = env.Extend(cel.Variable(varValue, value)); err != nil {
			return program{}, assay.Errorf(assay.CodeInternal, "make the environment of rules: %w", err)
		}
	}
	ast, issues := env.Compile(expr)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return program{}, &ExprError{Line: first.Location.Line(), Column: first.Location.Column() + 1, Message: first.Message, Hint: e.hint(first.Message)}
	}
	if !slices.ContainsFunc(want, func(t *cel.Type) bool { return t.IsAssignableType(ast.OutputType()) }) {
		return program{}, &ExprError{Line: 1, Column: 1, Message: "the expression is of type " + ast.OutputType().String() + ", not " + typeNames(want)}
	}
	p, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(costLimit), cel.OptimizeRegex(interpreter.MatchesRegexOptimization, e.findOptimization()))
	if err != nil {
		return program{}, &ExprError{Line: 1, Column: 1, Message: err.Error()}
	}
	return program{p, e.touches(ast)}, nil
}

// findOptimization compiles constant patterns once, and finds a wrong one before any session is read.
func (e *environment) findOptimization() *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{Function: "find", OverloadID: "string_find", RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
				s, ok := args[0].(types.String)
				if !ok {
					return types.MaybeNoSuchOverloadErr(args[0])
				}
				return found(e.list, re, string(s))
			}), nil
		}}
}

var undeclared = regexp.MustCompile(`undeclared reference to '([^']+)'`)

// hint says what to do about an unknown name; hidden fields get the reason why they are unknown.
func (e *environment) hint(message string) string {
	m := undeclared.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	switch name := m[1]; name {
	case "arm":
		return "a judge never sees the arm: it must not know which side it grades"
	case "agent_version", "source", "source_url", "user_id", "session_id":
		return "this field is hidden from judges; list it under `fields:` if the judge must see it"
	case varMetadata:
		return "metadata is hidden from judges; list the keys that the judge must see under `fields:` as metadata.KEY"
	default:
		return "the variables are " + strings.Join(e.names, ", ") + definition.Nearest(name, e.names)
	}
}

// touches says whether an expression reads anything of the session.
func (e *environment) touches(a *cel.Ast) bool {
	for _, r := range a.NativeRep().ReferenceMap() {
		if slices.Contains(e.names, r.Name) {
			return true
		}
	}
	return false
}

func typeNames(types []*cel.Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return strings.Join(names, " or ")
}

// provider adds the three object types to CEL's own.
type provider struct {
	*types.Registry
	objects map[string]map[string]*types.FieldType
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := p.objects[name]; ok {
		names := make([]string, 0, len(fields))
		for f := range fields {
			names = append(names, f)
		}
		slices.Sort(names)
		return names, true
	}
	return p.Registry.FindStructFieldNames(name)
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if fields, ok := p.objects[name]; ok {
		f, ok := fields[field]
		return f, ok
	}
	return p.Registry.FindStructFieldType(name, field)
}

func (p *provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.objects[name]; ok {
		return types.NewErr("a rule cannot make a %s", name)
	}
	return p.Registry.NewValue(name, fields)
}
