package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A process that died after the rows of a deleted project went leaves the folders to the next one that owns.
func TestTheNextOwnerRemovesWhatADeletedProjectLeft(t *testing.T) {
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	if err := os.MkdirAll(filepath.Join(runs, "r7", "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(runs, "left-2.json"), []byte(`["r7"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _ := config(dir, "serve", true)
	connected(t, cfg)
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(5 * time.Millisecond) {
		left, err := os.ReadDir(runs)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left after 10 s: %v", left)
		}
	}
}
