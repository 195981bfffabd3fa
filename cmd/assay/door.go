package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/node"
	"assay/internal/telemetry"
)

// door is the way to the API: a server, the process that owns, or this process's own node.
type door struct {
	*client.Client
	app  *app
	link *node.Link // nil with --server
	// drives says that this command takes runs up where nobody does.
	drives bool
}

// look opens the door for a command that only looks or asks: it never starts a call.
func (a *app) look() (*door, error) { return a.open(node.Config{}) }

// drive opens the door for a command that takes runs up.
func (a *app) drive() (*door, error) { return a.open(node.Config{Drive: true}) }

// driveMeanwhile opens the door for a command that takes runs up where nobody does, and leaves them to a server as
// soon as one is there.
func (a *app) driveMeanwhile() (*door, error) { return a.open(node.Config{Drive: true, Yield: true}) }

func (a *app) open(cfg node.Config) (*door, error) {
	d := &door{app: a, drives: cfg.Drive}
	if a.Server != "" {
		c, err := client.Server(a.Server, os.Getenv("ASSAY_TOKEN"))
		if err != nil {
			return nil, err
		}
		d.Client, a.door = c, d
		return d, nil
	}
	if err := d.connect(a.ctx, cfg); err != nil {
		return nil, err
	}
	a.door = d
	return d, nil
}

// connect finds the owner or becomes it.
func (d *door) connect(ctx context.Context, cfg node.Config) error {
	a := d.app
	cfg.Dir, cfg.Database, cfg.Command, cfg.Version = a.dir(), a.Database, a.verb, version()
	if len(cfg.Capabilities) == 0 {
		cfg.Capabilities = strings.FieldsFunc(os.Getenv("ASSAY_CAPABILITIES"), func(r rune) bool { return r == ',' || r == ' ' })
	}
	cfg.Say = func(s string) { a.say("%s", s) }
	quiet := cfg.Log == nil
	if quiet {
		cfg.Log = a.logger(slog.LevelError)
	}
	_, missing := os.Stat(cfg.Dir)
	link, err := node.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	d.link = link
	if errors.Is(missing, fs.ErrNotExist) && a.Database == "" {
		a.say("%s was not there, and is new and empty; --data DIR or $ASSAY_DATA names another one", a.place())
	}
	if quiet && d.drives && d.node() != nil {
		a.warnSpans()
	}
	d.Client = client.New("http://assay", &http.Client{Transport: link})
	return nil
}

// warnSpans tells of a mistake in the environment that keeps spans from being made; a server logs it.
func (a *app) warnSpans() {
	if err := telemetry.CheckEnvironment(); err != nil {
		a.say("no spans are made: %s", err)
	}
}

// node is this process's own, or nil.
func (d *door) node() *node.Node {
	if d.link == nil {
		return nil
	}
	return d.link.Node()
}

// close stops driving gracefully and says which runs are left to nobody.
func (d *door) close() error {
	d.Client.Close()
	if d.link == nil {
		return nil
	}
	if d.node() != nil && d.node().Owns() && !d.drives {
		d.sayWaiting()
	}
	return d.link.Close(d.app.patience())
}

// patience is how long requests of other processes may still last when this command is done: as
// long as they need, unless somebody wants it to stop.
func (a *app) patience() time.Duration {
	if a.ctx.Err() != nil {
		return engine.StopGrace
	}
	return 24 * time.Hour
}

// sayWaiting tells the person that runs wait which this command does not take up.
func (d *door) sayWaiting() {
	// The command's own context may have ended; the look is short.
	runs, err := d.node().Waiting(context.WithoutCancel(d.app.ctx))
	if err != nil || len(runs) == 0 {
		return
	}
	if len(runs) == 1 {
		d.app.say("1 run waits for a process that drives: %s. `assay watch %s` takes it up.", leftRuns(runs), runs[0].ID)
		return
	}
	d.app.say("%d runs wait for a process that drives: %s. `assay watch %s`, or `assay serve`, takes them up.",
		len(runs), leftRuns(runs), runs[0].ID)
}

// sayCarried tells the person which runs go on here beside the one that they asked for.
func (d *door) sayCarried(asked assay.RunID) {
	if !d.drives || d.node() == nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(d.node().Found()), func(r assay.Run) bool { return r.ID == asked || r.Cancelling() })
	switch len(others) {
	case 0:
	case 1:
		d.app.say("also drives %s, which nobody drove; `assay cancel %s` stops it", leftRuns(others), others[0].ID)
	default:
		d.app.say("also drives %d runs that nobody drove: %s; `assay cancel RUN` stops one", len(others), leftRuns(others))
	}
}

// namedRuns is how many runs one line names.
const namedRuns = 10

// leftRuns names runs that no process drives.
func leftRuns(runs []assay.Run) string {
	var names []string
	for _, r := range runs[:min(len(runs), namedRuns)] {
		state := string(r.State)
		if r.State == assay.RunRunning {
			state = "running, but its process is gone"
		}
		names = append(names, fmt.Sprintf("%s (%s)", r.ID, state))
	}
	text := strings.Join(names, ", ")
	if more := len(runs) - namedRuns; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
