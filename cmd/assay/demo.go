package main

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/demo"
	"assay/internal/engine"
	"assay/internal/node"
	"assay/internal/session/native"
)

type demoCmd struct {
	Once     bool   `help:"End after the report instead of serving on."`
	Sessions int    `default:"3000" placeholder:"N" help:"How many sessions to make, default 3,000; a million works."`
	Seed     string `default:"demo" placeholder:"TEXT" help:"The same seed makes the same sessions."`
	Listen   string `default:"127.0.0.1:7171" placeholder:"ADDR" help:"Address of the page, default 127.0.0.1:7171; another port is taken when it is in use."`

	AddressFile string `type:"path" placeholder:"FILE" help:"Write the address there once the report is printed."`
}

// demoDir keeps invented sessions away from a person's own.
const demoDir = "assay-data/demo"

func (demoCmd) Help() string {
	return `Makes two weeks of clearly synthetic support sessions in two arms, with a busy day and a bad day, imports them, grades them with a rules judge and prints the report. All of it lies in ./assay-data/demo unless --data names another folder; delete the folder and it is gone.

Example:

    assay demo
    assay demo --once --sessions 100000`
}

func (c *demoCmd) Run(a *app) error {
	if a.Server != "" {
		return misuse("demo makes its sessions here: --server does not go with it")
	}
	if c.Sessions < 1 {
		return misuse("--sessions %d is less than 1", c.Sessions)
	}
	if a.Data == "" {
		a.Data = demoDir
	}
	d, address, err := c.open(a)
	if err != nil {
		return err
	}
	d.sayCarried(0)
	if err := c.load(a, d); err != nil {
		return err
	}
	if _, err := d.ApplyJudge(a.ctx, a.Project, demo.Judge); err != nil {
		return err
	}
	freeCalls := 64 // rules cost nothing: more in flight share one durable write
	g, err := d.Grade(a.ctx, a.Project, engine.GradeRequest{Judges: []string{demo.JudgeName}, Seed: &c.Seed, Concurrency: &freeCalls, By: who()}, client.NewKey())
	if err != nil {
		return err
	}
	v, err := a.follow(d, g.ID, a.newProgress(g.ID))
	if err == nil {
		err = outcome(v)
	}
	if err != nil {
		return err
	}
	if err := a.printReport(d, g.ID); err != nil {
		return err
	}
	if c.Once {
		return nil
	}
	a.say("%s shows it; `assay --data %s sessions list` and every other command work too. Ctrl-C ends.", address, a.dir())
	if err := writeAddress(c.AddressFile, address); err != nil {
		return err
	}
	<-a.ctx.Done()
	return nil
}

// open owns the demo's folder, and serves it unless the demo ends by itself.
func (c *demoCmd) open(a *app) (*door, string, error) {
	var l net.Listener
	if !c.Once {
		var err error
		if l, err = node.Listen(c.Listen, ""); assay.CodeOf(err) == assay.CodeUnavailable && err != nil {
			l, err = node.Listen("127.0.0.1:0", "")
		}
		if err != nil {
			return nil, "", err
		}
	}
	d, err := a.open(node.Config{Drive: true, Serve: true, Log: a.logger(slog.LevelWarn)})
	if err != nil || l == nil {
		return d, "", err
	}
	return d, d.node().ServeTCP(l, node.Door{}), nil
}

// load makes the sessions and imports them as a file would be.
func (c *demoCmd) load(a *app, d *door) error {
	from, to := io.Pipe()
	go func() { to.CloseWithError(c.write(to)) }()
	defer from.Close() // ends the writer when the import ended early
	bar := a.newBytesBar("synthetic sessions", 0)
	imp, err := d.Import(a.ctx, a.Project, assay.ImportOptions{File: "demo", Format: "native", By: who()}, from, bar.set)
	bar.end()
	if err != nil {
		return err
	}
	if !a.JSON {
		a.say("%s made: %s imported, %s there already", count(int64(c.Sessions), "synthetic session"), humanize.Comma(imp.New+imp.Changed), humanize.Comma(imp.Unchanged))
	}
	return nil
}

func (c *demoCmd) write(to io.Writer) (err error) {
	w := bufio.NewWriterSize(to, 256<<10)
	var line []byte
	demo.Generate(c.Seed, c.Sessions, demoStart(time.Now()), func(s assay.Session) bool {
		if line, err = native.Append(line[:0], &s, nil); err == nil {
			_, err = w.Write(line)
		}
		return err == nil
	})
	if err == nil {
		err = w.Flush()
	}
	return err
}

// demoStart is the story's own Monday; where the clock is earlier, one that lies in the past, because
// sessions of the future would never settle.
func demoStart(now time.Time) time.Time {
	start := demo.Start()
	for start.AddDate(0, 0, demo.Days+1).After(now) {
		start = start.AddDate(0, 0, -7)
	}
	return start
}
