package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"assay/cmd/assay/wrap"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/node"
)

type wrapCmd struct {
	Command []string `arg:"" optional:"" passthrough:"" help:"The command and its arguments, after --."`

	Name       string        `placeholder:"NAME" help:"Name of the runs; they are one history. Default: the program's name."`
	Exclusive  bool          `help:"Do not run while another run of this name, or of the suite of this name, is active (exit status 5)."`
	Results    []string      `sep:"none" placeholder:"FORMAT:PATH" help:"Result file of the command: promptfoo, inspect, junit or assay, and its path; * stands for anything. May be repeated."`
	Secret     []string      `placeholder:"VAR" help:"Variable whose value is masked in all that is told. $ASSAY_TOKEN always is. May be repeated."`
	Env        []string      `placeholder:"VAR" help:"Variable that is told with the run. No other one is. May be repeated."`
	Experiment string        `placeholder:"REGEXP" help:"Finds the address of the experiment in the output; its first group, or all of it."`
	Stale      time.Duration `placeholder:"TIME" help:"Silence after which the server takes the run for lost. Default 1m."`
	Grace      time.Duration `default:"10s" placeholder:"TIME" help:"Time between TERM and KILL when the run is cancelled."`
	Patience   time.Duration `default:"10s" placeholder:"TIME" help:"For what is still to be told when the command has ended; the rest is kept."`
	Spool      string        `type:"path" placeholder:"DIR" help:"Folder for what is still to be told. Default: assay/wrap in your cache folder."`
	Send       bool          `help:"Run nothing: tell what earlier runs kept, all of it or the folders that are named."`
}

func (wrapCmd) Help() string {
	return `Runs the command here, lets its output through as it comes, and reports it as a run: who, where, output, progress, results, how it ended. At the end stderr names the run. The exit status is the command's own, 128 and the number of a signal that ended it, 126 or 127 where it cannot be started.

The command is never held up and never stopped by a server that does not answer: what is to be told is written to a folder first, and kept there when it cannot be sent. "assay wrap --send", or the next wrap, sends it. When the run is cancelled the command is ended with all that it started.

Inside, $ASSAY_REPORT names a pipe for lines like "progress 3/20": see docs/SUITES.md.

Example:

    assay wrap --server https://assay.example.org --results junit:report.xml -- pytest --junitxml report.xml
    assay wrap --send`
}

func (c *wrapCmd) Run(a *app) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	root, err := c.root()
	if err != nil {
		return err
	}
	if c.Send {
		return c.send(a, root)
	}
	if len(c.Command) == 0 {
		return misuse("no command is given").WithHint("for instance: assay wrap -- pytest")
	}
	results, err := c.results()
	if err != nil {
		return err
	}
	place, err := a.wrapPlace()
	if err != nil {
		return err
	}
	a.stopCatching() // Ctrl-C is the command's
	signals := make(chan os.Signal, 8)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) && !(sig == os.Interrupt && a.uninterrupted) { // else, as under nohup, the command ignores it too
			signal.Notify(signals, sig)
		}
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // output that nobody reads is the command's to know, and ends no wrap
	job := wrap.Job{Argv: c.Command, Name: c.Name, Project: a.Project, By: who(), Exclusive: c.Exclusive, Stale: c.Stale, Grace: c.Grace,
		Env: c.Env, Secrets: append([]string{"ASSAY_TOKEN"}, c.Secret...), Results: results, Spool: root, Place: place, Patience: c.Patience, Signals: signals,
		Out: a.out, Err: a.err, Connect: a.reports, Say: func(format string, args ...any) { a.say("assay wrap: "+format, args...) }}
	job.Where, _ = os.Hostname()
	if f, ok := a.in.(*os.File); ok {
		job.Stdin = f
	}
	if c.Experiment != "" {
		job.Link = &assay.LinkRule{Pattern: c.Experiment}
	}
	if a.Server == "" {
		job.LastConnect = a.reportsAtLast
	}
	done, err := wrap.Run(context.WithoutCancel(a.ctx), job)
	if err != nil {
		return err
	}
	if done.Told {
		a.say("assay wrap: recorded as %s", done.Run)
		c.sendLeft(a, root, place, signals)
	}
	if done.Status != 0 {
		return wrapped(done.Status)
	}
	return nil
}

// wrapped is the exit status of a wrapped command.
type wrapped int

func (wrapped) Error() string { return "the command ended so" }

