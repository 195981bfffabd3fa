package define

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
)

// reserved begins the variables that Assay sets for a harness itself.
const reserved = "ASSAY_"

// variables are the names that a suite sets, and where.
type variables struct {
	list []variable
}

type variable struct {
	name, where string
	node        *yaml.Node
}

func (v *variables) add(name, where string, n *yaml.Node) error {
	if !definition.VariableName(name) {
		// Not shown: NAME=value is a usual mistake, and the value may be a secret.
		return definition.At(n, "%s does not hold the name of a variable", where).WithHint("use letters, digits and underscores, for instance OPENAI_BASE_URL")
	}
	if strings.HasPrefix(name, reserved) {
		return definition.At(n, "the variable %.60s is reserved", name).WithHint("names that begin with %s are Assay's own; call it something else", reserved)
	}
	v.list = append(v.list, variable{name, where, n})
	return nil
}

func (v *variables) has(name string) bool {
	return slices.ContainsFunc(v.list, func(o variable) bool { return o.name == name })
}

// check refuses a variable that two places set: which of them holds would be a guess.
func (v *variables) check() error {
	slices.SortStableFunc(v.list, func(a, b variable) int { return cmp.Compare(a.node.Line, b.node.Line) })
	first := map[string]variable{}
	for _, one := range v.list {
		if before, set := first[one.name]; set {
			return definition.At(one.node, "the variable %s is set twice: by %s on line %d and by %s", one.name, before.where, before.node.Line, one.where).WithHint("drop one of them")
		}
		first[one.name] = one
	}
	return nil
}

func (f *reader) env(to *assay.SuiteEnv, v *variables, n *yaml.Node) error {
	return definition.Mapping(n, "env", definition.Fields{
		"pass": func(n *yaml.Node) error {
			return definition.Each(n, "pass", "names of variables that the harness gets, for instance [PATH, HOME]", func(n *yaml.Node) error { return pass(to, v, n) })
		},
		"set": func(n *yaml.Node) error {
			to.Set = map[string]string{}
			return definition.Named(n, "set", func(name string, key, value *yaml.Node) error {
				if value.Tag == "!!null" {
					return definition.At(key, "the variable %.60q of set has no value", name).WithHint("write \"\" for an empty one, or list the name under `pass` to take what is there")
				}
				var text string
				if err := definition.Text(&text, "a value of set")(value); err != nil {
					return err
				}
				to.Set[name] = text
				return v.add(name, "set", key)
			})
		},
		"secrets": func(n *yaml.Node) error {
			return definition.Named(n, "secrets", func(name string, key, value *yaml.Node) error {
				s, err := f.secret(name, value)
				to.Secrets = append(to.Secrets, s)
				return cmp.Or(err, v.add(name, "secrets", key))
			})
		},
	}, map[string]string{
		"inherit": "nothing is inherited: list names under `pass`",
		"allow":   "list names under `pass`",
		"vars":    "fixed values stand under `set`",
	})
}

// pass reads NAME or {name, from, fallback}.
func pass(to *assay.SuiteEnv, v *variables, n *yaml.Node) error {
	var one assay.PassEnv
	var fallback string
	p := places{}
	place := n
	if n.Kind == yaml.ScalarNode {
		if err := definition.Text(&one.Name, "an entry of pass")(n); err != nil {
			return err
		}
	} else {
		err := definition.Mapping(n, "an entry of pass", p.of(definition.Fields{
			"name":     definition.Text(&one.Name, "name"),
			"from":     definition.Text(&one.From, "from"),
			"fallback": definition.Text(&fallback, "fallback"),
		}), map[string]string{"default": "it is called `fallback`", "value": "a fixed value stands under `set`"})
		if err != nil {
			return err
		}
		place = p.at(n, "name")
	}
	if one.From != "" && !definition.VariableName(one.From) {
		return definition.At(p["from"], "from does not hold the name of a variable").WithHint("name the variable whose value is taken")
	}
	if p["fallback"] != nil {
		one.Fallback = &fallback
	}
	to.Pass = append(to.Pass, one)
	return v.add(one.Name, "pass", place)
}

// secret reads where a secret comes from. Nothing of a value is shown that may be the secret itself.
func (f *reader) secret(name string, n *yaml.Node) (assay.SecretEnv, error) {
	const hint = "name where it is found: {env: NAME}, {file: PATH} or {command: [pass, show, NAME]}; a secret itself never stands here"
	s := assay.SecretEnv{Name: name}
	if n.Kind != yaml.MappingNode {
		return s, definition.At(n, "the secret %.60q must be a mapping, not %s", name, definition.Kind(n)).WithHint(hint)
	}
	p := places{}
	err := definition.Mapping(n, "a secret", p.of(definition.Fields{
		"env":     definition.Text(&s.Env, "env"),
		"file":    definition.Text(&s.File, "file"),
		"command": words(&s.Command, "command"),
	}), map[string]string{"value": "a secret never stands in a definition: " + hint})
	given := 0
	for _, is := range []bool{s.Env != "", s.File != "", len(s.Command) > 0 && s.Command[0] != ""} {
		if is {
			given++
		}
	}
	switch {
	case err != nil:
		return s, err
	case given != 1:
		return s, definition.At(n, "the secret %.60q names %d places where it is found", name, given).WithHint(hint)
	case s.Env != "" && !definition.VariableName(s.Env):
		return s, definition.At(p["env"], "env of the secret %.60q does not hold the name of a variable", name).WithHint(hint)
	case s.File != "":
		s.File, err = f.absolute(p["file"], "file", s.File)
	}
	return s, err
}
