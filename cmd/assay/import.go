package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dustin/go-humanize"

	"assay/internal/assay"
	"assay/internal/store"
)

type importCmd struct {
	Files  []string `arg:"" name:"file" help:"Files to read; - is standard input."`
	Format string   `placeholder:"NAME" help:"Format, where it shall not be detected: native, openai, otlp or tau-bench."`
	Strict bool     `help:"Store nothing of a file unless every session in it can be read."`
}

func (importCmd) Help() string {
	return `The format is detected. A file read twice adds nothing; a changed session becomes a new version and its old verdicts stay. Good sessions are kept, each bad one is reported as file:line: reason.

Exit status 6 when anything was rejected.

Example:

    assay import traces.jsonl more.json
    zcat old.jsonl.gz | assay import - --format openai`
}

// shownRejects is how many rejects of a file are printed at once.
const shownRejects = 20

func (c *importCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	var pieces, files int64
	for _, name := range c.Files {
		imp, err := c.one(a, d, name)
		switch {
		case err == nil:
			pieces += imp.Rejected
			err = a.printImport(d, imp)
		case a.ctx.Err() == nil && len(c.Files) > 1 && badFile(err):
			files++
			a.printError(err) // the others are read all the same
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return rejection(pieces, files)
}

// badFile says whether an error is about the file alone.
func badFile(err error) bool {
	switch assay.CodeOf(err) {
	case assay.CodeRejected, assay.CodeInvalid, assay.CodeNotFound:
		return true
	}
	return false
}

// rejection is the error that an import ends with when something was not taken.
func rejection(pieces, files int64) error {
	const hint = "`assay imports list` names the imports, `assay imports rejects N` shows every reason; mend the source and import it again: what is stored already is left"
	switch {
	case files > 0:
		return assay.Errorf(assay.CodeRejected, "%s not imported", count(files, "file")).WithHint(hint)
	case pieces > 0:
		return assay.Errorf(assay.CodeRejected, "%s rejected", count(pieces, "piece")).WithHint(hint)
	}
	return nil
}

// one streams a file. Under --strict a bad file is an error, after its reasons were printed.
func (c *importCmd) one(a *app, d *door, name string) (store.Import, error) {
	from, size, shown, err := c.source(a, name)
	if err != nil {
		return store.Import{}, err
	}
	defer from.Close()
	bar := a.newBytesBar(shown, size)
	imp, err := d.Import(a.ctx, a.Project, assay.ImportOptions{File: shown, Format: c.Format, By: who(), Strict: c.Strict}, from, bar.set)
	bar.end()
	if n, parseErr := strconv.ParseInt(errDetail(err, "import"), 10, 64); err != nil && parseErr == nil {
		if showErr := a.printRejects(d, n, shown); showErr != nil {
			return imp, showErr
		}
	}
	return imp, err
}

// source opens a file; size is 0 where it is not known.
func (c *importCmd) source(a *app, name string) (from io.ReadCloser, size int64, shown string, err error) {
	if name == "-" {
		return io.NopCloser(a.in), 0, "stdin", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, "", assay.Errorf(assay.CodeNotFound, "open %s: %w", name, plain(err))
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		f.Close()
		if err == nil {
			return nil, 0, "", misuse("%s is a folder", name).WithHint("name its files, e.g. assay import %s", filepath.Join(name, "*.jsonl"))
		}
		return nil, 0, "", assay.Errorf(assay.CodeInternal, "look at %s: %w", name, plain(err))
	}
	return f, info.Size(), name, nil
}

func (a *app) printImport(d *door, imp store.Import) error {
	if a.JSON {
		return a.printLine(imp)
	}
	a.print("%s: %s new, %s changed, %s unchanged, %s rejected (import %d, format %s, %s)\n",
		imp.File, humanize.Comma(imp.New), humanize.Comma(imp.Changed), humanize.Comma(imp.Unchanged), humanize.Comma(imp.Rejected),
		imp.ID, imp.Format, humanize.Bytes(uint64(imp.Bytes)))
	if imp.Labels > 0 {
		a.print("  %s recorded with them\n", count(imp.Labels, "label"))
	}
	if imp.Repaired > 0 {
		a.print("  %s with text that had to be repaired (invalid UTF-8, NUL); they are marked\n", count(imp.Repaired, "session"))
	}
	if imp.Rejected > 0 {
		return a.printRejects(d, imp.ID, imp.File)
	}
	return nil
}

// printRejects prints the first reasons as file:line: reason to stderr, and how to see the rest.
func (a *app) printRejects(d *door, id int64, file string) error {
	rejects, err := d.Rejects(a.ctx, a.Project, id, store.Page{Limit: shownRejects})
	if err != nil {
		return err
	}
	for _, r := range rejects.Items {
		a.say("%s", rejectLine(file, r))
	}
	if rejects.Next != "" {
		a.say("and more: `assay imports rejects %d` shows all that were kept", id)
	}
	return nil
}

func rejectLine(file string, r store.Reject) string {
	return file + ":" + rejectText(r)
}

func rejectText(r store.Reject) string {
	line := strconv.FormatInt(r.Line, 10) + ": "
	if r.Where != "" {
		line += "at " + r.Where + ": "
	}
	return line + r.Reason
}
