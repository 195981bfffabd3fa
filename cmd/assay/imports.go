package main

import (
	"context"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/store"
)

type importsCmd struct {
	List    importsListCmd    `cmd:"" default:"withargs" help:"List imports, newest first."`
	Rejects importsRejectsCmd `cmd:"" help:"Show what an import did not take, and why."`
}

type importsListCmd struct {
	Limit int `default:"50" help:"Rows at most; 0 is all."`
}

func (importsListCmd) Help() string {
	return "Example:\n\n    assay imports list --limit 10"
}

func (c *importsListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	t := newTable(a.out, "IMPORT", "STATE", "STARTED", "FORMAT", "NEW", "CHANGED", "UNCHANGED", "REJECTED", "SIZE", "FILE")
	more, err := each(a.ctx, c.Limit,
		func(ctx context.Context, p store.Page) (api.Page[store.Import], error) {
			return d.Imports(ctx, a.Project, p)
		},
		func(i store.Import) error {
			if a.JSON {
				return a.printLine(i)
			}
			t.row(humanize.Comma(i.ID), i.State, moment(&i.StartedAt, time.UTC), i.Format, humanize.Comma(i.New), humanize.Comma(i.Changed),
				humanize.Comma(i.Unchanged), humanize.Comma(i.Rejected), humanize.Bytes(uint64(i.Bytes)), i.File)
			return nil
		})
	if err != nil || a.JSON {
		return err
	}
	return a.endTable(t, more)
}

type importsRejectsCmd struct {
	Import int64 `arg:"" name:"import" help:"Number of the import, as the list shows it."`
	Limit  int   `default:"0" help:"Rows at most; 0 is all that were kept."`
}

func (importsRejectsCmd) Help() string {
	return "One line each: its line in the file and the reason. At most 10,000 are kept of one import; its count goes on.\n\nExample:\n\n    assay imports rejects 3"
}

func (c *importsRejectsCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	more, err := each(a.ctx, c.Limit,
		func(ctx context.Context, p store.Page) (api.Page[store.Reject], error) {
			return d.Rejects(ctx, a.Project, c.Import, p)
		},
		func(r store.Reject) error {
			if a.JSON {
				return a.printLine(r)
			}
			a.print("%s\n", "line "+rejectText(r))
			if r.Excerpt != "" {
				a.print("    %s\n", short(r.Excerpt, 160))
			}
			return nil
		})
	if err == nil && more {
		a.say("more rows were left; --limit 0 shows all")
	}
	return err
}
