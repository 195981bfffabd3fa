// Package session reads recorded sessions from files, whatever format they are in.
//
// It owns the list of formats and their detection; each format has a package of its own below, which
// knows its fields and nothing of files. It refuses to know storage and projects. Its invariant: what
// a reader yields depends on the file's bytes alone.
package session

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/session/native"
	"assay/internal/session/openai"
	"assay/internal/session/otlp"
	"assay/internal/session/piece"
	"assay/internal/session/taubench"
)

// Names of the formats.
const (
	Native   = "native"
	OpenAI   = "openai"
	OTLP     = "otlp"
	TauBench = "tau-bench"
)

// Formats lists the names, for help and hints.
func Formats() []string { return []string{Native, OpenAI, OTLP, TauBench} }

// Reader yields the pieces of a file in order, each as a task that may run on any goroutine.
type Reader interface {
	// Next ends with io.EOF; another error means that the file itself could not be read.
	Next() (Task, error)
	Close() error
}

// Task is a piece to be read. Size is about how much memory it holds.
type Task struct {
	Size int
	Read func() piece.Record
}

// Options of a reader.
type Options struct {
	Format   string // "" is detected
	Spool    string // folder for temporary files; "" is the system's
	MaxBytes int    // bound of one piece; 0 is piece.MaxBytes
}

// peekBytes is how much of a file is looked at to detect its format.
const peekBytes = 256 << 10

// Open detects the format of in and returns a reader for it.
func Open(in io.Reader, o Options) (r Reader, format string, err error) {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return nil, "", assay.Errorf(assay.CodeInvalid, "format %q is not known", o.Format).WithHint("known are %s; leave it out to have it detected", strings.Join(Formats(), ", "))
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = piece.MaxBytes
	}
	b := bufio.NewReaderSize(in, peekBytes)
	head, err := b.Peek(peekBytes)
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	if bom := []byte("\xEF\xBB\xBF"); bytes.HasPrefix(head, bom) {
		_, _ = b.Discard(len(bom))
		head = head[len(bom):]
	}
	look := examine(head)
	if o.Format == "" {
		if o.Format, err = detect(head, look); err != nil {
			return nil, "", err
		}
		if look.spread && o.Format != OTLP {
			return nil, "", assay.Errorf(assay.CodeInvalid, "the file holds JSON laid out over several lines, where the format %s has one session a line", o.Format).
				WithHint("`jq -c . FILE` puts each object on a line of its own: pipe that into `assay import -`")
		}
	}
	return open(b, look, o), o.Format, nil
}

func open(b *bufio.Reader, look look, o Options) Reader {
	if o.Format == OTLP {
		switch {
		case look.array:
			return &traces{otlp.NewReader(piece.NewElements(b, "", o.MaxBytes), false, o.Spool)}
		case look.document:
			return &traces{otlp.NewReader(piece.NewElements(b, "resourceSpans", o.MaxBytes), true, o.Spool)}
		}
		return &traces{otlp.NewReader(piece.NewLines(b, o.MaxBytes), false, o.Spool)}
	}
	parse := map[string]piece.Parse{Native: native.Parse, OpenAI: openai.Parse, TauBench: taubench.Parse}[o.Format]
	if look.array {
		return &cut{piece.NewElements(b, "", o.MaxBytes), parse}
	}
	return &cut{piece.NewLines(b, o.MaxBytes), parse}
}

// cut reads formats whose pieces stand for themselves.
type cut struct {
	cutter piece.Cutter
	parse  piece.Parse
}

func (c *cut) Next() (Task, error) {
	p, err := c.cutter.Next()
	if err != nil {
		return Task{}, err
	}
	return Task{Size: len(p.Raw), Read: func() piece.Record { return p.Read(c.parse) }}, nil
}

func (c *cut) Close() error { return nil }

// traces reads the format whose sessions are spread over pieces.
type traces struct{ *otlp.Reader }

func (t *traces) Next() (Task, error) {
	p, err := t.Reader.Next()
	return Task(p), err
}
