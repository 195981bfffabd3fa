package api_test

import (
	"path/filepath"
	"testing"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/store/storetest"
)

// A database that goes away while a file is applied leaves all of the file applied, or none.
func TestAFileIsAppliedWholeOrNotAtAll(t *testing.T) {
	const two = `suites:
  a: {command: [/bin/sh, -c, "echo a"]}
  b: {command: [/bin/sh, -c, "echo b"]}
schedules:
  x: {cron: "0 3 * * *", zone: UTC, suite: {name: a}}
  y: {cron: "0 4 * * *", zone: UTC, suite: {name: b}}
`
	for n := int64(1); n <= 2; n++ {
		w, ctx := newWorld(t), t.Context()
		faulty := &storetest.Faulty{Store: w.store, Before: storetest.Nth(n, "Suites.Apply", storetest.Unavailable())}
		path := filepath.Join(t.TempDir(), "s")
		serve(t, "unix", path, api.Guard(api.New(api.Services{Store: faulty, Engine: w.engine, Now: now, Harnesses: suites{dir: w.dir}}), api.GuardOptions{Socket: true}))
		c := client.Socket(path)
		t.Cleanup(c.Close)
		file := api.DefinitionFile{Source: two, File: filepath.Join(w.dir, "assay.yaml")}
		_, err := c.ApplySuites(ctx, "default", file)
		p := w.defaultProject(t)
		list, listing := w.store.Suites().List(ctx, p.ID)
		if listing != nil || (len(list) == 2) != (err == nil) || len(list) == 1 {
			t.Errorf("%d suites are applied, error %v", len(list), err)
		}
		if len(list) == 0 {
			if _, err := c.ApplySuites(ctx, "default", file); err != nil {
				t.Fatal(err)
			}
		}
		faulty.Before = storetest.Nth(n, "Schedules.Apply", storetest.Unavailable())
		_, err = c.ApplySchedules(ctx, "default", file)
		schedules, listing := w.store.Schedules().List(ctx, p.ID)
		if listing != nil || (len(schedules) == 2) != (err == nil) || len(schedules) == 1 {
			t.Errorf("%d schedules are applied, error %v", len(schedules), err)
		}
	}
}

func (w *world) defaultProject(t *testing.T) assay.Project {
	t.Helper()
	p, err := w.store.Projects().Get(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	return p
}
