package kinds

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/definition"
)

// variablePrefix limits what a definition can read of the environment, so that one sent from
// elsewhere cannot carry a secret out in a URL.
const variablePrefix = "ASSAY_JUDGE_"

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// expanded is a field's text after its variables were filled in. What they mean now is what the version
// is made of.
type expanded struct {
	text      string
	variables []string // that stand in it
	byDefault bool     // the text is one variable's default: neither the definition's author nor the environment asked for it
}

// expand fills in variables as a shell does: ${NAME}, ${NAME:-default} where it is not set or empty,
// and ${NAME-default} where it is not set, so that an empty one leaves the field out.
func (d *draft) expand(n *yaml.Node, name string) (e expanded, err error) {
	whole := reference.FindString(n.Value) == n.Value
	e.text = reference.ReplaceAllStringFunc(n.Value, func(s string) string {
		inside := s[2 : len(s)-1]
		end := strings.IndexAny(inside+"-", ":-")
		variable, rest := inside[:end], inside[end:]
		given, takesEmpty := strings.CutPrefix(rest, "-")
		if !takesEmpty {
			given = strings.TrimPrefix(rest, ":-")
		}
		value, set := d.env.lookup(variable)
		switch {
		case !strings.HasPrefix(variable, variablePrefix):
			err = definition.At(n, "%s names the variable %.60q", name, variable).WithHint("only variables that begin with %s can be named in a definition", variablePrefix)
		case rest != "" && !takesEmpty && given == rest:
			err = definition.At(n, "%s holds ${%.60s}, which is not understood", name, inside).WithHint("write ${%s}, ${%s:-default} or ${%s-default}", variable, variable, variable)
		case set && (value != "" || takesEmpty):
			given = value
		case rest == "":
			err = definition.At(n, "%s needs the variable %s, which is not set or empty", name, variable).WithHint("set it, or give a default: ${%s:-…}", variable)
		default:
			e.byDefault = whole
		}
		e.variables = append(e.variables, variable)
		return given
	})
	e.text = strings.TrimSpace(e.text)
	return e, err
}

// intoExpanded reads a text in which variables may stand.
func (d *draft) intoExpanded(to *string, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := definition.Text(to, name)(n); err != nil {
			return err
		}
		e, err := d.expand(n, name)
		*to = e.text
		return err
	}
}

// orExpanded reads a value that is no text and in whose place variables may stand. Where they make
// nothing, the field is absent. byDefault says whether the value is a variable's default.
func (d *draft) orExpanded(name string, byDefault *bool, set func(*yaml.Node) error) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || !reference.MatchString(n.Value) {
			return set(n)
		}
		e, err := d.expand(n, name)
		if err != nil || e.text == "" {
			return err
		}
		if byDefault != nil {
			*byDefault = e.byDefault
		}
		value := &yaml.Node{Kind: yaml.ScalarNode, Value: e.text, Line: n.Line}
		value.Tag = value.ShortTag()
		if set(value) == nil {
			return nil
		}
		// What the variables hold is not shown: one of them may be a key.
		return definition.At(n, "%s cannot be what %s holds", name, strings.Join(e.variables, " and ")).WithHint("give it a value as it would stand here, or an empty one to leave %s out", name)
	}
}
