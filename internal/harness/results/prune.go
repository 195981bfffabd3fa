package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/logs"
)

// maxValue bounds what is kept of one JSON value that becomes a case, in bytes.
const maxValue = 4 << 20

// want names the members that are kept of an object, "*" those that it does not name. nil keeps all. Of an
// array it is about the elements.
type want map[string]want

// document is JSON that is being read: a file, an entry of an archive or a line.
type document struct {
	*jsontext.Decoder
	text  *plain
	o     *out
	entry string // of what it is a part; "" for a file
}

// open reads JSON from r.
func open(r io.Reader, entry string, o *out) *document {
	text := newPlain(r, func(line, column int64, word string) {
		where := fmt.Sprintf("line %d, column %d", line, column)
		o.faults.note(inside(entry, where), "%s is not JSON; it was read as no value", word)
	})
	options := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	return &document{jsontext.NewDecoder(text, options...), text, o, entry}
}

// whole opens a file from its start.
func whole(r io.ReaderAt, size int64, o *out) *document {
	return open(io.NewSectionReader(r, 0, size), "", o)
}

// aside is for a first look, of which the faults are told by the second one.
func aside(o *out) *out { return &out{faults: &Error{}, most: o.most, mask: o.mask} }

func inside(entry, where string) string {
	if entry == "" || where == "" {
		return entry + where
	}
	return entry + ", " + where
}

// fault notes what is wrong with the value at the JSON pointer where; cases may be missing.
func (d *document) fault(where jsontext.Pointer, format string, args ...any) {
	at := string(where)
	if at != "" {
		at = "at " + at
	}
	d.o.faults.add(inside(d.entry, at), format, args...)
}

// end reads on to where the document must end.
func (d *document) end() error {
	if d.PeekKind() != 0 {
		return errors.New("more follows after its end")
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return err
	}
	return nil
}

// object calls member for every member of the object that comes next, with its value still to be read.
func (d *document) object(member func(name string) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := member(name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// array calls element for every element of the array that comes next.
func (d *document) array(element func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if d.PeekKind() == 0 {
			_, err := d.ReadToken()
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// keep reads the next value and returns what is wanted of it; lost says that it was too long.
func (d *document) keep(w want) (raw []byte, lost bool, err error) {
	p := pruner{document: d}
	err = p.value(w)
	return p.kept, p.lost, err
}

type pruner struct {
	*document
	kept  []byte
	lost  bool
	depth int // of objects in objects
}

func (p *pruner) full() bool {
	full := len(p.kept) > maxValue
	p.lost = p.lost || full
	return full
}

func (p *pruner) value(w want) error {
	switch p.PeekKind() {
	case '{':
		return p.members(w)
	case '[':
		p.kept = append(p.kept, '[')
		err := p.array(func() error {
			if p.full() {
				return p.SkipValue()
			}
			p.comma('[')
			return p.value(w)
		})
		p.kept = append(p.kept, ']')
		return err
	}
	raw, err := p.ReadValue()
	if err == nil {
		p.kept = append(p.kept, masked(p.o.mask, mend(raw))...)
	}
	return err
}

func (p *pruner) members(w want) error {
	p.kept = append(p.kept, '{')
	p.depth++
	defer func() { p.depth-- }()
	err := p.object(func(name string) error {
		below, wanted := w[name]
		if !wanted {
			below, wanted = w["*"]
			if w != nil || p.depth > 1 { // the file's own name, not one that its format gives
				name = p.o.mask.Text(name)
			}
		}
		if w != nil && !wanted || p.full() {
			return p.SkipValue()
		}
		p.comma('{')
		p.kept, _ = jsontext.AppendQuote(p.kept, strings.ToValidUTF8(name, "\uFFFD"))
		p.kept = append(p.kept, ':')
		return p.value(below)
	})
	p.kept = append(p.kept, '}')
	return err
}

func (p *pruner) comma(after byte) {
	if p.kept[len(p.kept)-1] != after {
		p.kept = append(p.kept, ',')
	}
}

// masked takes secrets out of a string, and out of a number that is one.
func masked(mask *logs.Masker, raw []byte) []byte {
	if mask == nil {
		return raw
	}
	text := string(raw)
	if raw[0] == '"' {
		unquoted, _ := jsontext.AppendUnquote(nil, raw)
		text = string(unquoted)
	}
	clean := mask.Text(text)
	if clean == text || raw[0] != '"' && strings.Trim(clean, "*-") != "" {
		return raw
	}
	quoted, _ := jsontext.AppendQuote(nil, clean)
	return quoted
}

// mend makes a string valid whose characters are not.
func mend(raw []byte) []byte {
	if raw[0] != '"' || utf8.Valid(raw) && !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	text, _ := jsontext.AppendUnquote(nil, raw)
	quoted, _ := jsontext.AppendQuote(nil, bytes.ToValidUTF8(text, []byte("\uFFFD")))
	return quoted
}

// broken tells an error of the decoder with its place.
func (d *document) broken(err error) {
	where, reason := fmt.Sprintf("line %d", d.text.line), err.Error()
	for _, prefix := range []string{"jsontext: ", "read error: ", "zip: "} {
		reason = strings.TrimPrefix(reason, prefix)
	}
	pointer := d.StackPointer()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		reason = "it is not JSON: " + strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ")
		pointer = cmp.Or(syntactic.JSONPointer, pointer)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		reason = "it ends too early: was the harness killed while it wrote?"
	}
	if pointer != "" {
		where += ", at " + string(pointer)
	}
	d.o.faults.add(inside(d.entry, where), "%s", reason)
}
