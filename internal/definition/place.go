package definition

import (
	"errors"
	"strconv"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
)

// At makes an error that names a node's line.
func At(n *yaml.Node, format string, args ...any) *assay.Error {
	return AtLine(n.Line, assay.Errorf(assay.CodeInvalid, format, args...))
}

// AtLine puts a line before what e says.
func AtLine(line int, e *assay.Error) *assay.Error {
	located := *e
	located.Message = "line " + strconv.Itoa(line) + ": " + e.Message
	return (&located).With("line", strconv.Itoa(line))
}

// Within puts a node's line before what another part says is wrong.
func Within(n *yaml.Node, err error) error {
	var e *assay.Error
	if n == nil || !errors.As(err, &e) {
		return err
	}
	return AtLine(n.Line, e)
}

// Kind is what a node is, in words.
func Kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

// Source is a text and where it stands.
type Source struct {
	Text string
	Node *yaml.Node
}

// Line is the line of the file on which line n (from 1) of the text stands.
func (s Source) Line(n int) int {
	if s.Node == nil {
		return 0
	}
	if s.Node.Style&yaml.LiteralStyle != 0 {
		return s.Node.Line + n
	}
	return s.Node.Line
}

// Into reads a text and remembers its place.
func (s *Source) Into(name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		s.Node = n
		return Text(&s.Text, name)(n)
	}
}
