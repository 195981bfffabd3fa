package define

import (
	"errors"
	"os"
	"strings"

	"assay/internal/assay"
	"assay/internal/process"
)

// Check says whether a run of def could begin here and now: its patterns can be read, its folder is
// there, and its program is found in the PATH that the harness would have. lookup reads the environment
// of this process. What the program itself needs, and secrets, show when it is started.
func Check(def assay.SuiteDefinition, lookup func(string) (string, bool)) error {
	for _, p := range def.Params {
		if err := checkParam(p); err != nil {
			return err
		}
	}
	if def.Experiment != nil {
		if err := checkExperiment(*def.Experiment); err != nil {
			return err
		}
	}
	if err := checkFolder(def.Dir); err != nil {
		return bad("dir", "the folder of the suite cannot be used: %w", err).WithHint("`dir` is %s; relative ones begin in the folder of the file that defines it", def.Dir)
	}
	if len(def.Command) == 0 {
		return bad("command", "the suite has no command").WithHint("write `command: [python3, -m, evals]`")
	}
	env, _ := plainEnv(def, nil, lookup) // PATH is never a parameter
	if _, err := process.Find(def.Command[0], def.Dir, env); err != nil {
		if words := strings.Fields(def.Command[0]); len(words) > 1 && plainWords.MatchString(def.Command[0]) {
			return bad("command", "the program of the suite cannot be run: %w", err).
				WithHint("no shell takes a command apart: write `command: [%s]`, one entry for each argument", strings.Join(append(words, def.Command[1:]...), ", "))
		}
		return bad("command", "the program of the suite cannot be run: %w", err).
			WithHint("install it, name it with its path (relative ones begin in `dir`), or see which PATH `env` gives to the harness")
	}
	return nil
}

// checkFolder opens the folder as a harness will: it must be listed and entered.
func checkFolder(path string) error {
	if info, err := os.Stat(path); err != nil {
		return err
	} else if !info.IsDir() {
		return errors.New(path + " is not a folder")
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	dir.Close()
	_, err = os.Stat(path + string(os.PathSeparator) + ".")
	return err
}
