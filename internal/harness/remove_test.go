package harness

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// ended makes runs of a project that have ended, with a folder each.
func ended(t *testing.T, s store.Store, dir, project string) (assay.Project, []string) {
	t.Helper()
	p, err := s.Projects().Create(t.Context(), project, assay.DefaultSettings(), now())
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, kind := range []assay.RunKind{assay.RunSuite, assay.RunExternal, assay.RunSuite} {
		run, _, err := s.Runs().Create(t.Context(), store.NewRun{Project: p.ID, Kind: kind, Reporting: kind == assay.RunExternal, Concurrency: 1, AsOf: now(), Now: now(), Suite: &assay.SuiteSpec{Name: "s"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs().Change(t.Context(), run.ID, store.Change{From: []assay.RunState{run.State}, To: assay.RunCancelled, Now: now()}); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(LogDir(dir, run.ID), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(LogDir(dir, run.ID), "0"), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		folders = append(folders, RunDir(dir, run.ID))
	}
	return p, folders
}

func there(folders []string) (n int) {
	for _, f := range folders {
		if _, err := os.Lstat(f); err == nil {
			n++
		}
	}
	return n
}

// lists is how many lists of folders to be removed there are.
func lists(t *testing.T, dir string) int {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "runs", "left-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func removing(t *testing.T) (s store.Store, dir string, begin func() *Driver) {
	t.Helper()
	dir = t.TempDir()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir, func() *Driver { return New(Options{Store: s, Dir: dir, Now: now}) }
}

// A project's folders go with its rows, and a crash at any step leaves none behind for ever.
func TestFoldersGoWithTheirProject(t *testing.T) {
	for name, crash := range map[string]struct {
		rows bool // had they gone before it?
	}{"before the rows went": {false}, "after the rows went": {true}} {
		t.Run(name, func(t *testing.T) {
			s, dir, begin := removing(t)
			p, gone := ended(t, s, dir, "p")
			other, stay := ended(t, s, dir, "other")
			d := begin()
			leaving := d.Leaving
			if !crash.rows {
				leaving = func(ctx context.Context, id assay.ProjectID) error {
					if err := d.Leaving(ctx, id); err != nil {
						return err
					}
					return context.Canceled
				}
			}
			if err := s.Projects().Delete(t.Context(), p.ID, leaving); (err == nil) != crash.rows {
				t.Fatal(err)
			}
			if there(gone) != 3 || lists(t, dir) != 1 {
				t.Errorf("%d folders and %d lists before anything was removed", there(gone), lists(t, dir))
			}
			d = begin() // another process, after a crash
			d.RemoveLeft(t.Context())
			if !crash.rows {
				if there(gone) != 3 || lists(t, dir) != 1 {
					t.Errorf("%d folders and %d lists while the rows are there", there(gone), lists(t, dir))
				}
				third, err := s.Projects().Create(t.Context(), "third", assay.DefaultSettings(), now())
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Projects().Delete(t.Context(), third.ID, d.Leaving); err != nil {
					t.Fatal(err)
				}
				d.RemoveLeft(t.Context())
			}
			if there(gone) != 0 || there(stay) != 3 || lists(t, dir) != 0 {
				t.Errorf("%d folders of the project, %d of 3 of another, %d lists", there(gone), there(stay), lists(t, dir))
			}
			if _, err := s.Projects().Get(t.Context(), other.Name); err != nil {
				t.Error(err)
			}
		})
	}
}

// What was noted before a cut deletion took some rows stays noted.
func TestALeftFolderStaysNoted(t *testing.T) {
	s, dir, begin := removing(t)
	p, gone := ended(t, s, dir, "p")
	d := begin()
	if err := d.Leaving(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Projects().Delete(t.Context(), p.ID, nil); err != nil { // some rows, or all
		t.Fatal(err)
	}
	if err := d.Leaving(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	if d.RemoveLeft(t.Context()); there(gone) != 0 || lists(t, dir) != 0 {
		t.Errorf("%d folders, %d lists", there(gone), lists(t, dir))
	}
}

// On a machine whose data folder holds nothing of the project nothing is written.
func TestNothingIsNotedElsewhere(t *testing.T) {
	s, dir, begin := removing(t)
	p, gone := ended(t, s, t.TempDir(), "p")
	if err := s.Projects().Delete(t.Context(), p.ID, begin().Leaving); err != nil {
		t.Fatal(err)
	}
	if begin().RemoveLeft(t.Context()); there(gone) != 3 || lists(t, dir) != 0 {
		t.Errorf("%d folders, %d lists", there(gone), lists(t, dir))
	}
}
