package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/assay"
)

// An owner whose folder was removed or replaced under it writes what nobody can read: it loses the
// ownership, and its store never owns what lies there now.
func TestOwnerOfARemovedFolder(t *testing.T) {
	for name, remove := range map[string]func(t *testing.T, dir string) error{
		"removed":      func(_ *testing.T, dir string) error { return os.RemoveAll(dir) },
		"moved":        func(_ *testing.T, dir string) error { return os.Rename(dir, dir+".old") },
		"database":     func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "assay.db")) },
		"removed lock": func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "owner.lock")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s := open(t, dir)
			own, err := s.Owner().TryOwn(t.Context())
			if own == nil || err != nil {
				t.Fatalf("own: %v, %v", own, err)
			}
			if err := remove(t, dir); err != nil {
				t.Fatal(err)
			}
			select {
			case <-own.Lost():
			case <-time.After(10 * time.Second):
				t.Fatal("still owns it")
			}
			if err := own.Release(); err != nil {
				t.Error(err)
			}
			if name == "removed lock" {
				return // the database is still the one that was opened
			}
			open(t, dir)
			if own, err := s.Owner().TryOwn(t.Context()); own != nil || assay.CodeOf(err) != assay.CodeUnavailable {
				t.Errorf("owns another folder: %v, %v", own, err)
			}
		})
	}
}

func TestOwnerStaysOwner(t *testing.T) {
	own, err := open(t, t.TempDir()).Owner().TryOwn(t.Context())
	if own == nil || err != nil {
		t.Fatalf("own: %v, %v", own, err)
	}
	select {
	case <-own.Lost():
		t.Error("lost a folder that nobody touched")
	case <-time.After(600 * time.Millisecond): // it looks every 250 ms; that nothing happens can only be waited for
	}
	if err := own.Release(); err != nil {
		t.Error(err)
	}
	if err := own.Release(); err != nil {
		t.Errorf("again: %v", err)
	}
}
