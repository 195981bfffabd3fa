package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/node"
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
	cfg.Say = func(s string) { a.say("%s", s) }
	if cfg.Log == nil {
		cfg.Log = a.logger(slog.LevelError)
	}
	link, err := node.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	d.link = link
	d.Client = client.New("http://assay", &http.Client{Transport: link})
	return nil
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
	names := make([]string, 0, len(runs))
	for _, r := range runs {
		state := string(r.State)
		if r.State == assay.RunRunning {
			state = "running, but its process is gone"
		}
		names = append(names, fmt.Sprintf("%s (%s)", r.ID, state))
	}
	if len(runs) == 1 {
		d.app.say("1 run waits for a process that drives: %s. `assay watch %s` takes it up.", names[0], runs[0].ID)
		return
	}
	d.app.say("%d runs wait for a process that drives: %s. `assay watch %s`, or `assay serve`, takes them up.",
		len(runs), strings.Join(names, ", "), runs[0].ID)
}
