package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/logs"
)

type logsCmd struct {
	runArg
	Follow bool   `short:"f" xor:"how" help:"Go on with what comes, until the run has ended."`
	Tail   *int   `placeholder:"N" help:"Only the last N lines; with --follow begin with them. 0 is none."`
	Search string `placeholder:"TEXT" xor:"how" help:"Only lines that hold this, with their numbers, as --plain shows them; case does not matter."`
	Plain  bool   `help:"Without colours and other escape sequences; of a line that was overwritten only what was left."`
}

func (logsCmd) Help() string {
	return `Prints what a harness wrote, with known secrets masked. It only looks: no run is taken up. Where a part is not kept any more, a line says so. Ctrl-C stops looking; the run goes on.

With --json one object a line: from and to are offsets in bytes, line the number of lines before it.

Example:

    assay logs r3 -f
    assay logs last --tail 50
    assay logs r3 --search error
    assay logs r3 --plain > r3.txt`
}

func (c *logsCmd) Run(a *app) error {
	if c.Tail != nil && *c.Tail < 0 {
		return misuse("--tail %d is not a number of lines", *c.Tail)
	}
	if c.Tail != nil && c.Search != "" {
		return misuse("--tail and --search cannot be used together").WithHint("--search prints every line that holds the text, first to last: `assay logs %s --search TEXT | tail -n %d` keeps the last ones", c.RunID, *c.Tail)
	}
	d, id, err := c.open(a, a.look)
	if err != nil {
		if named, notNamed := assay.ParseRunID(c.RunID); notNamed == nil {
			return a.leftLog(named, err)
		}
		return err
	}
	view := a.newLogView(c.Plain)
	switch {
	case c.Search != "":
		return a.searchLog(d, id, c.Search)
	case c.Follow:
		if err := a.followLog(d, id, c.Tail, view); err != nil {
			return a.leftLog(id, err)
		}
		if c.Tail == nil && !view.seen {
			return a.sayNoLog(d, id)
		}
		return nil
	case c.Tail != nil:
		_, err := a.showTail(d, id, *c.Tail, view, view.last)
		return err
	case c.Plain || a.JSON:
		_, err := wholeLog(a.ctx, d, id, 0, view)
		if err == nil && !view.seen {
			return a.sayNoLog(d, id)
		}
		return err
	}
	out := &counter{to: a.out}
	if err := d.RawLog(a.ctx, id, out); err != nil || out.n > 0 {
		return err
	}
	return a.sayNoLog(d, id)
}

// counter counts what it hands on.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// showTail shows the last lines, and returns where they end.
func (a *app) showTail(d *door, id assay.RunID, lines int, view *logView, show func(api.LogChunk) error) (end int64, err error) {
	chunk, err := d.LogTail(a.ctx, id, max(lines, 1))
	if err != nil || lines == 0 {
		return chunk.To, err
	}
	if chunk.To == 0 {
		return 0, a.sayNoLog(d, id)
	}
	return chunk.To, show(chunk)
}

// sayNoLog says that there is no output, where nothing is printed.
func (a *app) sayNoLog(d *door, id assay.RunID) error {
	v, err := d.Run(a.ctx, id)
	switch {
	case err != nil || a.JSON:
		return err
	case v.State.Terminal():
		a.say("%s wrote nothing: `assay runs show %s` tells how it ended", id, id)
	default:
		a.say("%s has written nothing so far", id)
	}
	return nil
}

// wholeLog shows what there is from an offset on, and returns where that ends.
func wholeLog(ctx context.Context, d *door, id assay.RunID, from int64, view *logView) (api.LogChunk, error) {
	for {
		chunk, err := d.Log(ctx, id, from, 0)
		if err != nil {
			return chunk, err
		}
		if err := view.show(chunk); err != nil {
			return chunk, err
		}
		if from = chunk.To; chunk.To == chunk.From || chunk.End {
			return chunk, view.flush()
		}
	}
}

func (a *app) searchLog(d *door, id assay.RunID, text string) error {
	found := false
	for from := int64(0); ; {
		page, err := d.SearchLog(a.ctx, id, text, from, 1000)
		if err != nil {
			return err
		}
		for _, h := range page.Hits {
			found = true
			if a.JSON {
				if err := a.printLine(h); err != nil {
					return err
				}
				continue
			}
			a.print("%d: %s\n", h.Line, h.Text)
		}
		if from = page.Next; from == 0 {
			break
		}
	}
	if !found && !a.JSON {
		a.say("no line of %s holds %q", id, text)
	}
	return nil
}

