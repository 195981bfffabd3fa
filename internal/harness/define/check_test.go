package define

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/assay"
)

func TestCheckFindsWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"bin", "evals"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "bin/harness"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(dir, "evals/run"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(dir, "evals/notes"), "x", 0o644)
	vars := lookupIn(map[string]string{"PATH": filepath.Join(dir, "bin")})
	for name, c := range map[string]struct{ suite, says, hint string }{
		"in the passed PATH":   {"command: [harness]\nenv: {pass: [PATH]}", "", ""},
		"in a PATH of its own": {"command: [harness]\nenv: {set: {PATH: '" + filepath.Join(dir, "bin") + "'}}", "", ""},
		"in a fallback PATH":   {"command: [harness]\nenv: {pass: [{name: PATH, from: NONE, fallback: '" + filepath.Join(dir, "bin") + "'}]}", "", ""},
		"relative to dir":      {"command: [./run]\ndir: evals", "", ""},
		"absolute":             {"command: ['" + filepath.Join(dir, "evals/run") + "']", "", ""},
		"not there":            {"command: [no-such-harness]\nenv: {pass: [PATH]}", "find no-such-harness: it is in no folder of PATH (" + filepath.Join(dir, "bin") + ")", "install it"},
		"not in its own PATH":  {"command: [harness]\nenv: {set: {PATH: /nowhere}}", "it is in no folder of PATH (/nowhere)", "which PATH"},
		"PATH is unset":        {"command: [harness]\nenv: {pass: [{name: PATH, from: NONE}]}", "the environment has no PATH", "which PATH"},
		"relative to no dir":   {"command: [./run]", "no such file", "begin in `dir`"},
		"a line for a shell":   {"command: ['python3 evals/run']\ndir: evals", "cannot be run", "write `command: [python3, evals/run]`"},
		"no program":           {"command: [./notes]\ndir: evals", "may not be executed", ""},
		"a folder":             {"command: [./evals]", "is a folder", ""},
		"no folder":            {"command: [./run]\ndir: none", "the folder of the suite cannot be used", "folder of the file"},
		"a file as folder":     {"command: [./run]\ndir: evals/run", "is not a folder", ""},
		"below a file":         {"command: [./run]\ndir: evals/run/x", "not a directory", ""},
	} {
		err := Check(inFolder(t, dir, c.suite), vars)
		var e *assay.Error
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.As(err, &e) || e.Code != assay.CodeInvalid || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Hint, c.hint) || e.Hint == "" {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
}

// A definition may come from a store that another version wrote.
func TestCheckReadsPatternsAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "run"), "#!/bin/sh\n", 0o755)
	good := inFolder(t, dir, "command: [./run]")
	for name, change := range map[string]func(*assay.SuiteDefinition){
		"parameter": func(d *assay.SuiteDefinition) {
			d.Params = []assay.SuiteParam{{Name: "p", Type: "string", Flag: "-p", Pattern: "("}}
		},
		"type":       func(d *assay.SuiteDefinition) { d.Params = []assay.SuiteParam{{Name: "p", Type: "date", Flag: "-p"}} },
		"experiment": func(d *assay.SuiteDefinition) { d.Experiment = &assay.LinkRule{Pattern: "[a"} },
		"command":    func(d *assay.SuiteDefinition) { d.Command = nil },
	} {
		d := good
		change(&d)
		if err := Check(d, nil); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Check(good, nil); err != nil {
		t.Error(err)
	}
}
