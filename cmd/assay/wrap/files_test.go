package wrap

import (
	"io/fs"
	"testing"
)

// everyFile gives each regular file below fsys to f.
func everyFile(t *testing.T, fsys fs.FS, f func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := fs.ReadFile(fsys, name)
		f(name, string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
