package docstest

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// pages are README.md and everything below docs.
func pages(t *testing.T) map[string]page {
	t.Helper()
	out := map[string]page{}
	read := func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.ToSlash(name)] = parse(string(text))
	}
	read(filepath.Join(root, "README.md"))
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(file) == ".md" {
			read(file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLinksLeadSomewhere(t *testing.T) {
	for name, p := range pages(t) {
		for _, target := range p.links {
			target, _, _ = strings.Cut(target, "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, path.Join(path.Dir(name), target))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
			}
		}
	}
}

// ours is a path of this project in a text: it begins with a folder that the project has.
var ours = regexp.MustCompile(`(?:^|[\s"'(])((?:internal|docs|cmd|\.ci)/[A-Za-z0-9_./-]*[A-Za-z0-9_])`)

func TestPathsExist(t *testing.T) {
	for name, p := range pages(t) {
		texts := append([]string{}, p.code...)
		for _, b := range p.blocks {
			texts = append(texts, b.lines...)
		}
		for _, text := range texts {
			for _, m := range ours.FindAllStringSubmatch(text, -1) {
				if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
					t.Errorf("%s names %s, which does not exist", name, m[1])
				}
			}
		}
	}
}

var (
	target     = regexp.MustCompile(`^([a-z][a-z-]*):`)
	makeCalled = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
)

func TestMakeTargetsExist(t *testing.T) {
	file, err := os.Open(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	targets := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if m := target.FindStringSubmatch(lines.Text()); m != nil {
			targets[m[1]] = true
		}
	}
	for name, p := range pages(t) {
		texts := append([]string{}, p.code...)
		for _, b := range p.blocks {
			texts = append(texts, b.lines...)
		}
		for _, text := range texts {
			for _, m := range makeCalled.FindAllStringSubmatch(text, -1) {
				if !targets[m[1]] {
					t.Errorf("%s says make %s, which the Makefile does not have", name, m[1])
				}
			}
		}
	}
}
