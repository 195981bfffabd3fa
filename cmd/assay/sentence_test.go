package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var advised = regexp.MustCompile("[`\"]assay ([a-z][^`\"\n]*)[`\"]")

// A person who is told to call a command can call it: every one that stands in a string of the program
// exists, with its flags.
func TestCommandsInSentencesExist(t *testing.T) {
	var g grammar
	k, err := newParser(&g, io.Discard, io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, root := range []string{"../../internal", "."} {
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Error(file, err)
					}
					for _, m := range advised.FindAllStringSubmatch(text, -1) {
						found++
						if wrong := wrongIn(k.Model.Node, m[1]); wrong != "" {
							t.Errorf("%s says `assay %s`: there is no %s", file, m[1], wrong)
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 80 {
		t.Errorf("only %d commands were found", found)
	}
}

// wrongIn is the first word or flag of a command that does not exist, or "".
func wrongIn(at *kong.Node, command string) string {
	for i, word := range strings.Fields(command) {
		if word == "--" { // what follows is another command
			return ""
		}
		if flag, is := strings.CutPrefix(word, "--"); is {
			if at.DefaultCmd != nil { // flags without a command are its own
				at = at.DefaultCmd
			}
			if !slices.ContainsFunc(slices.Concat(at.AllFlags(false)...), func(f *kong.Flag) bool { return f.Name == flag }) {
				return word
			}
			continue
		}
		if j := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == word }); j >= 0 {
			at = at.Children[j]
			continue
		}
		if i == 0 || len(at.Children) > 0 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
			return word
		}
	}
	return ""
}
