package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded is a disk that notes what it is asked for, and fails at one step.
func recorded(root, fails string) (d Disk, steps *[]string) {
	steps = &[]string{}
	did := func(step string) error {
		*steps = append(*steps, step)
		if step == fails {
			return errors.New("the disk is broken")
		}
		return nil
	}
	short := func(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, root), "/") }
	d.Sync = func(f *os.File) error {
		if err := did("sync " + short(f.Name())); err != nil {
			return err
		}
		return f.Sync()
	}
	d.Rename = func(from, to string) error {
		if err := did("rename " + short(to)); err != nil {
			return err
		}
		return os.Rename(from, to)
	}
	return d, steps
}

func TestTheOrderOfAWrite(t *testing.T) {
	root := t.TempDir()
	d, steps := recorded(root, "")
	if err := d.MakeFolder(filepath.Join(root, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteJSON(filepath.Join(root, "a", "b"), "x.json", map[string]int{"n": 1}); err != nil {
		t.Fatal(err)
	}
	want := []string{"sync ", "sync a", "sync a/b/x.json.new", "rename a/b/x.json", "sync a/b"}
	if !slices.Equal(*steps, want) {
		t.Errorf("%q, want %q", *steps, want)
	}
	*steps = nil
	if err := d.MakeFolder(filepath.Join(root, "a", "b")); err != nil || len(*steps) > 0 {
		t.Errorf("a folder that is there: %v, %q", err, *steps)
	}
	var got map[string]int
	if err := ReadJSON(filepath.Join(root, "a", "b"), "x.json", &got); err != nil || got["n"] != 1 {
		t.Errorf("%v %v", got, err)
	}
	if err := ReadJSON(root, "none.json", &got); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("%v", err)
	}
}

func TestAFileIsWholeOrAsItWas(t *testing.T) {
	for _, fails := range []string{"sync x.new", "rename x"} {
		root := t.TempDir()
		if err := (Disk{}).Write(root, "x", []byte("before")); err != nil {
			t.Fatal(err)
		}
		d, _ := recorded(root, fails)
		if err := d.Write(root, "x", []byte("after it")); err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("%s: %v", fails, err)
		}
		if raw, _ := os.ReadFile(filepath.Join(root, "x")); string(raw) != "before" {
			t.Errorf("%s: %q", fails, raw)
		}
	}
}

// Room that was kept is written over, and what is too much of it goes.
func TestKeptRoomIsUsed(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "x"+New), []byte(strings.Repeat(" ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Disk{}).Write(root, "x", []byte("short")); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(filepath.Join(root, "x")); string(raw) != "short" {
		t.Errorf("%q", raw)
	}
	if _, err := os.Lstat(filepath.Join(root, "x"+New)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it is there still")
	}
}
