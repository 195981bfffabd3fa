package kinds

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/judge"
)

// maxYAML bounds a definition; a rubric with examples takes a few kilobytes.
const maxYAML = 1 << 20

// load reads one YAML document. Anchors and aliases are refused: a definition needs none, and they
// let a small text stand for a huge one.
func load(source []byte) (*yaml.Node, error) {
	if len(source) > maxYAML {
		return nil, assay.Errorf(assay.CodeInvalid, "the definition is longer than %d bytes", maxYAML).WithHint("shorten its examples")
	}
	dec := yaml.NewDecoder(bytes.NewReader(source))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, assay.Errorf(assay.CodeInvalid, "the definition is empty").WithHint("begin with name, kind and criteria")
		}
		return nil, assay.Errorf(assay.CodeInvalid, "%s", strings.TrimPrefix(err.Error(), "yaml: ")).WithHint("the file must be valid YAML; texts that hold a colon need quotes or a block (|)")
	}
	var next yaml.Node
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, assay.Errorf(assay.CodeInvalid, "the file holds more than one document").WithHint("keep one judge per file")
	}
	if len(doc.Content) != 1 {
		return nil, assay.Errorf(assay.CodeInvalid, "the definition is empty").WithHint("begin with name, kind and criteria")
	}
	return doc.Content[0], plain(doc.Content[0], 0)
}

const maxDepth = 50

func plain(n *yaml.Node, depth int) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return at(n, "anchors and aliases are not supported").WithHint("write the value out")
	case depth > maxDepth:
		return at(n, "the definition is nested too deeply").WithHint("a judge needs few levels")
	}
	for _, child := range n.Content {
		if err := plain(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// at makes an error that names a node's line.
func at(n *yaml.Node, format string, args ...any) *assay.Error {
	return lineError(n.Line, assay.Errorf(assay.CodeInvalid, format, args...))
}

func lineError(line int, e *assay.Error) *assay.Error {
	located := *e
	located.Message = "line " + strconv.Itoa(line) + ": " + e.Message
	return (&located).With("line", strconv.Itoa(line))
}

// within puts a line before what another part says is wrong.
func within(n *yaml.Node, err error) error {
	var e *assay.Error
	if n == nil || !errors.As(err, &e) {
		return err
	}
	return lineError(n.Line, e)
}

// fields says what each member of a mapping sets. They are set in the order of the file.
type fields map[string]func(*yaml.Node) error

// elsewhere are names that people look for in a definition and that live somewhere else.
var elsewhere = map[string]string{
	"concurrency": "it belongs to a run: `assay grade --concurrency N`",
	"retries":     "retries belong to the engine and its classes of errors",
	"api_key":     "a key is never stored: put it into an environment variable and name that with api_key_env",
	"shell":       "commands are run without a shell: give argv as a list",
	"arm":         "a judge never sees the arm",
	"version":     "a version is the hash of the definition; it is computed",
}

func mapping(n *yaml.Node, what string, f fields) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "%s must be a mapping, not %s", what, kindName(n)).WithHint("write `name: value` lines, indented under it")
	}
	known := slices.Sorted(maps.Keys(f))
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		set, ok := f[key.Value]
		if !ok || key.Kind != yaml.ScalarNode {
			hint, misplaced := elsewhere[key.Value]
			if !misplaced {
				hint = "the fields are " + strings.Join(known, ", ")
			}
			return at(key, "field %.60q of %s is not known%s", key.Value, what, judge.Nearest(key.Value, known)).WithHint("%s", hint)
		}
		if seen[key.Value] {
			return at(key, "field %q of %s is given twice", key.Value, what).WithHint("drop one of them")
		}
		seen[key.Value] = true
		if value.Tag == "!!null" {
			continue
		}
		if err := set(value); err != nil {
			return err
		}
	}
	return nil
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

// source is a text and where it stands.
type source struct {
	text string
	node *yaml.Node
}

// line is the line of the file on which line n (from 1) of the text stands.
func (s source) line(n int) int {
	if s.node == nil {
		return 0
	}
	if s.node.Style&yaml.LiteralStyle != 0 {
		return s.node.Line + n
	}
	return s.node.Line
}

func intoSource(to *source, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		to.node = n
		return intoText(&to.text, name)(n)
	}
}

func intoText(to *string, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return at(n, "%s must be a text, not %s", name, kindName(n)).WithHint("quote it, or write it as a block (|)")
		}
		if strings.ContainsRune(n.Value, 0) {
			return at(n, "%s holds a NUL", name).WithHint("remove it")
		}
		*to = n.Value
		return nil
	}
}

func intoBool(to *bool, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(to) != nil {
			return at(n, "%s must be true or false", name).WithHint("without quotes")
		}
		return nil
	}
}

func intoNumber(to **float64, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var f float64
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" || n.Decode(&f) != nil || f != f || f-f != 0 {
			return at(n, "%s must be a finite number", name).WithHint("without quotes")
		}
		*to = &f
		return nil
	}
}

func intoInt(to **int64, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var i int64
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&i) != nil {
			return at(n, "%s must be a whole number", name).WithHint("without quotes")
		}
		*to = &i
		return nil
	}
}

func intoDuration(to *time.Duration, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		d, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d <= 0 {
			return at(n, "%s must be a duration above 0", name).WithHint("with its unit, for instance 90s or 2m")
		}
		*to = d
		return nil
	}
}

func intoTexts(to *[]string, name, hint string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return each(n, name, hint, func(n *yaml.Node) error {
			var s string
			if err := intoText(&s, "an entry of "+name)(n); err != nil {
				return err
			}
			*to = append(*to, s)
			return nil
		})
	}
}

func each(n *yaml.Node, name, hint string, f func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return at(n, "%s must be a list, not %s", name, kindName(n)).WithHint("%s", hint)
	}
	for _, entry := range n.Content {
		if err := f(entry); err != nil {
			return err
		}
	}
	return nil
}
