package definition

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The readers below make a member of Fields. name stands in their errors.

// Text takes any single value as it is written, so that 1.10 stays 1.10.
func Text(to *string, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return At(n, "%s must be a text, not %s", name, Kind(n)).WithHint("quote it, or write it as a block (|)")
		}
		if n.Tag == "!!null" { // in a list: a member of a mapping would not be there
			return At(n, "%s is empty", name).WithHint("drop it, or write it in quotes")
		}
		if strings.ContainsRune(n.Value, 0) {
			return At(n, "%s holds a NUL", name).WithHint("remove it")
		}
		*to = n.Value
		return nil
	}
}

// Bool takes true and false.
func Bool(to *bool, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(to) != nil {
			return At(n, "%s must be true or false", name).WithHint("without quotes")
		}
		return nil
	}
}

// decimal says whether a number is written as everybody reads it: YAML 1.1 takes 010 for 8, and 1_000 for
// a number, where YAML 1.2 has ten and a text.
func decimal(s string) bool {
	digits := strings.TrimLeft(s, "+-")
	return !strings.Contains(s, "_") && !(len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
}

// Number takes a finite number.
func Number(to **float64, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var f float64
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" || n.Decode(&f) != nil || f != f || f-f != 0 || !decimal(n.Value) {
			return At(n, "%s must be a finite number", name).WithHint("without quotes, and without zeros in front")
		}
		*to = &f
		return nil
	}
}

// Int takes a whole number.
func Int(to **int64, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var i int64
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&i) != nil || !decimal(n.Value) {
			return At(n, "%s must be a whole number", name).WithHint("without quotes, and without zeros in front")
		}
		*to = &i
		return nil
	}
}

// Duration takes a duration above 0.
func Duration(to *time.Duration, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		d, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d <= 0 {
			return At(n, "%s must be a duration above 0", name).WithHint("with its unit, for instance 90s or 2m")
		}
		*to = d
		return nil
	}
}

// Texts takes a list of texts; hint says how one is written.
func Texts(to *[]string, name, hint string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return Each(n, name, hint, func(n *yaml.Node) error {
			var s string
			if err := Text(&s, "an entry of "+name)(n); err != nil {
				return err
			}
			*to = append(*to, s)
			return nil
		})
	}
}

// Each calls f with every entry of a list.
func Each(n *yaml.Node, name, hint string, f func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return At(n, "%s must be a list, not %s", name, Kind(n)).WithHint("%s", hint)
	}
	for _, entry := range n.Content {
		if err := f(entry); err != nil {
			return err
		}
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// VariableName says whether s can name an environment variable.
func VariableName(s string) bool { return variableName.MatchString(s) }

// JSON writes a YAML value as JSON, with sorted keys.
func JSON(n *yaml.Node) (json.RawMessage, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, At(n, "the value cannot be read").WithHint("use texts, numbers, true, false, lists and mappings")
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, At(n, "the value cannot be written as JSON").WithHint("use texts as keys, and finite numbers")
	}
	return raw, nil
}
