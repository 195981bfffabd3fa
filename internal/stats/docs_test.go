package stats

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// docs/NUMBERS.md has a paragraph for each method and a line for each reason, and names the exported functions.
func TestNumbersAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/NUMBERS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, methods, _ := strings.Cut(string(page), "\n## Methods\n")
	methods, reasons, _ := strings.Cut(methods, "\n## Why there is no number\n")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			value, _ := spec.Values[0].(*ast.BasicLit)
			if kind == nil || value == nil || value.Value == `""` {
				return true
			}
			code, _ := strconv.Unquote(value.Value)
			count[kind.Name]++
			if kind.Name == "Method" && !strings.Contains(methods, "\n- `"+code+"`: ") {
				t.Errorf("method %s has no paragraph", code)
			}
			if kind.Name == "Absence" && !strings.Contains(reasons, "`"+code+"`") {
				t.Errorf("reason %s has no line", code)
			}
			return true
		})
	}
	if count["Method"] < 10 || count["Absence"] < 20 {
		t.Errorf("only %v were looked at", count)
	}
}
