package definition

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
)

// Fields says what each member of a mapping sets. They are set in the order of the file; a member
// without a value (null) is passed over as if it were not there.
type Fields map[string]func(*yaml.Node) error

// Mapping reads a mapping whose members are known. elsewhere are names that people look for in it and
// that live somewhere else, with the hint where.
func Mapping(n *yaml.Node, what string, f Fields, elsewhere map[string]string) error {
	known := slices.Sorted(maps.Keys(f))
	return members(n, what, func(key, value *yaml.Node) error {
		set, ok := f[key.Value]
		if !ok || key.Kind != yaml.ScalarNode {
			hint, misplaced := elsewhere[key.Value]
			if !misplaced {
				hint = "the fields are " + strings.Join(known, ", ")
			}
			return At(key, "field %.60q of %s is not known%s", key.Value, what, Nearest(key.Value, known)).WithHint("%s", hint)
		}
		if value.Tag == "!!null" {
			return nil
		}
		return set(value)
	})
}

// Named reads a mapping whose members are named by its author, in the order of the file.
func Named(n *yaml.Node, what string, f func(name string, key, value *yaml.Node) error) error {
	return members(n, what, func(key, value *yaml.Node) error {
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			return At(key, "a name in %s must be a text", what).WithHint("write `name:` lines, indented under it")
		}
		return f(key.Value, key, value)
	})
}

func members(n *yaml.Node, what string, f func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return At(n, "%s must be a mapping, not %s", what, Kind(n)).WithHint("write `name: value` lines, indented under it")
	}
	seen := map[string]bool{}
	var wrong []error // all of it is told at once
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			wrong = append(wrong, At(key, "merge keys (<<) are not supported").WithHint("write the members out"))
			continue
		}
		if seen[key.Value] && key.Kind == yaml.ScalarNode {
			wrong = append(wrong, At(key, "field %.60q of %s is given twice", key.Value, what).WithHint("drop one of them"))
			continue
		}
		seen[key.Value] = true
		if err := f(key, value); err != nil {
			wrong = append(wrong, err)
		}
	}
	return assay.Together(wrong)
}