func (c *wrapCmd) root() (string, error) {
	if c.Spool != "" {
		return c.Spool, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // as in a container without a home
	}
	return filepath.Join(cache, "assay", "wrap"), nil
}

func (c *wrapCmd) results() (files []assay.ResultFile, err error) {
	for _, given := range c.Results {
		format, path, ok := strings.Cut(given, ":")
		if !ok || path == "" {
			return nil, misuse("--results %s is not FORMAT:PATH", given).WithHint("for instance --results junit:report.xml")
		}
		switch f := assay.ResultFormat(format); f {
		case assay.ResultPromptfoo, assay.ResultInspect, assay.ResultJUnit, assay.ResultAssay:
			files = append(files, assay.ResultFile{Format: f, Path: path})
		default:
			return nil, misuse("--results %s: the format %q is not known", given, format).WithHint("promptfoo, inspect, junit or assay")
		}
	}
	return files, nil
}

// wrapPlace is where runs are told now.
func (a *app) wrapPlace() (p wrap.Place, err error) {
	if a.Server != "" {
		return wrap.Place{Server: a.Server}, nil
	}
	if a.Database != "" {
		sum := sha256.Sum256([]byte(a.Database))
		p.Database = hex.EncodeToString(sum[:8])
	}
	p.Data, err = filepath.Abs(a.dir())
	return p, err
}

// reports is the way to a server that may not be there now. It never makes this process the owner of the
// data, which would keep others from driving for as long as the command runs.
func (a *app) reports(s wrap.Start) (wrap.Server, error) {
	if at := s.Server; at != "" {
		return client.Server(at, os.Getenv("ASSAY_TOKEN"))
	}
	path, err := node.SocketPath(a.dir(), a.Database)
	if err != nil {
		return nil, err
	}
	return client.Socket(path), nil
}

// reportsAtLast opens the data for a moment where no process serves it.
func (a *app) reportsAtLast(wrap.Start) (wrap.Server, error) {
	if a.door != nil {
		return a.door.Client, nil
	}
	d, err := a.look()
	if err != nil {
		return nil, err
	}
	return d.Client, nil
}

// send tells what was kept.
func (c *wrapCmd) send(a *app, root string) error {
	dirs := c.Command
	if len(dirs) == 0 {
		dirs = wrap.Left(root)
	}
	if len(dirs) == 0 {
		a.say("nothing is kept in %s", root)
	}
	var failed error
	for _, dir := range dirs {
		id, err := wrap.Send(a.ctx, dir, a.sendTo)
		if err != nil {
			a.say("%s: %s", dir, err)
			failed = err
			continue
		}
		if a.JSON {
			if err := a.printLine(map[string]any{"folder": dir, "run": id}); err != nil {
				return err
			}
			continue
		}
		a.print("%s is told: %s\n", id.String(), dir)
	}
	return failed
}

// sendTo is where a kept run is told: what was named now, or where it was to go.
func (a *app) sendTo(s wrap.Start) (wrap.Server, error) {
	if a.Server != "" {
		s.Server = a.Server
	}
	if s.Server != "" {
		return a.reports(s)
	}
	here, err := a.wrapPlace()
	if err != nil {
		return nil, err
	}
	// What is named now holds; a folder that nobody named does not become the run's.
	if a.Database == "" && s.Database != "" || a.Database == "" && a.Data == "" && s.Data != "" && s.Data != here.Data {
		if s.Database != "" {
			return nil, assay.Errorf(assay.CodeInvalid, "it was to be told to a database: name it with --database")
		}
		return nil, assay.Errorf(assay.CodeInvalid, "it was to be told to another data folder: name it with --data %s", s.Data)
	}
	return a.reportsAtLast(s)
}

// leftTime bounds what a wrap spends on what earlier ones kept.
const leftTime = 5 * time.Second

// sendLeft tells what earlier wraps kept for the same place, once its own is told. What is refused, or is in
// use by a wrap that runs still, keeps nothing else back.
func (c *wrapCmd) sendLeft(a *app, root string, place wrap.Place, signals <-chan os.Signal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), leftTime)
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	for _, dir := range wrap.Left(root) {
		if at, err := wrap.PlaceOf(dir); err != nil || at != place || ctx.Err() != nil {
			continue
		}
		id, err := wrap.Send(ctx, dir, a.reports)
		if err != nil {
			continue
		}
		a.say("assay wrap: %s of an earlier wrap is told now", id)
	}
}
