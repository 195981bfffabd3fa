package define

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody runs f in a thread that may read only what everybody may. The thread ends with it.
func asNobody(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		unix.SetfsuidRetUid(65534) // without root it changes nothing, and nothing is needed
		f()
	}()
	<-done
}

func TestAFolderThatMayNotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"listed only": 0o444, "entered only": 0o111, "neither": 0} {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "run"), "#!/bin/sh\n", 0o755)
		def := inFolder(t, folder, "command: [./run]")
		if err := Check(def, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
		asNobody(func() {
			if err := Check(def, nil); err == nil || !strings.Contains(err.Error(), "the folder of the suite cannot be used") || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s: %v", name, err)
			}
		})
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
