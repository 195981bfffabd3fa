// Package shimtest tidies up after tests that run harnesses with the real program: a harness outlives
// whoever started it, also a test that failed.
package shimtest

import (
	"path/filepath"
	"testing"
	"time"

	"assay/internal/harness/shim"
)

const limit = 5 * time.Second

// EndAll ends every harness of the runs in a data folder with its shim.
func EndAll(t testing.TB, data string) {
	dirs, err := filepath.Glob(filepath.Join(data, "runs", "*", "a*"))
	if err != nil {
		t.Error(err)
	}
	for _, dir := range dirs {
		if s, err := shim.Look(dir); err != nil || s == shim.Finished || s == shim.Unlaunched {
			continue
		}
		_, _ = shim.Kill(dir, limit) // it may have ended by itself just now
		if left, err := shim.Sweep(dir, limit); err != nil || len(left) > 0 {
			t.Logf("harness in %s: %v are left, %v", dir, left, err)
		}
	}
}
