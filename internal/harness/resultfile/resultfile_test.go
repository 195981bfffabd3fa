package resultfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/internal/assay"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What was written is found by every pattern that means it, and stands once. The folder's own name may look
// like a pattern.
func TestWrittenFilesAreFoundOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a]*")
	write(t, filepath.Join(dir, "out/old.xml"), "before")
	write(t, filepath.Join(dir, "out/changed.xml"), "before")
	var want []assay.ResultFile
	for _, path := range []string{"out/*.xml", "./out/new.xml", filepath.Join(strings.NewReplacer("[", `\[`, "*", `\*`).Replace(dir), "out") + "/../out/new.xml", "out/old.xml", "folder", "[", "none"} {
		want = append(want, assay.ResultFile{Format: assay.ResultJUnit, Path: path})
	}
	before := Note(dir, want)
	write(t, filepath.Join(dir, "out/changed.xml"), "after it")
	write(t, filepath.Join(dir, "out/new.xml"), "")
	write(t, filepath.Join(dir, "folder/x"), "")
	var got []string
	for _, f := range Written(dir, want, before) {
		text := fmt.Sprint(f.None)
		for _, file := range f.Files {
			text += " " + filepath.Base(file.Path)
		}
		got = append(got, text)
	}
	for i, says := range []string{"<nil> changed.xml new.xml", "<nil>", "<nil>", "newer than its start", "folder is a folder", "syntax error", "newer than its start"} {
		if !strings.Contains(got[i], says) || says == "<nil>" && got[i] != says {
			t.Errorf("%s: %q, want %q", want[i].Path, got[i], says)
		}
	}
}

func TestNobodyWaitsForAFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (File{path, info}).Open(); err == nil || err.Error() != "pipe is not a regular file" {
		t.Errorf("%v", err)
	}
}
