package importmap

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestTheMapHolds(t *testing.T) {
	findings, err := check(filepath.Join("..", ".."), "assay")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// A test of the map that nothing can fail would hold nothing.
func TestBrokenEdgesAreFound(t *testing.T) {
	got, err := check(filepath.Join("testdata", "broken"), "assay")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"internal/engine/engine.go imports internal/judge: engine may import only store, assay",
		"internal/engine/engine.go imports internal/node: only wiring imports wiring",
		"internal/engine/engine.go imports internal/store/storetest: it exists for tests only",
		"internal/lost/lost.go imports internal/assay: the map does not know the room \"lost\"",
		"internal/stats/stats.go imports cmd/assay: nobody imports commands and tools",
		"internal/stats/stats.go imports internal/assay: stats may import nothing of ours",
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings:\n%q\nwant:\n%q", got, want)
	}
}
