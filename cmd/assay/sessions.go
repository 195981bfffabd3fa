package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type sessionsCmd struct {
	List sessionsListCmd `cmd:"" default:"withargs" help:"List sessions by day, user and id."`
	Show sessionsShowCmd `cmd:"" help:"Show one session and its transcript."`
}

type sessionsListCmd struct {
	frameFlags
	Limit int `default:"50" help:"Rows at most; 0 is all."`
}

func (sessionsListCmd) Help() string {
	return `Filters are CEL over what is known of a session without reading it: user, session, day, arm, case, source, agent_version, turns, messages, tool_calls, bytes, started, undated, metadata.

Example:

    assay sessions list --filter "turns > 10 && arm == 'treatment'" --limit 20`
}

func (c *sessionsListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	q, err := c.query(a, d)
	if err != nil {
		return err
	}
	zone, err := a.zone(d)
	if err != nil {
		return err
	}
	t := newTable(a.out, "SESSION", "DAY", "ARM", "STARTED", "TURNS", "TOOL CALLS", "SIZE", "VERSION")
	more, err := each(a.ctx, c.Limit,
		func(ctx context.Context, p store.Page) (api.Page[assay.Head], error) {
			return d.Sessions(ctx, a.Project, q, p)
		},
		func(h assay.Head) error {
			if a.JSON {
				return a.printLine(h)
			}
			t.row(h.Name(), h.Day, h.Arm, moment(h.StartedAt, zone), humanize.Comma(int64(h.Turns)), humanize.Comma(int64(h.ToolCalls)),
				humanize.Bytes(uint64(h.BodyBytes)), humanize.Comma(int64(h.Version)))
			return nil
		})
	if err != nil || a.JSON {
		return err
	}
	return a.endTable(t, more)
}

// query is the frame as lists and sets take it.
func (f frameFlags) query(a *app, d *door) (api.SessionQuery, error) {
	from, to, err := f.window(a, d)
	return api.SessionQuery{From: from, To: to, Undated: f.Undated, Filter: f.Filter, Set: f.Set, Labelled: f.Labelled}, err
}

type sessionsShowCmd struct {
	Session string     `arg:"" name:"user/id" help:"Session, as the list names it."`
	Content assay.Hash `placeholder:"HASH" help:"An older content version, by its hash."`
}

func (sessionsShowCmd) Help() string { return "Example:\n\n    assay sessions show alice/42" }

func (c *sessionsShowCmd) Run(a *app) error {
	user, id, err := assay.ParseSessionName(c.Session)
	if err != nil {
		return err
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	v, err := d.Session(a.ctx, a.Project, user, id, c.Content)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(v)
	}
	zone, err := a.zone(d)
	if err != nil {
		return err
	}
	return a.printSession(v, zone)
}

func (a *app) printSession(v api.SessionView, zone *time.Location) error {
	h := v.Head
	a.print("%s  %s %s  %s, %s, %s\n", h.Name(), h.Day, h.Arm, count(int64(h.Turns), "turn"), count(int64(h.Messages), "message"), count(int64(h.ToolCalls), "tool call"))
	a.print("started  %s\narrived  %s\n", moment(h.StartedAt, zone), moment(&h.ArrivedAt, zone))
	if h.SourceURL != "" {
		a.print("source   %s\n", h.SourceURL)
	}
	for _, c := range v.Contents {
		mark := ""
		if c.Current {
			mark = "  current"
		}
		if c.Hash == v.Shown {
			mark += "  shown below"
		}
		a.print("content  %s  version %d  %s%s\n", shortHash(c.Hash), c.Version, moment(&c.ArrivedAt, zone), mark)
	}
	if len(v.Body) == 0 {
		a.print("\nthe conversation is no longer stored\n")
		return nil
	}
	var s assay.Session
	if err := json.Unmarshal(v.Body, &s); err != nil {
		return assay.Errorf(assay.CodeInternal, "read session %s: %w", h.Name(), err)
	}
	a.printTranscript(s)
	return nil
}
