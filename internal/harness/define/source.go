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

// text is a file by its lines, as YAML counts them, and the key that follows on each key of the file and
// of its sections.
type text struct {
	lines []string
	next  map[*yaml.Node]*yaml.Node
}

var lineEnd = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

func newText(source []byte, root *yaml.Node) text {
	t := text{next: map[*yaml.Node]*yaml.Node{}}
	if utf8.Valid(source) { // UTF-16 has other lines
		t.lines = lineEnd.Split(strings.TrimPrefix(string(source), "\ufeff"), -1)
	}
	for i := 0; i < len(root.Content); i++ {
		if i+2 < len(root.Content) {
			t.next[root.Content[i]] = root.Content[i+2]
		}
		for section, j := root.Content[i], 0; j+2 < len(section.Content); j += 2 {
			t.next[section.Content[j]] = section.Content[j+2]
		}
	}
	return t
}

// part is one member of the section with this key as a file of its own. It is cut out by lines, with the comment above
// it, so that people find again what they wrote; where it shares a line with something else it is
// written anew.
func (t text) part(section, key, value *yaml.Node) string {
	from, to := t.begin(key), len(t.lines)
	for _, k := range []*yaml.Node{key, section} {
		if next := t.next[k]; next != nil {
			to = t.begin(next)
			break
		}
	}
	if from < to && to <= len(t.lines) {
		cut := section.Value + ":\n" + strings.TrimRight(strings.Join(t.lines[from:to], "\n"), " \t\n") + "\n"
		if whole, err := definition.Load([]byte(cut), form); err == nil && same(whole, file(section.Value, key, value)) {
			return cut
		}
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if enc.Encode(file(section.Value, key, value)) != nil || enc.Close() != nil {
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
	for key.HeadComment != "" && i > 0 && i <= len(t.lines) && strings.HasPrefix(strings.TrimSpace(t.lines[i-1]), "#") {
		i--
	}
	return i
}
