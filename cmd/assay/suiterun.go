package main

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
)

type suiteRunCmd struct {
	Name           string   `arg:"" help:"Name of the suite."`
	Param          []string `short:"p" sep:"none" placeholder:"NAME=VALUE" help:"A parameter's value; the others take their defaults. May be repeated."`
	Follow         bool     `short:"f" xor:"how" help:"Print the harness's output as it comes, instead of its progress."`
	Detach         bool     `xor:"how" help:"Accept the run, print its number and return; whoever drives carries it on."`
	IdempotencyKey string   `placeholder:"KEY" help:"Repeating the command with the same key gives the same run again."`
}

func (suiteRunCmd) Help() string {
	return `One run of a suite is active at a time: another start is a conflict (exit status 5) that names it. Exit status 0 when the run completes, 1 when it fails, is lost or is cancelled.

Ctrl-C cancels the run that this command started and waits until no process of it is left. A second Ctrl-C leaves at once; the run goes on being cancelled.

Example:

    assay suite run nightly --param limit=20
    assay suite run nightly -f
    assay suite run nightly --detach`
}

func (c *suiteRunCmd) Run(a *app) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	open := a.drive
	if c.Detach {
		open = a.look
	}
	d, err := open()
	if err != nil {
		return err
	}
	d.sayCarried(0)
	key := c.IdempotencyKey
	if key == "" {
		key = client.NewKey()
	}
	r, err := d.RunSuite(a.ctx, a.Project, c.Name, engine.SuiteRequest{Params: params, By: who()}, key)
	if err != nil {
		return err
	}
	if r.Replayed {
		a.say("%s was accepted before with this key", r.ID)
	}
	switch {
	case !c.Detach:
		return a.carrySuite(d, r.ID, c.Follow)
	case a.JSON:
		return a.printJSON(r)
	}
	a.print("%s\n", r.ID.String())
	return nil
}

// params reads --param. All values are texts here: the suite's types are the server's to know.
func (c *suiteRunCmd) params() (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, given := range c.Param {
		name, value, ok := strings.Cut(given, "=")
		if !ok || name == "" {
			return nil, misuse("--param %s is not NAME=VALUE", given).WithHint("for instance --param limit=20")
		}
		if _, twice := out[name]; twice {
			return nil, misuse("--param %s is given twice", name)
		}
		if !utf8.ValidString(given) { // JSON would change it
			return nil, misuse("--param %s has a value that is not UTF-8", strings.ToValidUTF8(name, "\uFFFD")).WithHint("hand such bytes over in a file")
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, misuse("--param %s: %s", given, err)
		}
		out[name] = text
	}
	return out, nil
}

// carrySuite follows a run that this command started. At Ctrl-C it cancels it, and goes on following.
func (a *app) carrySuite(d *door, id assay.RunID, output bool) error {
	a.followed.Store(int64(id))
	a.harnessed.Store(true)
	ctx, stop := context.WithCancel(context.WithoutCancel(a.ctx))
	defer stop()
	defer context.AfterFunc(a.ctx, func() {
		a.say("cancels %s: its processes are told to end; Ctrl-C again leaves at once", id)
		if _, err := d.CancelBy(ctx, id, who(), false); err != nil {
			a.say("%s could not be cancelled: %s", id, err)
			stop()
		}
	})()
	v, err := a.seeSuite(ctx, d, id, output)
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		if err := a.printEnd(v); err != nil {
			return err
		}
	case !output:
		if err := a.printEnd(v); err != nil {
			return err
		}
		return shortOutcome(v)
	case v.State == assay.RunCompleted:
		a.say("%s", headText(v))
	}
	return outcome(v)
}

// seeSuite follows a run to its end, with its output or with its progress.
func (a *app) seeSuite(ctx context.Context, d *door, id assay.RunID, output bool) (api.RunView, error) {
	var show viewer = quiet{} // a bar would be drawn over what the harness writes
	if output {
		if err := d.FollowLog(ctx, id, 0, a.newLogView(false).show); err != nil {
			return api.RunView{}, err
		}
	} else {
		show = a.newProgress(id)
	}
	defer show.end()
	return d.Watch(ctx, id, func(v api.RunView) bool {
		show.see(v)
		return !v.State.Terminal()
	})
}
