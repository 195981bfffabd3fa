package main

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Every command says what it is for and shows at least one call of itself.
func TestEveryCommandHasAnExample(t *testing.T) {
	var g grammar
	parser, err := newParser(&g, io.Discard, io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	leaves := parser.Model.Leaves(false)
	if len(leaves) < 25 {
		t.Fatalf("only %d commands", len(leaves))
	}
	for _, leaf := range leaves {
		path := leaf.FullPath()
		if leaf.Help == "" || !strings.HasSuffix(leaf.Help, ".") {
			t.Errorf("%s: help %q is not a sentence", path, leaf.Help)
		}
		// The default command may be called without its own name.
		if !strings.Contains(leaf.Detail, "Example:\n\n    ") || !strings.Contains(leaf.Detail, strings.TrimSuffix(path, " list")) {
			t.Errorf("%s: no example of itself in %q", path, leaf.Detail)
		}
		everyFlagIsExplained(t, path, leaf)
	}
}

func everyFlagIsExplained(t *testing.T, path string, leaf *kong.Node) {
	t.Helper()
	for _, group := range leaf.AllFlags(true) {
		for _, f := range group {
			if f.Help == "" {
				t.Errorf("%s --%s is not explained", path, f.Name)
			}
		}
	}
}
