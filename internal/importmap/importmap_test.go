package importmap

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheMapHolds(t *testing.T) {
	findings, err := check(os.DirFS("../.."), "assay")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// A test of the map that nothing can fail would hold nothing.
func TestBrokenEdgesAreFound(t *testing.T) {
	tree := fstest.MapFS{}
	for file, imports := range map[string][]string{
		"cmd/assay/main.go":                    {"internal/judge", "internal/node", "internal/store/sqlite"},
		"internal/engine/engine.go":            {"internal/assay", "internal/engine/local", "internal/judge", "internal/node", "internal/store/storetest"},
		"internal/bench/llm.go":                {"internal/judge/llm/llmtest"},
		"internal/store/storetest/put.go":      {"internal/store"},
		"internal/store/sqlite/sqlite_test.go": {"internal/grading", "internal/store/storetest"},
		"internal/lost/lost.go":                {"internal/assay"},
		"internal/stats/stats.go":              {"internal/assay", "cmd/assay", "internal/bench"},
		"internal/stats/testdata/x.go":         {"internal/assay"},
	} {
		source := "package x\n\nimport _ \"math\"\n"
		for _, i := range imports {
			source += "import _ \"assay/" + i + "\"\n"
		}
		tree[file] = &fstest.MapFile{Data: []byte(source)}
	}
	got, err := check(tree, "assay")
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
		"internal/stats/stats.go imports internal/bench: nobody imports commands and tools",
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
