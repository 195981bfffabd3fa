package main

import (
	"bufio"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
)

type setCmd struct {
	Create setCreateCmd `cmd:"" help:"Make a set from a filter or from names."`
	Add    setAddCmd    `cmd:"" help:"Add sessions to a set."`
	List   setListCmd   `cmd:"" default:"1" help:"List sets."`
}

// memberFlags say which sessions; create and add share them.
type memberFlags struct {
	frameFlags
	Sessions []string `arg:"" optional:"" name:"user/id" help:"Sessions by name; - reads names from standard input, one a line."`
}

type setCreateCmd struct {
	Name string `arg:"" help:"Name of the set."`
	memberFlags
}

func (setCreateCmd) Help() string {
	return `Frame flags choose sessions as they are now; the set does not change by itself later.

Example:

    assay set create hard --filter "turns > 20"
    assay set create incidents alice/42 bob/7`
}

func (c *setCreateCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	m, err := c.members(a, d)
	if err != nil {
		return err
	}
	s, err := d.CreateSet(a.ctx, a.Project, c.Name, m)
	if err != nil {
		return err
	}
	return a.printSet(s)
}

type setAddCmd struct {
	Name string `arg:"" help:"Name of the set."`
	memberFlags
}

func (setAddCmd) Help() string {
	return "Those already in are left.\n\nExample:\n\n    assay set add incidents carol/3"
}

func (c *setAddCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	m, err := c.members(a, d)
	if err != nil {
		return err
	}
	s, err := d.AddToSet(a.ctx, a.Project, c.Name, m)
	if err != nil {
		return err
	}
	return a.printSet(s)
}

func (f memberFlags) members(a *app, d *door) (m api.Members, err error) {
	for _, name := range f.Sessions {
		if name != "-" {
			m.Sessions = append(m.Sessions, name)
			continue
		}
		lines := bufio.NewScanner(a.in)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				m.Sessions = append(m.Sessions, line)
			}
		}
		if err := lines.Err(); err != nil {
			return m, assay.Errorf(assay.CodeInternal, "read standard input: %w", err)
		}
	}
	for _, name := range m.Sessions {
		if _, _, err := assay.ParseSessionName(name); err != nil {
			return m, err
		}
	}
	if f.frameFlags != (frameFlags{}) {
		q, err := f.query(a, d)
		if err != nil {
			return m, err
		}
		m.Query = &q
	}
	if len(m.Sessions) == 0 && m.Query == nil {
		return m, misuse("no session is named").WithHint("name sessions as USER/ID, or choose them with --filter, --from, --to, --labelled or --set")
	}
	return m, nil
}

func (a *app) printSet(s api.SetChange) error {
	if a.JSON {
		return a.printJSON(s)
	}
	a.print("set %s: %s added, %s in it\n", s.Name, count(s.Added, "session"), humanize.Comma(s.Members))
	return nil
}

type setListCmd struct{}

func (setListCmd) Help() string { return "Example:\n\n    assay set list" }

func (c *setListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	sets, err := d.Sets(a.ctx, a.Project)
	if err != nil {
		return err
	}
	t := newTable(a.out, "SET", "SESSIONS", "CREATED")
	for _, s := range sets {
		if a.JSON {
			if err := a.printLine(s); err != nil {
				return err
			}
			continue
		}
		t.row(s.Name, humanize.Comma(s.Members), moment(&s.CreatedAt, time.UTC))
	}
	if a.JSON {
		return nil
	}
	return t.end()
}
