package define

import (
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
)

// What a suite has that does not say otherwise.
const (
	defaultIdleAlarm   = 10 * time.Minute
	defaultGrace       = 10 * time.Second
	defaultOrphanGrace = 15 * time.Minute
	defaultLogBytes    = 256 << 20
	leastLogBytes      = 1 << 20
	maxLogBytes        = 1 << 40
	maxRetries         = 100
)

var elsewhereInSuite = map[string]string{
	"shell":       "commands are run without a shell: give `command` as a list",
	"args":        "`command` is the whole command line, as a list",
	"argv":        "the command line is `command`, a list",
	"cmd":         "the command line is `command`, a list",
	"run":         "the command line is `command`, a list",
	"cwd":         "the folder is `dir`",
	"workdir":     "the folder is `dir`",
	"timeout":     "it is called `time_limit`",
	"environment": "it is called `env`: what the harness gets of the environment",
	"secrets":     "secrets stand under `env`",
	"parameters":  "they are called `params`",
	"cron":        "a clock stands under `schedules:`, beside `suites:`",
	"schedule":    "a clock stands under `schedules:`, beside `suites:`",
	"name":        "the name stands before the colon, under `suites:`",
	"retries":     "write `on_lost: {retry: 2}`: only a lost run is started again",
	"retry":       "write `on_lost: {retry: 2}`: only a lost run is started again",
	"exit_codes":  "it stands under `success`",
	"concurrency": "one run of a suite is active at a time; how much a harness does at once is its own parameter",
	"version":     "a version is the hash of the suite; it is computed",
}

func (f *reader) suite(key, n *yaml.Node) (assay.SuiteDefinition, error) {
	d := assay.SuiteDefinition{
		Dir: f.folder, IdleAlarm: assay.Seconds(defaultIdleAlarm), Grace: assay.Seconds(defaultGrace),
		OrphanGrace: assay.Seconds(defaultOrphanGrace), LogBytes: defaultLogBytes,
	}
	p, v := places{}, variables{}
	var s success
	err := definition.Mapping(n, "a suite", p.of(definition.Fields{
		"description":  definition.Text(&d.Description, "description"),
		"command":      words(&d.Command, "command"),
		"dir":          f.dir(&d.Dir),
		"params":       func(n *yaml.Node) error { return f.params(&d, &v, n) },
		"env":          func(n *yaml.Node) error { return f.env(&d.Env, &v, n) },
		"time_limit":   orNever(&d.TimeLimit, "time_limit"),
		"idle_alarm":   orNever(&d.IdleAlarm, "idle_alarm"),
		"grace":        seconds(&d.Grace, "grace"),
		"orphan_grace": seconds(&d.OrphanGrace, "orphan_grace"),
		"success":      s.read,
		"experiment":   func(n *yaml.Node) error { d.Experiment = &assay.LinkRule{}; return experiment(d.Experiment, n) },
		"results":      func(n *yaml.Node) error { return results(&d.Results, n) },
		"needs":        needs(&d.Needs),
		"on_lost":      onLost(&d.LostRetries),
		"log": func(n *yaml.Node) error {
			return definition.Mapping(n, "log", definition.Fields{"keep": size(&d.LogBytes, "keep")}, nil)
		},
	}), elsewhereInSuite)
	if err != nil {
		return d, err
	}
	if len(d.Command) == 0 || d.Command[0] == "" {
		return d, definition.At(p.at(key, "command"), "the suite %q has no command", key.Value).WithHint("write `command: [python3, -m, evals]`: the program and its arguments, one entry each")
	}
	if err := noTilde(p["command"], "command", d.Command[0]); err != nil {
		return d, err
	}
	if d.Success, err = s.rule(p.at(key, "success"), len(d.Results) > 0); err != nil {
		return d, err
	}
	if err := v.check(); err != nil {
		return d, err
	}
	if !strings.Contains(d.Command[0], "/") && !v.has("PATH") {
		return d, definition.At(p["command"], "the program %.60q is looked for in PATH, and the harness's environment has none", d.Command[0]).
			WithHint("write `env: {pass: [PATH]}`: nothing is inherited that is not listed")
	}
	return d, nil
}

// words reads an argv. A text is refused: who writes one expects a shell to take it apart.
func words(to *[]string, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		hint := "no shell is used: write a list, one entry for each argument, for instance [python3, -m, evals]"
		if split := strings.Fields(n.Value); n.Kind == yaml.ScalarNode && len(split) > 0 && plainWords.MatchString(n.Value) {
			hint = "no shell is used: write `" + name + ": [" + strings.Join(split, ", ") + "]`"
		}
		return definition.Each(n, name, hint, func(n *yaml.Node) error {
			if n.Tag == "!!null" {
				return definition.At(n, "an entry of %s is empty", name).WithHint("drop it, or write \"\" where the program wants an empty argument")
			}
			var word string
			err := definition.Text(&word, "an entry of "+name)(n)
			*to = append(*to, word)
			return err
		})
	}
}

var plainWords = regexp.MustCompile(`^[A-Za-z0-9_./ =-]{1,200}$`)

func (f *reader) dir(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var path string
		if err := definition.Text(&path, "dir")(n); err != nil {
			return err
		}
		absolute, err := f.absolute(n, "dir", path)
		*to = absolute
		return err
	}
}

func seconds(to *assay.Seconds, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var d time.Duration
		err := definition.Duration(&d, name)(n)
		if err == nil {
			*to = assay.Seconds(d)
		}
		return err
	}
}

func orNever(to *assay.Seconds, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode && n.Value == "never" {
			*to = 0
			return nil
		}
		return seconds(to, name)(n)
	}
}

func needs(to *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return definition.Each(n, "needs", "names of capabilities that the machine must have, for instance [gpu]", func(n *yaml.Node) error {
			var name string
			if err := definition.Text(&name, "an entry of needs")(n); err != nil {
				return err
			}
			*to = append(*to, name)
			return checkName(n, "capability")
		})
	}
}

func onLost(to *int) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode {
			if n.Value != "lost" {
				return definition.At(n, "on_lost %.40q is not known%s", n.Value, definition.Nearest(n.Value, []string{"lost"})).WithHint("use `lost`, or `{retry: 2}` to start a lost run again")
			}
			*to = 0
			return nil
		}
		var times *int64
		if err := definition.Mapping(n, "on_lost", definition.Fields{"retry": definition.Int(&times, "retry")}, nil); err != nil {
			return err
		}
		if times == nil || *times < 1 || *times > maxRetries {
			return definition.At(n, "retry of on_lost must be 1 to %d", maxRetries).WithHint("drop on_lost to leave a lost run lost")
		}
		*to = int(*times)
		return nil
	}
}

func size(to *int64, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		bytes, err := humanize.ParseBytes(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || bytes > math.MaxInt64 {
			return definition.At(n, "%s must be a size", name).WithHint("with its unit, for instance 256MiB")
		}
		if bytes < leastLogBytes || bytes > maxLogBytes {
			return definition.At(n, "%s is out of range", name).WithHint("use 1MiB to 1TiB")
		}
		*to = int64(bytes)
		return nil
	}
}
