// Package define knows what a suite is before it runs: it reads assay.yaml, checks the parameters of a
// start, and makes of both the command line and the environment of a harness.
//
// It owns the form of assay.yaml (docs/formats/assay-yaml.md) and the version of a suite. It refuses to
// know how a harness is run, watched or stopped, and when a schedule is due. Its invariant: what a
// starter gives reaches a harness as one argument or one variable of the definition's own choosing, and
// no text that it gives is ever read by a shell; and no secret's value is in a definition, an error or
// what is shown.
package define

import (
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
)

var form = definition.Form{
	Begin: "begin with `suites:` and the name of one under it",
	Files: "keep all suites of a project in one document",
}

var elsewhereInFile = map[string]string{
	"suite":    "write `suites:`, and the name of each suite under it",
	"schedule": "write `schedules:`, and the name of each schedule under it",
	"judges":   "a judge has a file of its own: `assay judge apply FILE`",
	"version":  "a version is the hash of a suite; it is computed",
}

// Parse reads assay.yaml: its suites and its schedules, in the order of the file. Relative paths begin
// in the file's folder. valid checks what another room knows of a schedule, its cron expression above
// all; nil checks nothing more. An error is CodeInvalid, begins with the line ("line 7: ...") and has
// the hint what to do. Source of each is a file of its own that holds it alone.
func Parse(source []byte, file string, valid func(assay.ScheduleDef) error) ([]assay.Suite, []assay.Schedule, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, nil, assay.Errorf(assay.CodeInternal, "find the folder of %s: %w", file, err)
	}
	root, err := definition.Load(source, form)
	if err != nil {
		return nil, nil, err
	}
	f := &reader{text: newText(source, root), folder: folder, valid: valid, found: map[string]assay.SuiteDefinition{}}
	err = definition.Mapping(root, "the file", definition.Fields{
		"suites":    func(n *yaml.Node) error { return f.suites(sectionKey(root, n), n) },
		"schedules": func(n *yaml.Node) error { f.waiting = n; return nil }, // they may stand before what they start
	}, elsewhereInFile)
	if err == nil && f.waiting != nil {
		err = f.schedules(sectionKey(root, f.waiting), f.waiting)
	}
	if err == nil && len(f.suiteList)+len(f.scheduleList) == 0 {
		err = definition.At(root, "the file holds neither suites nor schedules").WithHint("%s", form.Begin)
	}
	if err != nil {
		return nil, nil, err
	}
	return f.suiteList, f.scheduleList, nil
}

// reader is a file on its way from YAML.
type reader struct {
	text         text
	folder       string
	valid        func(assay.ScheduleDef) error
	waiting      *yaml.Node
	found        map[string]assay.SuiteDefinition
	suiteList    []assay.Suite
	scheduleList []assay.Schedule
}

// absolute is a path of the file as it will be used.
func (f *reader) absolute(n *yaml.Node, name, path string) (string, error) {
	if err := noTilde(n, name, path); err != nil {
		return "", err
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(f.folder, path), nil
}

// noTilde refuses what only a shell would take for somebody's home.
func noTilde(n *yaml.Node, name, path string) error {
	if path == "~" || strings.HasPrefix(path, "~") && strings.Contains(path, "/") {
		return definition.At(n, "~ at the beginning of %s means nothing without a shell", name).WithHint("write the whole path, or one that begins in the folder of this file; ./~ is a file of that name")
	}
	return nil
}

// sectionKey is the key of a section of the file.
func sectionKey(root, section *yaml.Node) *yaml.Node {
	return root.Content[slices.Index(root.Content, section)-1]
}

func (f *reader) suites(section, n *yaml.Node) error {
	return definition.Named(n, "suites", func(name string, key, value *yaml.Node) error {
		if err := checkName(key, "suite"); err != nil {
			return err
		}
		def, err := f.suite(key, value)
		if err != nil {
			return err
		}
		version, err := Version(def)
		if err != nil {
			return definition.Within(key, err)
		}
		f.found[name] = def
		f.suiteList = append(f.suiteList, assay.Suite{Name: name, Version: version, Def: def, Source: f.text.part(section, key, value)})
		return nil
	})
}

// places remembers where the members of a mapping stand.
type places map[string]*yaml.Node

func (p places) of(f definition.Fields) definition.Fields {
	for name, set := range f {
		f[name] = func(n *yaml.Node) error { p[name] = n; return set(n) }
	}
	return f
}

// at is the place of the first of names that was given, else of other.
func (p places) at(other *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		if p[name] != nil {
			return p[name]
		}
	}
	return other
}
