// Package builtin holds the judges that can be used by name without being applied, each with a small
// labelled set: sessions of our own making and their right answers.
//
// It owns their definitions and their sets. It refuses to know anything that the YAML of a judge cannot
// say. Its invariants: a built-in is an ordinary definition, with a version like any other, and a judge
// that a project applied under the same name goes before it; every right answer of a set is one that
// the judge can give.
package builtin

import (
	"embed"
	"errors"
	"io/fs"
	"strings"

	"assay/internal/assay"
	"assay/internal/judge/kinds"
)

//go:embed *.yaml
var definitions embed.FS

// Names lists the built-ins.
func Names() []string {
	files, err := fs.Glob(definitions, "*.yaml")
	if err != nil {
		return nil // the pattern is constant
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f, ".yaml")
	}
	return names
}

// Source is the YAML of a built-in, to read or to begin one's own from.
func Source(name string) ([]byte, error) {
	text, err := definitions.ReadFile(name + ".yaml")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, assay.Errorf(assay.CodeNotFound, "there is no built-in judge %q", name).WithHint("the built-in judges are %s", strings.Join(Names(), ", "))
	}
	return text, err
}

// Get is a built-in as this process's environment makes it; CodeNotFound when there is none.
func Get(name string, env kinds.Env) (assay.Judge, assay.JudgeVersion, error) {
	text, err := Source(name)
	if err != nil {
		return assay.Judge{}, assay.JudgeVersion{}, err
	}
	return kinds.Parse(text, env)
}