// logView prints output.
type logView struct {
	a     *app
	plain bool
	seen  bool   // there was something
	rest  []byte // of the last line, where only whole lines are printed
}

func (a *app) newLogView(plain bool) *logView { return &logView{a: a, plain: plain} }

// show prints a part of the output.
func (v *logView) show(c api.LogChunk) error {
	v.seen = v.seen || c.To > c.From || c.Gap > 0
	if v.a.JSON {
		if c.From == c.To && c.Gap == 0 {
			return nil
		}
		return v.a.printLine(c)
	}
	if c.Gap > 0 {
		if err := v.flush(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(v.a.out, "\n[assay: %d bytes of output are left out here]\n", c.Gap); err != nil {
			return err
		}
	}
	if !v.plain {
		_, err := fmt.Fprint(v.a.out, c.Text)
		return err
	}
	v.rest = append(v.rest, c.Text...)
	end := lastLine(v.rest)
	_, err := v.a.out.Write(plainLines(v.rest[:end]))
	v.rest = append(v.rest[:0], v.rest[end:]...)
	return err
}

// last prints what is the end for now.
func (v *logView) last(c api.LogChunk) error {
	if err := v.show(c); err != nil {
		return err
	}
	return v.flush()
}

func (v *logView) flush() error {
	_, err := v.a.out.Write(plainLines(v.rest))
	v.rest = nil
	return err
}

// longestLine is how much of a line is waited for before it is printed all the same.
const longestLine = 64 << 10

// lastLine is where the last line that has not ended begins.
func lastLine(b []byte) int {
	for i := len(b); i > 0; i-- {
		if b[i-1] == '\n' {
			return i
		}
	}
	if len(b) > longestLine {
		return len(b)
	}
	return 0
}

// plainLines is what a terminal without colours would be left with.
func plainLines(b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		n := 0
		for n < len(b) && b[n] != '\n' {
			n++
		}
		line := logs.Plain(b[:n])
		for len(line) > 0 && line[len(line)-1] == '\r' {
			line = line[:len(line)-1]
		}
		out = append(out, logs.Overwrite(line)...)
		if n < len(b) {
			out = append(out, '\n')
			n++
		}
		b = b[n:]
	}
	return out
}

// How often a log is looked at that no process serves.
const lookEvery = 300 * time.Millisecond

// followLog prints what there is and what comes, also where nobody drives the run: this process owns the data
// then, and looks at the files until somebody does.
func (a *app) followLog(d *door, id assay.RunID, tail *int, view *logView) error {
	from := int64(0)
	if tail != nil {
		var err error
		if from, err = a.showTail(d, id, *tail, view, view.show); err != nil {
			return err
		}
	}
	said := false
	for {
		if d.node() == nil {
			done, err := a.streamLog(d, id, &from, view)
			if done || err != nil {
				return err
			}
			continue // its server ended, and this process would own the data now
		}
		chunk, err := wholeLog(a.ctx, d, id, from, view)
		if err != nil {
			return a.leftLog(id, err)
		}
		if from = chunk.To; chunk.End {
			return nil
		}
		if n := d.node(); !said && n != nil && n.Owns() { // with a database an owner may be on another machine
			said = true
			a.say("no process drives %s: waits for what still comes; `assay watch %s`, or `assay serve`, goes on with it", id, id)
		}
		if !wait(a.ctx, lookEvery) {
			return a.leftLog(id, context.Cause(a.ctx))
		}
	}
}

// streamLog follows a log that another process serves, until it has ended (done), or until this process
// has become the owner because that one went away.
func (a *app) streamLog(d *door, id assay.RunID, from *int64, view *logView) (done bool, err error) {
	ctx, stop := context.WithCancel(a.ctx)
	defer stop()
	if d.link != nil {
		go func() {
			for wait(ctx, lookEvery) {
				if d.node() != nil {
					stop()
				}
			}
		}()
	}
	err = d.FollowLog(ctx, id, *from, func(c api.LogChunk) error {
		*from = c.To
		return view.show(c)
	})
	switch {
	case err == nil:
		return true, view.flush()
	case a.ctx.Err() == nil && ctx.Err() != nil:
		return false, nil
	}
	return false, a.leftLog(id, err)
}

// leftLog says that only the looking was stopped.
func (a *app) leftLog(id assay.RunID, err error) error {
	if a.ctx.Err() == nil {
		return err
	}
	return assay.Errorf(assay.CodeUnavailable, "stopped looking at %s, which goes on", id).
		WithHint("`assay logs %s -f` looks again, `assay cancel %s` stops it", id, id)
}

// wait returns false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
