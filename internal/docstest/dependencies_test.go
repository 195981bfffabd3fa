package docstest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var required = regexp.MustCompile(`(?m)^\s*(?:require )?([a-z0-9.-]+\.[a-z]+/?\S*) v\S+`)

// Every module that the code imports has a line in docs/DEPENDENCIES.md, and no line is about a
// module that nobody imports.
func TestEveryDependencyIsExplained(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var modules []string
	for _, m := range required.FindAllStringSubmatch(read("go.mod"), -1) {
		modules = append(modules, m[1])
	}
	imported := map[string]string{} // module: one file that imports it
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".go" || strings.Contains(file, "testdata") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if m := moduleOf(modules, target); m != "" {
				imported[m] = file
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(read("docs/DEPENDENCIES.md")) {
		cells := strings.Split(line, "|")
		if len(cells) == 6 && strings.Contains(cells[1], ".") {
			lines[strings.TrimSpace(cells[1])] = true
		}
	}
	for m, file := range imported {
		if !lines[m] {
			t.Errorf("docs/DEPENDENCIES.md has no line for %s, which %s imports", m, file)
		}
	}
	for m := range lines {
		if imported[m] == "" {
			t.Errorf("docs/DEPENDENCIES.md explains %s, which nothing imports", m)
		}
	}
}

// moduleOf is the longest module whose path begins that of a package.
func moduleOf(modules []string, pkg string) (longest string) {
	for _, m := range modules {
		if (pkg == m || strings.HasPrefix(pkg, m+"/")) && len(m) > len(longest) {
			longest = m
		}
	}
	return longest
}
