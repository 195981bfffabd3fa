package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/gate"
	"assay/internal/report/print"
)

// outputFlags say where a report goes, and as what.
type outputFlags struct {
	Format string `placeholder:"FORMAT" help:"text, markdown, html, csv or json; of a comparison junit too. Default: by the ending of --output, else text."`
	Output string `short:"o" placeholder:"FILE" help:"Write into this file. It is there whole, or as it was."`
}

// format is what was asked for; --json is a format too.
func (o outputFlags) format(a *app) (print.Format, error) {
	if o.Format != "" {
		return print.ParseFormat(o.Format)
	}
	f := print.Text
	if len(filepath.Ext(o.Output)) > 1 {
		var err error
		if f, err = print.ParseFormat(filepath.Ext(o.Output)); err != nil {
			return "", err
		}
	}
	switch {
	case a.JSON && f != print.JSON && f != print.Text:
		return "", misuse("--json asks for JSON, and %s for %s", o.Output, f).WithHint("leave --json out, or end the file's name with .json")
	case a.JSON:
		return print.JSON, nil
	}
	return f, nil
}

// write writes to the file or to the terminal; columns are the terminal's, 0 for a file.
func (o outputFlags) write(a *app, write func(w io.Writer, columns int) error) error {
	if o.Output == "" {
		return write(a.out, a.width())
	}
	if info, err := os.Stat(o.Output); err == nil && !info.Mode().IsRegular() {
		return assay.Errorf(assay.CodeInvalid, "%s is no file that can be written over", o.Output).WithHint("name a file with --output")
	}
	var out bytes.Buffer
	if err := write(&out, 0); err != nil {
		return err
	}
	if err := replace(o.Output, out.Bytes()); err != nil {
		return assay.Errorf(assay.CodeInvalid, "write %s: %w", o.Output, err).WithHint("is its folder there, and may you write in it?")
	}
	a.say("wrote %s", o.Output)
	return nil
}

// replace makes a file appear whole, or leaves it as it was.
func replace(path string, raw []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone when it has its name
	_, err = f.Write(raw)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// gated is the error of a command whose gates did not all pass.
func gated(outcomes []gate.Outcome) error {
	decision := gate.Overall(outcomes)
	if decision == gate.Pass {
		return nil
	}
	var first gate.Outcome
	n := 0
	for _, o := range outcomes {
		if o.Decision == decision {
			if n++; n == 1 {
				first = o
			}
		}
	}
	cause, verb := errGateFailed, "failed"
	if decision == gate.Inconclusive {
		cause, verb = errInconclusive, "undecided"
	}
	_, why, _ := strings.Cut(first.Sentence, ": ")
	e := &assay.Error{Code: assay.CodeGate, Cause: cause, Message: fmt.Sprintf("%d of %s %s: %s: %s", n, count(int64(len(outcomes)), "gate"), verb, first.Text, why)}
	return e.With("decision", string(decision))
}
