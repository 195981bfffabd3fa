package session

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/assay"
	"assay/internal/session/piece"
)

// look is what the beginning of a file shows.
type look struct {
	array    bool     // the file is an array at top level
	keys     []string // members of the first object that could be read, as far as the beginning goes
	native   bool     // its member format names a version of the native format
	document bool     // that object does not end in its line: it is laid out over several, or very long
	spread   bool     // it is laid out over several lines, and no line begins an object that ends in it
}

// examine reads the beginning of a file, which may be cut anywhere. Lines that are not JSON are
// passed over, as they are when the file is read.
func examine(head []byte) look {
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) > 0 && text[0] == '[' {
		l := members(bytes.TrimLeft(text[1:], " \t\r\n"))
		l.array = true
		return l
	}
	var seen look // the first object, for the error
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
			l := members(text)
			if l.format() != "" {
				l.document = !whole(line)
				l.spread = l.document && spread(rest)
				return l
			}
			if seen.keys == nil {
				seen = l
			}
		}
		text = rest
	}
	return seen
}

func whole(line []byte) bool {
	return jsontext.Value(mended(line)).IsValid(jsontext.AllowDuplicateNames(true))
}

// spread says whether what follows the first line of an object is more of it. One broken line among
// good ones is not: then other lines hold whole objects.
func spread(rest []byte) bool {
	more := false
	for line := range bytes.Lines(rest) {
		line = bytes.TrimSpace(line)
		more = more || len(line) > 0
		if len(line) > 0 && line[0] == '{' && whole(line) {
			return false
		}
	}
	return more
}

// members lists the keys of the object that text begins with.
func members(text []byte) (l look) {
	text = mended(text)
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return l
	}
	for {
		key, err := dec.ReadToken()
		if err != nil || key.Kind() != '"' {
			return l
		}
		name := key.String()
		l.keys = append(l.keys, name)
		value, err := dec.ReadValue()
		if err != nil {
			return l
		}
		if name == "format" && bytes.HasPrefix(value, []byte(`"assay.session/`)) {
			l.native = true
		}
	}
}

func mended(text []byte) []byte {
	m, _ := piece.Mend(text)
	return m
}

func (l look) has(key string) bool { return slices.Contains(l.keys, key) }

// format names the format, or is "".
func (l look) format() string {
	switch {
	case l.native, l.has("turns"):
		return Native
	case l.has("resourceSpans"):
		return OTLP
	case l.has("traj"), l.has("task_id") && l.has("reward"):
		return TauBench
	case l.has("messages"):
		return OpenAI
	}
	return ""
}

func detect(head []byte, l look) (string, error) {
	if f := l.format(); f != "" {
		return f, nil
	}
	return "", assay.Errorf(assay.CodeInvalid, "the format cannot be told from the beginning of the file: %s", shown(head, l)).
		WithHint("known are %s; name one with --format", strings.Join(Formats(), ", "))
}

func shown(head []byte, l look) string {
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return "it is empty"
	case len(l.keys) > 0:
		return "its first object has the members " + strings.Join(l.keys[:min(len(l.keys), 10)], ", ")
	}
	return "it begins with " + piece.Excerpt(head[:min(len(head), 80)])
}
