package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketPath(t *testing.T) {
	t.Setenv("TMPDIR", shortDir(t))
	short := filepath.Join(shortDir(t), "data")
	long := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	for _, c := range []struct {
		name, dir, database string
		inDir               bool
	}{
		{"a short folder holds its socket", short, "", true},
		{"a long one does not", long, "", false},
		{"a database has no folder", short, "postgres://u:secret@h/d", false},
	} {
		path, err := SocketPath(c.dir, c.database)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := filepath.Dir(path) == c.dir; got != c.inDir || len(path) > maxSocketPath {
			t.Errorf("%s: %s (%d bytes)", c.name, path, len(path))
		}
	}
	a, _ := SocketPath(short, "postgres://u:secret@h/d")
	b, _ := SocketPath(long, "postgres://u:changed@h/d")
	other, _ := SocketPath(short, "postgres://u:secret@h/e")
	if a != b || a == other {
		t.Errorf("a database is known by its address without the password: %s, %s, %s", a, b, other)
	}
}

func TestSocketFolderOfSomebodyElseIsRefused(t *testing.T) {
	t.Setenv("TMPDIR", shortDir(t))
	path, err := SocketPath("", "postgres://h/d")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := SocketPath("", "postgres://h/d"); err == nil {
		t.Error("a folder that others may enter is used")
	}
}

func TestSocketOfADeadOwnerIsReplacedAndOneOfALaterOwnerIsLeft(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	first, err := listenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := listenSocket(path) // first is as good as dead
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	first.unlink()
	first.Close()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the later owner's socket is gone: %v", err)
	}
	second.unlink()
	second.Close()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("socket file stays: %v", err)
	}
}

// shortDir is a folder whose name leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "node-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
