// Package definition reads definitions that people write in YAML.
//
// It owns the form that all of them share (one plain document, members that are known, values of the
// right kind) and the errors: each names its line and says what to do. It refuses to know what is
// defined: judges and suites bring their members. Its invariant: a reader that returned no error has
// set a value of the asked kind, and nothing in the text was passed over.
package definition

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
)

// Form says what a file should hold, for the hints of errors about the whole of it.
type Form struct {
	Begin string // what an empty file should begin with
	Files string // what to do where it holds two documents
}

// maxSource bounds a file; one with long examples takes a few kilobytes.
const maxSource = 1 << 20

// Load reads the one YAML document of a file. Anchors and aliases are refused: a definition needs none,
// and they let a small text stand for a huge one.
func Load(source []byte, form Form) (*yaml.Node, error) {
	if len(source) > maxSource {
		return nil, assay.Errorf(assay.CodeInvalid, "the definition is longer than %d bytes", maxSource).WithHint("shorten its examples")
	}
	empty := assay.Errorf(assay.CodeInvalid, "the definition is empty").WithHint("%s", form.Begin)
	dec := yaml.NewDecoder(bytes.NewReader(source))
	var doc, next yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, empty
	} else if err != nil {
		return nil, notYAML(err, source)
	}
	if err := dec.Decode(&next); err == nil {
		return nil, assay.Errorf(assay.CodeInvalid, "the file holds more than one document").WithHint("%s", form.Files)
	} else if !errors.Is(err, io.EOF) {
		return nil, notYAML(err, source)
	}
	if len(doc.Content) != 1 {
		return nil, empty
	}
	return doc.Content[0], plain(doc.Content[0], 0)
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// notYAML makes an error of the YAML reader one of ours: it counts lines from 0 where it tells of the
// grammar, from 1 where it tells of characters, and leaves the first out.
func notYAML(err error, source []byte) error {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		line, _ = strconv.Atoi(m[1])
	}
	if strings.HasPrefix(text, "did not find expected ") && !strings.Contains(text, "whitespace") {
		line++
	}
	hint := "texts that hold a colon need quotes or a block (|)"
	if strings.Contains(text, "found character that cannot start any token") || strings.Contains(text, "tab character") {
		hint = "indent with spaces, not tabs, and quote a text that begins with @, ` or %"
	}
	last := 1 + bytes.Count(bytes.TrimRight(source, "\r\n"), []byte("\n")) // where something is missing, the end is
	return AtLine(max(1, min(line, last)), assay.Errorf(assay.CodeInvalid, "%s", text).WithHint("the file must be valid YAML; %s", hint))
}

const maxDepth = 50

func plain(n *yaml.Node, depth int) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return At(n, "anchors and aliases are not supported").WithHint("write the value out")
	case depth > maxDepth:
		return At(n, "the definition is nested too deeply").WithHint("it needs few levels")
	}
	for _, child := range n.Content {
		if err := plain(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}
