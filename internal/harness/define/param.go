package define

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
)

var paramTypes = []string{string(assay.ParamString), string(assay.ParamInt), string(assay.ParamNumber), string(assay.ParamBool)}

// otherTypes are names that types have elsewhere.
var otherTypes = map[string]string{"integer": "int", "float": "number", "double": "number", "text": "string", "boolean": "bool"}

func nearestType(name string) string {
	if ours, ok := otherTypes[name]; ok {
		return fmt.Sprintf(" (did you mean %q?)", ours)
	}
	return definition.Nearest(name, paramTypes)
}

var elsewhereInParam = map[string]string{
	"name":    "the name stands before the colon, under `params:`",
	"enum":    "it is called `values`",
	"choices": "it is called `values`",
	"minimum": "it is called `min`",
	"maximum": "it is called `max`",
	"arg":     "it is called `flag`",
	"option":  "it is called `flag`",
	"secret":  "a secret is no parameter: it stands under `env: {secrets: …}`",
}

func (f *reader) params(d *assay.SuiteDefinition, v *variables, n *yaml.Node) error {
	flags := map[string]string{}
	return definition.Named(n, "params", func(name string, key, value *yaml.Node) error {
		p := places{}
		one, err := param(name, p, value)
		if err != nil {
			return err
		}
		if err := checkParam(one); err != nil {
			return within(key, p, err)
		}
		for _, flag := range flagsOf(one) {
			bare := strings.TrimSuffix(flag.text, "=")
			if other, taken := flags[bare]; taken {
				return definition.At(p[flag.field], "the flag %.60s is that of the parameter %q already", bare, other).WithHint("give each parameter a flag of its own")
			}
			flags[bare] = name
		}
		d.Params = append(d.Params, one)
		if one.Env == "" {
			return nil
		}
		return v.add(one.Env, "the parameter "+name, p["env"])
	})
}

// param reads a parameter; whether its members fit each other is checked afterwards.
func param(name string, p places, n *yaml.Node) (assay.SuiteParam, error) {
	one := assay.SuiteParam{Name: name}
	var typ string
	var length *int64
	err := definition.Mapping(n, "a parameter", p.of(definition.Fields{
		"type":        definition.Text(&typ, "type"),
		"description": definition.Text(&one.Description, "description"),
		"default":     func(n *yaml.Node) (err error) { one.Default, err = scalar(n, "default"); return err },
		"required":    definition.Bool(&one.Required, "required"),
		"flag":        definition.Text(&one.Flag, "flag"),
		"flag_false":  definition.Text(&one.FlagFalse, "flag_false"),
		"env":         definition.Text(&one.Env, "env"),
		"min":         definition.Number(&one.Min, "min"),
		"max":         definition.Number(&one.Max, "max"),
		"values": func(n *yaml.Node) error {
			one.Values = []string{} // given, though empty
			return definition.Texts(&one.Values, "values", "for instance [small, large]")(n)
		},
		"pattern":    definition.Text(&one.Pattern, "pattern"),
		"max_length": definition.Int(&length, "max_length"),
	}), elsewhereInParam)
	if err != nil {
		return one, err
	}
	one.Type = assay.ParamType(typ)
	if length != nil {
		if *length < 1 || *length > maxValue {
			return one, definition.At(p["max_length"], "max_length is out of range").WithHint("use 1 to %d characters", maxValue)
		}
		one.MaxLength = int(*length)
	}
	if one.Default != nil && one.Type == assay.ParamString {
		one.Default, err = json.Marshal(p["default"].Value) // as it is written, so that 1.10 stays 1.10
	} else if one.Default != nil {
		if v, err := value(one, one.Default); err == nil && v != nil {
			one.Default = v
		}
	}
	return one, err
}

// scalar is a single YAML value as JSON: a number where it is written as JSON writes one, else a text.
func scalar(n *yaml.Node, name string) (json.RawMessage, error) {
	var text string
	if err := definition.Text(&text, name)(n); err != nil {
		return nil, err
	}
	number := (n.Tag == "!!int" || n.Tag == "!!float") && isNumber(text)
	if number || n.Tag == "!!bool" && (text == "true" || text == "false") {
		return json.RawMessage(text), nil
	}
	return json.Marshal(text)
}

