package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/term"

	"assay/internal/assay"
)

// app is one call of the program: its streams, its flags and what must be closed at its end.
type app struct {
	globals
	ctx context.Context // ends at the first Ctrl-C

	stopCatching  func() // leaves signals to whoever asks for them
	uninterrupted bool   // whoever started this process had it ignore Ctrl-C
	in            io.Reader
	out           io.Writer
	err           io.Writer
	door          *door // open for as long as the command runs
	verb          string

	followed  atomic.Int64 // the run that the command follows, or 0
	harnessed atomic.Bool  // it is a harness that the first Ctrl-C cancels
}

// main runs one command and returns the exit status.
func (a *app) main(args []string) int {
	var g grammar
	ctx, done, err := a.parse(args, &g)
	a.globals = g.globals
	if err == nil && !done {
		a.verb = ctx.Selected().Path()
		err = ctx.Run(a)
		err = a.leave(a.stopped(err))
	}
	var command wrapped
	if err != nil && !errors.As(err, &command) { // a wrapped command has said itself what there is to say
		a.printError(err)
	}
	return exitStatus(err)
}

// stopped says in words that a person ended the command.
func (a *app) stopped(err error) error {
	if a.ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return assay.Errorf(assay.CodeUnavailable, "`assay %s` was stopped before it was done", a.verb).
		WithHint("what was stored is kept; the same command again goes on from there")
}

// leave closes the door; an error of closing counts only when there was no other.
func (a *app) leave(err error) error {
	if a.door == nil {
		return err
	}
	if closing := a.door.close(); err == nil {
		err = closing
	}
	return err
}

// say tells the person at the terminal something that is not the command's output.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.err, "%s\n", clean(fmt.Sprintf(format, args...)))
}

// dir is the data folder.
func (g globals) dir() string {
	if g.Data != "" {
		return g.Data
	}
	return "assay-data"
}

// place is where the data is, for people. A URL may hold a password.
func (g globals) place() string {
	switch {
	case g.Server != "":
		if u, err := url.Parse(g.Server); err == nil {
			return "the server " + u.Redacted()
		}
		return "the server"
	case g.Database != "":
		return "the database"
	}
	dir, err := filepath.Abs(g.dir())
	if err != nil {
		dir = g.dir()
	}
	return "data folder " + dir
}

// logger writes what operators read to stderr: everything in serve, warnings elsewhere.
func (a *app) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
}

// terminal says whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the terminal's, or 0.
func (a *app) width() int {
	f, ok := a.out.(*os.File)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// version is the module's, or the commit's where it was built from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
