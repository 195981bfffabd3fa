package kinds

import (
	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
)

// Reaches says whether a definition makes the process that drives runs read a file or start a program
// of its machine, and what does so. A server takes such definitions from its own machine only: one sent
// from elsewhere could read any file as if it were a key, and send it away. Text that cannot be read
// reaches nothing: Parse refuses it.
func Reaches(text []byte) (what string, does bool) {
	root, err := definition.Load(text, form)
	if err != nil {
		return "", false
	}
	for key, value := range pairs(root) {
		switch {
		case key == string(assay.JudgeCommand), key == "kind" && value.Value == string(assay.JudgeCommand):
			return "a command", true
		case key == string(assay.JudgeLLM):
			for field := range pairs(value) {
				if field == "api_key_file" || field == "api_key_command" || field == "ca_file" {
					return field, true
				}
			}
		}
	}
	return "", false
}

// pairs are the members of a mapping, doubled ones too.
func pairs(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}
