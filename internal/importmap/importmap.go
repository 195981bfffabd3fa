// Package importmap holds which room may import which. It is a test's subject and nothing runs it.
//
// It owns the one table of allowed edges, the same as the picture in docs/ARCHITECTURE.md. A room is
// a folder below internal with all that is inside it; packages of one room import each other freely.
package importmap

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// room says what one room may import of ours.
type room struct {
	nouns bool     // internal/assay
	rooms []string // other rooms
	all   bool     // everything: wiring; only wiring and tools import it
	tool  bool     // nobody imports it
	fakes bool     // it may use what exists for tests: packages named ...test
}

// rooms is the map. What is not in it may not be imported, and a room that it does not know is a
// finding too: a new room is a decision (docs/adr).
func rooms() map[string]room {
	return map[string]room{
		"cmd":  {all: true, tool: true},
		"node": {all: true}, // puts the parts of one process together

		"web": {nouns: true, rooms: []string{"api"}},
		"api": {nouns: true, rooms: []string{"engine", "report", "store", "filter", "logs"}},

		"grading": {nouns: true, rooms: []string{"sampling", "judge", "session", "store", "filter", "engine", "limit"}},
		"ingest":  {nouns: true, rooms: []string{"session", "store"}},
		"judge":   {nouns: true, rooms: []string{"session", "process", "limit", "definition"}},
		"harness": {nouns: true, rooms: []string{"process", "logs", "durable", "store", "engine", "definition"}},
		"clock":   {nouns: true, rooms: []string{"engine", "store"}}, // starts runs by the clock
		"engine":  {nouns: true, rooms: []string{"store"}},
		"report":  {nouns: true, rooms: []string{"stats", "store"}},

		"store":   {nouns: true},
		"session": {nouns: true},
		"filter":  {nouns: true},
		"demo":    {nouns: true},

		"definition": {nouns: true}, // reads definitions in YAML, with the place of what is wrong
		"assay":      {},

		"stats":    {},
		"sampling": {},
		"process":  {},
		"logs":     {rooms: []string{"durable"}},
		"durable":  {},
		"limit":    {},

		"price":     {nouns: true},
		"telemetry": {nouns: true, rooms: []string{"judge", "limit"}}, // grading and the API get it by interfaces

		"bench":       {all: true, tool: true, fakes: true},
		"docstest":    {all: true, tool: true, fakes: true},
		"e2e":         {all: true, tool: true, fakes: true},
		"importmap":   {tool: true},
		"simulate":    {rooms: []string{"stats"}, tool: true},
		"testsummary": {tool: true},
	}
}

// check reads the imports of every Go file in tree that is not a test and returns one sentence for
// each that the map does not allow.
func check(tree fs.FS, module string) ([]string, error) {
	var findings []string
	known := rooms()
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		targets, err := imports(tree, file, module)
		for _, target := range targets {
			if why := refuse(known, path.Dir(file), target); why != "" {
				findings = append(findings, fmt.Sprintf("%s imports %s: %s", file, target, why))
			}
		}
		return err
	})
	slices.Sort(findings)
	return findings, err
}

// imports lists what a file imports of ours, without the module's name.
func imports(tree fs.FS, file, module string) (out []string, err error) {
	source, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range parsed.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if target, ours := strings.CutPrefix(target, module+"/"); ours {
			out = append(out, target)
		}
	}
	return out, nil
}

// refuse says why the package from may not import the package to, or "".
func refuse(known map[string]room, from, to string) string {
	a, b := roomOf(from), roomOf(to)
	rule, ok := known[a]
	_, target := known[b]
	switch {
	case !ok:
		return fmt.Sprintf("the map does not know the room %q", a)
	case !target:
		return fmt.Sprintf("the map does not know the room %q", b)
	case strings.HasSuffix(to, "test") && !strings.HasSuffix(from, "test") && !rule.fakes:
		return "it exists for tests only"
	case known[b].tool && a != b:
		return "nobody imports commands and tools"
	case known[b].all && !rule.all:
		return "only wiring imports wiring"
	case a == b, rule.all, b == "assay" && rule.nouns, slices.Contains(rule.rooms, b):
		return ""
	}
	return fmt.Sprintf("%s may import %s", a, list(rule))
}

// roomOf is the folder below internal, or cmd.
func roomOf(pkg string) string {
	rest, _ := strings.CutPrefix(pkg, "internal/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func list(r room) string {
	names := slices.Clone(r.rooms)
	if r.nouns {
		names = append(names, "assay")
	}
	if len(names) == 0 {
		return "nothing of ours"
	}
	return "only " + strings.Join(names, ", ")
}
