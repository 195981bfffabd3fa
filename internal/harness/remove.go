package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/store"
)

// leftPrefix begins the name of a list of folders of runs whose rows are about to go. It lies beside them:
// whatever is cut off at whatever moment, a folder without a row is in a list, and nothing else is removed.
const leftPrefix = "left-"

// Leaving notes durably which folders there are here of a project's runs. It is called before their rows
// go; see store.Projects.Delete. On another machine's disk nothing is noted.
func (d *Driver) Leaving(ctx context.Context, project assay.ProjectID) error {
	dir, name := filepath.Join(d.o.Dir, "runs"), fmt.Sprintf("%s%d.json", leftPrefix, project)
	var list []assay.RunID // a list that is there is of a deletion that was cut: rows of it may be gone
	if err := durable.ReadJSON(dir, name, &list); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, kind := range []assay.RunKind{assay.RunSuite, assay.RunExternal} {
		q := store.RunQuery{Project: project, Kind: kind}
		for cursor, more := "", true; more; more = cursor != "" {
			runs, next, err := d.o.Store.Runs().List(ctx, q, store.Page{Cursor: cursor, Limit: 500})
			if err != nil {
				return err
			}
			for _, run := range runs {
				if _, err := os.Lstat(RunDir(d.o.Dir, run.ID)); err == nil {
					list = append(list, run.ID)
				}
			}
			cursor = next
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	if err := (durable.Disk{}).WriteJSON(dir, name, slices.Compact(list)); err != nil {
		return assay.Errorf(assay.CodeUnavailable, "note the folders of the project's runs: %w", err).
			WithHint("the project is hidden; what is left of it goes with the next project that is deleted, once %s can be written to", dir)
	}
	return nil
}

// RemoveLeft removes the folders that Leaving noted and whose rows are gone. What cannot be removed stays
// noted: it is tried again when a process begins to own the data, and with the next project that is deleted.
func (d *Driver) RemoveLeft(ctx context.Context) {
	lists, err := filepath.Glob(filepath.Join(d.o.Dir, "runs", leftPrefix+"*.json"))
	if err != nil {
		d.o.Log.Warn("look for what deleted projects left", "error", err)
	}
	for _, list := range lists {
		if err := d.removeLeft(ctx, list); err != nil && ctx.Err() == nil {
			d.o.Log.Warn("remove the folders of a deleted project's runs; they are tried again later", "list", list, "error", err)
		}
	}
}

func (d *Driver) removeLeft(ctx context.Context, list string) error {
	var runs []assay.RunID
	if err := durable.ReadJSON(filepath.Dir(list), filepath.Base(list), &runs); err != nil {
		return err
	}
	var stays []string
	for _, id := range runs {
		_, err := d.o.Store.Runs().Get(ctx, id)
		switch {
		case err == nil: // its deletion was cut before
			stays = append(stays, id.String()+" has its row still")
			continue
		case assay.CodeOf(err) != assay.CodeNotFound:
			return err
		}
		if err := os.RemoveAll(RunDir(d.o.Dir, id)); err != nil {
			stays = append(stays, err.Error())
		}
	}
	if len(stays) > 0 {
		return errors.New(strings.Join(stays[:min(len(stays), 3)], "; "))
	}
	if err := os.Remove(list); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
