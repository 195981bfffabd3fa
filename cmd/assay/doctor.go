package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/node"
	"assay/internal/store"
)

type doctorCmd struct{}

func (doctorCmd) Help() string {
	return `Checks that the database is whole and that the rules that always hold do hold, times the disk, names the owner and the socket, and tries to build every judge. Starts no call.

Exit status 1 when something is wrong.

Example:

    assay doctor`
}

// finding is one line of the doctor's.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Says string `json:"says"`
}

func (c *doctorCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	findings := slices.Concat(c.owner(a, d), c.clock(a, d), c.database(a, d), c.disk(a), c.judges(a, d))
	wrong := 0
	for _, f := range findings {
		if !f.OK {
			wrong++
		}
		if err := a.printFound(f); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return assay.Errorf(assay.CodeInternal, "%s wrong", isWrong(wrong))
	}
	return nil
}

func isWrong(n int) string {
	if n == 1 {
		return "1 thing is"
	}
	return fmt.Sprintf("%d things are", n)
}

func (a *app) printFound(f finding) error {
	if a.JSON {
		return a.printLine(f)
	}
	mark := "ok   "
	if !f.OK {
		mark = "WRONG"
	}
	a.print("%s  %-10s %s\n", mark, f.What, f.Says)
	return nil
}

// owner says who answers, and compares clocks and versions.
func (c *doctorCmd) owner(a *app, d *door) []finding {
	before := time.Now()
	o, err := d.Owner(a.ctx)
	if err != nil {
		return []finding{{"owner", false, err.Error()}}
	}
	took := time.Since(before)
	says := fmt.Sprintf("pid %d, version %s, since %s, ", o.PID, o.Version, moment(&o.Since, time.UTC))
	switch {
	case o.Driving:
		says += "drives runs"
	case o.PID == os.Getpid():
		says = "nobody else: this command owned for its own time; no run is driven"
	default:
		says += "serves without driving"
	}
	found := []finding{{"owner", o.Version == version(), says}}
	if o.Version != version() {
		found[0].Says += "; this command is " + version() + ": use one version"
	}
	found = append(found, finding{"answer", took < time.Second, "the API answered in " + took.Round(10*time.Microsecond).String()})
	if d.link == nil {
		return append(found, finding{"server", true, a.Server})
	}
	if socket, err := node.SocketPath(a.dir(), a.Database); err != nil {
		found = append(found, finding{"socket", false, err.Error()})
	} else {
		found = append(found, finding{"socket", true, socket})
	}
	return found
}

// maxSkew is how far the clocks of two machines may be apart before times in lists mislead.
const maxSkew = 2 * time.Second

// clock compares this machine's clock with the server's, and with what is stored: a clock that was
// set back makes runs of the future.
func (c *doctorCmd) clock(a *app, d *door) []finding {
	now := time.Now()
	says := now.UTC().Format("2006-01-02 15:04:05 MST")
	newest, err := d.Runs(a.ctx, api.RunQuery{}, store.Page{Limit: 1})
	switch {
	case err != nil:
		return []finding{{"clock", false, err.Error()}}
	case len(newest.Items) > 0 && newest.Items[0].CreatedAt.After(now.Add(maxSkew)):
		return []finding{{"clock", false, says + ", but the newest run was made at " + moment(&newest.Items[0].CreatedAt, time.UTC)}}
	case a.Server == "":
		return []finding{{"clock", true, says}}
	}
	resp, err := http.Get(strings.TrimRight(a.Server, "/") + "/healthz")
	if err != nil {
		return []finding{{"clock", false, err.Error()}}
	}
	resp.Body.Close()
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return []finding{{"clock", true, says + "; the server does not tell its own"}}
	}
	// The header has whole seconds, cut off.
	skew := now.Sub(theirs.Add(500 * time.Millisecond)).Abs()
	return []finding{{"clock", skew <= maxSkew, fmt.Sprintf("%s, the server's is at most %s apart", says, (skew + 500*time.Millisecond).Round(time.Second))}}
}

func (c *doctorCmd) database(a *app, d *door) []finding {
	k, err := d.Check(a.ctx)
	if err != nil {
		return []finding{{"database", false, err.Error()}}
	}
	found := []finding{{"database", true, fmt.Sprintf("%s %s, schema %d, %s, %s", k.Store.Kind, k.Store.Version, k.Store.Schema,
		humanize.Bytes(uint64(k.Store.Bytes)), k.Store.Where)}}
	if len(k.Findings) == 0 {
		return append(found, finding{"check", true, "whole, and every standing rule holds"})
	}
	for _, f := range k.Findings {
		found = append(found, finding{"check", false, f})
	}
	return found
}

// fsyncTries is how many small durable writes are timed.
const fsyncTries = 20

// slowFsync is where a disk holds up grading: each group commit waits for one.
const slowFsync = 20 * time.Millisecond

func (c *doctorCmd) disk(a *app) []finding {
	if a.Server != "" || a.Database != "" {
		return nil
	}
	took, err := fsyncTime(a.dir())
	if err != nil {
		return []finding{{"disk", false, err.Error()}}
	}
	says := "a durable write takes " + took.Round(10*time.Microsecond).String()
	if took > slowFsync {
		says += ": slow; every group of answers waits for one"
	}
	return []finding{{"disk", took <= slowFsync, says}}
}

// fsyncTime is the median time of a small write that is made durable.
func fsyncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "doctor-*")
	if err != nil {
		return 0, assay.Errorf(assay.CodeInternal, "write to %s: %w", dir, plain(err))
	}
	defer os.Remove(f.Name())
	defer f.Close()
	times := make([]time.Duration, fsyncTries)
	for i := range times {
		before := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, assay.Errorf(assay.CodeInternal, "write to %s: %w", filepath.Base(f.Name()), plain(err))
		}
		if err := f.Sync(); err != nil {
			return 0, assay.Errorf(assay.CodeInternal, "make %s durable: %w", filepath.Base(f.Name()), plain(err))
		}
		times[i] = time.Since(before)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// judges tries to build every judge here. It calls none.
func (c *doctorCmd) judges(a *app, d *door) []finding {
	judges, err := d.Judges(a.ctx, a.Project)
	if err != nil {
		return []finding{{"judges", false, err.Error()}}
	}
	var found []finding
	for _, j := range judges {
		v, err := d.Judge(a.ctx, a.Project, j.Name)
		if err == nil {
			err = node.TryJudge(v.Definition, v.Settings)
		}
		if err != nil {
			found = append(found, finding{"judge", false, j.Name + ": " + err.Error()})
			continue
		}
		found = append(found, finding{"judge", true, j.Name + " " + shortHash(j.Version) + " can be built"})
	}
	return found
}