// checkParam says whether the members of a parameter fit each other.
func checkParam(p assay.SuiteParam) error {
	text, number := p.Type == assay.ParamString, p.Type == assay.ParamInt || p.Type == assay.ParamNumber
	only := func(field, kind string) error {
		return bad(field, "the parameter %q is of the type %s, and %s is for %s", p.Name, p.Type, field, kind).WithHint("drop %s", field)
	}
	switch {
	case !paramName.MatchString(p.Name):
		return bad("", "%.80q is not a valid name of a parameter", p.Name).WithHint("use 1 to 64 letters, digits, dots, dashes and underscores; begin with a letter")
	case p.Type == "":
		return bad("type", "the parameter %q has no type", p.Name).WithHint("write `type: string`, int, number or bool")
	case !slices.Contains(paramTypes, string(p.Type)):
		return bad("type", "type %.40q of the parameter %q is not known%s", p.Type, p.Name, nearestType(string(p.Type))).WithHint("use string, int, number or bool")
	case p.Flag == "" && p.FlagFalse == "" && p.Env == "":
		return bad("flag", "the parameter %q reaches nothing", p.Name).WithHint("write `flag: --%s`, or `env: NAME`", p.Name)
	case p.FlagFalse != "" && p.Type != assay.ParamBool:
		return only("flag_false", "bool")
	case p.Min != nil && !number:
		return only("min", "int and number")
	case p.Max != nil && !number:
		return only("max", "int and number")
	case p.Min != nil && p.Max != nil && *p.Min > *p.Max:
		return bad("max", "the parameter %q has min above max", p.Name).WithHint("swap them")
	case p.Values != nil && !text:
		return only("values", "string")
	case p.Pattern != "" && !text:
		return only("pattern", "string")
	case p.MaxLength != 0 && !text:
		return only("max_length", "string")
	case p.Required && p.Default != nil:
		return bad("required", "the parameter %q is required and has a default, which would never be used", p.Name).WithHint("drop one of them")
	case p.Env == "PATH" || strings.HasPrefix(p.Env, "LD_") || strings.HasPrefix(p.Env, "DYLD_"):
		return bad("env", "the parameter %q would choose which program is run", p.Name).WithHint("call its variable something other than %s", p.Env)
	}
	for _, check := range []func(assay.SuiteParam) error{checkFlags, checkValues, checkPattern, checkDefault} {
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}

// flagForm is an option (-n, --limit, --limit=), or a key (model.name=) as some programs take it.
var flagForm = regexp.MustCompile(`^(--?[A-Za-z0-9][^\s=]*=?|[+A-Za-z][^\s=]*=)$`)

func checkFlags(p assay.SuiteParam) error {
	for _, flag := range flagsOf(p) {
		switch {
		case !flagForm.MatchString(flag.text) || len(flag.text) > 200:
			return bad(flag.field, "%s of the parameter %q is not an option", flag.field, p.Name).WithHint("write one word, for instance --limit, or --limit= to give the value in the same argument")
		case p.Type == assay.ParamBool && strings.HasSuffix(flag.text, "="):
			return bad(flag.field, "%s of the parameter %q ends in =, and a bool has no value to put there", flag.field, p.Name).WithHint("write --x for true and `flag_false: --no-x` for false")
		}
	}
	return nil
}

type flag struct{ field, text string }

func flagsOf(p assay.SuiteParam) (out []flag) {
	for _, f := range []flag{{"flag", p.Flag}, {"flag_false", p.FlagFalse}} {
		if f.text != "" {
			out = append(out, f)
		}
	}
	return out
}

func checkValues(p assay.SuiteParam) error {
	if p.Values != nil && len(p.Values) == 0 {
		return bad("values", "values of the parameter %q is empty", p.Name).WithHint("list at least one, or drop it")
	}
	seen := map[string]bool{"": true}
	for _, v := range p.Values {
		if seen[v] {
			return bad("values", "values of the parameter %q holds %.40q twice, or an empty text", p.Name, v).WithHint("each value stands there once; an empty one means that the parameter is left out")
		}
		seen[v] = true
	}
	return nil
}

func checkPattern(p assay.SuiteParam) error {
	if _, err := wholePattern(p.Pattern); err != nil {
		return badPattern("pattern", err)
	}
	return nil
}

// wholePattern matches the whole of a text.
func wholePattern(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil { // or "a)|(b" would fit between the brackets below
		return nil, err
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}

func checkDefault(p assay.SuiteParam) error {
	if p.Default == nil {
		return nil
	}
	v, err := value(p, p.Default)
	switch {
	case err != nil:
		return bad("default", "the default of the %w", err).WithHint("change the default or the bound")
	case v == nil:
		return bad("default", "the default of the parameter %q is empty", p.Name).WithHint("drop it: a parameter without a value is left out")
	}
	return nil
}
