package define

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"assay/internal/definition"
)

// text is a file by its lines, as YAML counts them.
type text []string

var lineEnd = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

func newText(source []byte) text {
	if !utf8.Valid(source) {
		return nil // UTF-16 has other lines
	}
	return lineEnd.Split(strings.TrimPrefix(string(source), "\ufeff"), -1)
}

// part is one member of a section as a file of its own. It is cut out by lines, with the comment above
// it, so that people find again what they wrote; where it shares a line with something else it is
// written anew.
func (t text) part(root, section, key, value *yaml.Node) string {
	name := ""
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i+1] == section {
			name = root.Content[i].Value
		}
	}
	from, to := t.begin(key), t.end(root, section, key)
	if from < to && to <= len(t) {
		cut := name + ":\n" + strings.TrimRight(strings.Join(t[from:to], "\n"), " \t\n") + "\n"
		if whole, err := definition.Load([]byte(cut), form); err == nil && same(whole, file(name, key, value)) {
			return cut
		}
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if enc.Encode(file(name, key, value)) != nil || enc.Close() != nil {
		return ""
	}
	return out.String()
}

// file is a file that holds one member of one section.
func file(section string, key, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: section},
		{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{key, value}},
	}}
}

// same says whether two nodes mean the same.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, same)
}

// begin is the index of the first line of a key, with the comment right above it.
func (t text) begin(key *yaml.Node) int {
	i := key.Line - 1
	for key.HeadComment != "" && i > 0 && i <= len(t) && strings.HasPrefix(strings.TrimSpace(t[i-1]), "#") {
		i--
	}
	return i
}

// end is the index after the last line of a key's value: where the next key of the section begins, else
// the next section, else the end of the file.
func (t text) end(root, section, key *yaml.Node) int {
	for i := 0; i < len(section.Content)-2; i += 2 {
		if section.Content[i] == key {
			return t.begin(section.Content[i+2])
		}
	}
	for i := 0; i < len(root.Content)-2; i += 2 {
		if root.Content[i+1] == section {
			return t.begin(root.Content[i+2])
		}
	}
	return len(t)
}
