package define

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/assay"
)

// small is what the mistakes below are made in. Its lines are counted from 1.
const small = `suites:
  smoke:
    command: [python3, -m, evals]
    dir: evals
    params:
      limit: {type: int, default: 10, min: 1, max: 500, flag: --limit}
      model:
        type: string
        flag: --model
        pattern: '[a-z]+'
    env:
      pass: [PATH]
      set: {A: 1}
      secrets: {KEY: {env: LLM_KEY}}
    success: {exit_codes: [0]}
    experiment: {pattern: 'https://\S+', match: last}
    results:
      - {format: junit, path: out/*.xml}
    on_lost: lost
schedules:
  night:
    cron: 0 3 * * *
    zone: UTC
    suite:
      name: smoke
      params: {limit: 5}
`

// beyond marks what a schema cannot say; everything else it refuses too.
var mistakes = map[string]struct {
	from, to, says, hint string
	beyond               bool
}{
	"shell string":           {from: "[python3, -m, evals]", to: "python3 -m evals", says: "line 3: command must be a list, not a single value", hint: "no shell is used: write `command: [python3, -m, evals]`"},
	"shell string, piped":    {from: "[python3, -m, evals]", to: "python3 -m evals | tee log", says: "line 3: command must be a list", hint: "no shell is used: write a list"},
	"command of mappings":    {from: "[python3, -m, evals]", to: "[{a: b}]", says: "line 3: an entry of command must be a text, not a mapping"},
	"empty entry":            {from: "[python3, -m, evals]", to: "[python3, null]", says: "line 3: an entry of command is empty", hint: `""`},
	"no command":             {from: "    command: [python3, -m, evals]\n", to: "", says: `line 2: the suite "smoke" has no command`, hint: "one entry each"},
	"empty command":          {from: "[python3, -m, evals]", to: "[]", says: `line 3: the suite "smoke" has no command`},
	"unknown field":          {from: "dir: evals", to: "dirr: evals", says: `line 4: field "dirr" of a suite is not known (did you mean "dir"?)`, hint: "the fields are command, description, dir, env,"},
	"unknown section":        {from: "schedules:", to: "schedule:", says: `line 20: field "schedule" of the file is not known (did you mean "schedules"?)`, hint: "`schedules:`"},
	"misplaced":              {from: "dir: evals", to: "timeout: 5m", says: `line 4: field "timeout" of a suite is not known`, hint: "time_limit"},
	"shell":                  {from: "dir: evals", to: "shell: true", says: `line 4: field "shell"`, hint: "without a shell"},
	"field twice":            {from: "dir: evals", to: "dir: evals\n    dir: x", says: `line 5: field "dir" of a suite is given twice`},
	"suite twice":            {from: "schedules:\n", to: "  smoke: {command: [./x]}\nschedules:\n", says: `line 20: field "smoke" of suites is given twice`},
	"bad name":               {from: "  smoke:\n", to: "  Smoke Test:\n", says: `line 2: "Smoke Test" is not a valid name of a suite`, hint: "a-z"},
	"a list":                 {from: "  smoke:\n", to: "  - smoke:\n", says: "line 2: suites must be a mapping, not a list"},
	"unknown parameter type": {from: "type: int", to: "type: integer", says: `line 6: type "integer" of the parameter "limit" is not known (did you mean "int"?)`, hint: "string, int, number or bool"},
	"no type":                {from: "        type: string\n", to: "", says: `line 7: the parameter "model" has no type`},
	"unknown in parameter":   {from: "flag: --model", to: "flags: --model", says: `line 9: field "flags" of a parameter is not known (did you mean "flag"?)`},
	"choices":                {from: "pattern: '[a-z]+'", to: "choices: [a]", says: `line 10: field "choices"`, hint: "`values`"},
	"parameter name":         {from: "      model:\n", to: "      -model:\n", says: `line 7: "-model" is not a valid name of a parameter`},
	"reaches nothing":        {from: "        flag: --model\n", to: "", says: `line 7: the parameter "model" reaches nothing`, hint: "--model"},
	"bad pattern":            {from: "'[a-z]+'", to: "'[a-z'", says: "line 10: pattern: missing closing ]", hint: "RE2", beyond: true},
	"look-around":            {from: "'[a-z]+'", to: "'(?=a)'", says: "line 10: pattern: invalid or unsupported Perl syntax", beyond: true},
	"unbalanced pattern":     {from: "'[a-z]+'", to: "'a)|(b'", says: "line 10: pattern: ", beyond: true},
	"bad experiment":         {from: `'https://\S+'`, to: "'('", says: "line 16: pattern: missing closing )", beyond: true},
	"no experiment":          {from: `pattern: 'https://\S+', `, to: "", says: "line 16: the experiment has no pattern"},
	"match":                  {from: "match: last", to: "match: lasst", says: `line 16: match "lasst" is not known (did you mean "last"?)`},
	"min above max":          {from: "min: 1, max: 500", to: "min: 501, max: 500", says: `line 6: the parameter "limit" has min above max`, beyond: true},
	"default below min":      {from: "default: 10", to: "default: 0", says: `line 6: the default of the parameter "limit" is 0, below its least value 1`, beyond: true},
	"default above max":      {from: "default: 10", to: "default: 501", says: `line 6: the default of the parameter "limit" is 501, above its greatest value 500`, beyond: true},
	"default's type":         {from: "default: 10", to: "default: ten", says: `line 6: the default of the parameter "limit" must be a whole number, not "ten"`, beyond: true},
	"default and pattern":    {from: "type: string", to: "type: string\n        default: GPT", says: `line 9: the default of the parameter "model" does not match its pattern [a-z]+`, beyond: true},
	"empty default":          {from: "type: string", to: "type: string\n        default: ''", says: `line 9: the default of the parameter "model" is empty`, hint: "left out", beyond: true},
	"a list as default":      {from: "default: 10", to: "default: [10]", says: "line 6: default must be a text, not a list"},
	"required and default":   {from: "default: 10", to: "default: 10, required: true", says: `line 6: the parameter "limit" is required and has a default`},
	"pattern of an int":      {from: "default: 10", to: "pattern: x", says: `line 6: the parameter "limit" is of the type int, and pattern is for string`},
	"min of a string":        {from: "pattern: '[a-z]+'", to: "min: 1", says: `line 10: the parameter "model" is of the type string, and min is for int and number`},
	"flag_false of a string": {from: "pattern: '[a-z]+'", to: "flag_false: --x", says: `line 10: the parameter "model" is of the type string, and flag_false is for bool`},
	"bool with =":            {from: "type: int, default: 10, min: 1, max: 500, flag: --limit", to: "type: bool, flag: --limit=", says: `line 6: flag of the parameter "limit" ends in =`, hint: "flag_false"},
	"two words as flag":      {from: "flag: --model", to: "flag: --model x", says: `line 9: flag of the parameter "model" is not an option`, hint: "--limit="},
	"end of options":         {from: "flag: --model", to: "flag: --", says: `line 9: flag of the parameter "model" is not an option`},
	"positional":             {from: "flag: --model", to: "flag: model", says: `line 9: flag of the parameter "model" is not an option`},
	"duplicate flag":         {from: "flag: --model", to: "flag: --limit=", says: `line 9: the flag --limit is that of the parameter "limit" already`, beyond: true},
	"its own flag twice":     {from: "flag: --model", to: "flag: --m\n      b: {type: bool, flag: -b, flag_false: -b}\n      c:\n        type: string\n        flag: -c", says: `line 10: the flag -b is that of the parameter "b" already`, beyond: true},
	"no values":              {from: "pattern: '[a-z]+'", to: "values: []", says: `line 10: values of the parameter "model" is empty`},
	"value twice":            {from: "pattern: '[a-z]+'", to: "values: [a, b, a]", says: `line 10: values of the parameter "model" holds "a" twice`},
	"max_length":             {from: "pattern: '[a-z]+'", to: "max_length: 0", says: "line 10: max_length is out of range"},
	"reserved in set":        {from: "set: {A: 1}", to: "set: {ASSAY_DATA: 1}", says: "line 13: the variable ASSAY_DATA is reserved", hint: "Assay's own"},
	"reserved in pass":       {from: "[PATH]", to: "[PATH, ASSAY_TOKEN]", says: "line 12: the variable ASSAY_TOKEN is reserved"},
	"reserved in secrets":    {from: "{KEY: {env", to: "{ASSAY_X: {env", says: "line 14: the variable ASSAY_X is reserved"},
	"reserved in params":     {from: "flag: --model", to: "env: ASSAY_REPORT_FD", says: "line 9: the variable ASSAY_REPORT_FD is reserved"},
	"parameter chooses PATH": {from: "flag: --model", to: "env: LD_PRELOAD", says: `line 9: the parameter "model" would choose which program is run`},
	"variable twice":         {from: "flag: --model", to: "env: A", says: "line 13: the variable A is set twice: by the parameter model on line 9 and by set", beyond: true},
	"no PATH":                {from: "      pass: [PATH]\n", to: "", says: `line 3: the program "python3" is looked for in PATH, and the harness's environment has none`, hint: "`env: {pass: [PATH]}`", beyond: true},
	"value in pass":          {from: "[PATH]", to: "[PATH, 'TOKEN=sk-live-1']", says: "line 12: pass does not hold the name of a variable"},
	"from":                   {from: "[PATH]", to: "[PATH, {name: B, from: 'x y'}]", says: "line 12: from does not hold the name of a variable"},
	"no value":               {from: "set: {A: 1}", to: "set: {A: }", says: `line 13: the variable "A" of set has no value`},
	"secret in the file":     {from: "{env: LLM_KEY}", to: "sk-live-1", says: `line 14: the secret "KEY" must be a mapping, not a single value`, hint: "{env: NAME}"},
	"secret as env":          {from: "{env: LLM_KEY}", to: "{env: sk-live-1}", says: `line 14: env of the secret "KEY" does not hold the name of a variable`},
	"secret as value":        {from: "{env: LLM_KEY}", to: "{value: sk-live-1}", says: `line 14: field "value" of a secret is not known`, hint: "never stands"},
	"secret twice":           {from: "{env: LLM_KEY}", to: "{env: A, file: b}", says: `line 14: the secret "KEY" names 2 places`},
	"secret nowhere":         {from: "{env: LLM_KEY}", to: "{}", says: `line 14: the secret "KEY" names 0 places`},
	"secret's shell":         {from: "{env: LLM_KEY}", to: "{command: pass show x}", says: "line 14: command must be a list", hint: "no shell"},
	"inherit":                {from: "set: {A: 1}", to: "inherit: true", says: `line 13: field "inherit" of env`, hint: "`pass`"},
	"exit code":              {from: "exit_codes: [0]", to: "exit_codes: [256]", says: "line 15: the exit code 256 is out of range"},
	"no exit codes":          {from: "exit_codes: [0]", to: "exit_codes: []", says: "line 15: exit_codes is empty"},
	"one exit code":          {from: "exit_codes: [0]", to: "exit_codes: 0", says: "line 15: exit_codes must be a list"},
	"rate in percent":        {from: "exit_codes: [0]", to: "min_pass_rate: 95", says: "line 15: min_pass_rate is out of range", hint: "0.95"},
	"below 0":                {from: "exit_codes: [0]", to: "max_failed: -1", says: "line 15: max_failed is below 0"},
	"results of success":     {from: "exit_codes: [0]", to: "results: require", says: `line 15: results "require" of success is not known (did you mean "required"?)`},
	"counts, no results":     {from: "exit_codes: [0]}\n    experiment: {pattern: 'https://\\S+', match: last}\n    results:\n      - {format: junit, path: out/*.xml}\n", to: "max_failed: 0}\n", says: "line 15: success counts cases, and the suite names no result file", hint: "results:", beyond: true},
	"result format":          {from: "format: junit", to: "format: juni", says: `line 18: format "juni" of a result file is not known (did you mean "junit"?)`, hint: "promptfoo, inspect, junit, assay"},
	"no path":                {from: ", path: out/*.xml", to: "", says: "line 18: the result file has no path"},
	"absolute path":          {from: "path: out/*.xml", to: "path: /out/x.xml", says: "line 18: the path of a result file must be relative"},
	"path pattern":           {from: "path: out/*.xml", to: "path: 'out/[a'", says: `line 18: path "out/[a" cannot be matched`, beyond: true},
	"on_lost":                {from: "on_lost: lost", to: "on_lost: retry", says: `line 19: on_lost "retry" is not known`, hint: "{retry: 2}"},
	"no retries":             {from: "on_lost: lost", to: "on_lost: {retry: 0}", says: "line 19: retry of on_lost must be 1 to 100"},
	"idle alarm":             {from: "on_lost: lost", to: "idle_alarm: 10", says: "line 19: idle_alarm must be a duration above 0", hint: "90s"},
	"no grace":               {from: "on_lost: lost", to: "grace: never", says: "line 19: grace must be a duration above 0"},
	"log size":               {from: "on_lost: lost", to: "log: {keep: much}", says: "line 19: keep must be a size", hint: "256MiB"},
	"log too small":          {from: "on_lost: lost", to: "log: {keep: 1kB}", says: "line 19: keep is out of range", beyond: true},
	"capability":             {from: "on_lost: lost", to: "needs: [A100]", says: `line 19: "A100" is not a valid name of a capability`},
	"no cron":                {from: "    cron: 0 3 * * *\n", to: "", says: `line 21: the schedule "night" has no cron expression`},
	"bad cron":               {from: "cron: 0 3 * * *", to: "cron: 99 3 * * *", says: "line 22: the minute is 99", hint: "0 to 59", beyond: true},
	"zone":                   {from: "zone: UTC", to: "zone: Mars/Base", says: `line 23: zone "Mars/Base" is not known`, hint: "IANA", beyond: true},
	"zone of a machine":      {from: "zone: UTC", to: "zone: localtime", says: `line 23: zone "localtime" is not known`, beyond: true},
	"zone of the machine":    {from: "zone: UTC", to: "zone: Local", says: `line 23: zone "Local" is not known`, beyond: true},
	"catch_up":               {from: "zone: UTC", to: "catch_up: all", says: `line 23: catch_up "all" is not known`, hint: "one or none"},
	"overlap":                {from: "zone: UTC", to: "overlap: que", says: `line 23: overlap "que" is not known (did you mean "queue"?)`},
	"nothing to start":       {from: "    suite:\n      name: smoke\n      params: {limit: 5}\n", to: "", says: `line 21: the schedule "night" must start one thing`},
	"two things":             {from: "    suite:", to: "    grade: {judges: [x]}\n    suite:", says: `must start one thing`},
	"suite as text":          {from: "    suite:\n      name: smoke\n      params: {limit: 5}\n", to: "    suite: smoke\n", says: "line 24: suite must be a mapping", hint: "{name: smoke}"},
	"scheduled parameter":    {from: "{limit: 5}", to: "{limt: 5}", says: `line 26: parameter "limt" is not known (did you mean "limit"?)`, hint: "limit, model", beyond: true},
	"scheduled bound":        {from: "{limit: 5}", to: "{limit: 0}", says: `line 26: parameter "limit" is 0, below its least value 1`, beyond: true},
	"scheduled number":       {from: "{limit: 5}", to: "{model: 5}", says: `line 26: parameter "model" must be a text, not 5`, beyond: true},
	"no judge":               {from: "    suite:\n      name: smoke\n      params: {limit: 5}\n", to: "    grade: {per_stratum: 5}\n", says: "line 24: grade names no judge"},
	"grade of one session":   {from: "    suite:\n      name: smoke\n      params: {limit: 5}\n", to: "    grade: {judges: [x], session: a/b}\n", says: `line 24: field "session" of grade is not known`},
	"budget":                 {from: "    suite:\n      name: smoke\n      params: {limit: 5}\n", to: "    grade: {judges: [x], budget_usd: 0}\n", says: "line 24: budget_usd is out of range"},
	"per_stratum":            {from: "    suite:\n      name: smoke\n      params: {limit: 5}\n", to: "    grade: {judges: [x], per_stratum: 0}\n", says: "line 24: per_stratum is out of range"},
	"a day as from":          {from: "    suite:\n      name: smoke\n      params: {limit: 5}\n", to: "    grade: {judges: [x], from: yesterday}\n", says: "line 24: from must be a time", beyond: true},
	"anchor":                 {from: "dir: evals", to: "dir: &a evals", says: "line 4: anchors and aliases are not supported", beyond: true},
	"two documents":          {from: "schedules:", to: "---\nschedules:", says: "more than one document", beyond: true},
	"no YAML":                {from: "dir: evals", to: "dir: [evals", says: "line 4: ", hint: "valid YAML"},
	"no YAML's line":         {from: "[python3, -m, evals]", to: "[python3: x: y]", says: "line 3: ", hint: "colon"},
	"a tab":                  {from: "    dir: evals", to: "\tdir: evals", says: "line 4: found character that cannot start any token", hint: "not tabs"},
	"merge":                  {from: "dir: evals", to: "<<: {dir: evals}", says: "line 4: merge keys (<<) are not supported", hint: "write the members out", beyond: true},
	"octal":                  {from: "exit_codes: [0]", to: "exit_codes: [012]", says: "line 15: an exit code must be a whole number", hint: "zeros in front", beyond: true},
	"octal bound":            {from: "min: 1, max", to: "min: 01, max", says: "line 6: min must be a finite number", beyond: true},
	"underscores":            {from: "max: 500", to: "max: 5_00", says: "line 6: max must be a finite number", beyond: true},
	"null in pass":           {from: "[PATH]", to: "[PATH, null]", says: "line 12: an entry of pass is empty"},
	"null in values":         {from: "pattern: '[a-z]+'", to: "values: [a, null]", says: "line 10: an entry of values is empty"},
	"home":                   {from: "dir: evals", to: "dir: ~/evals", says: "line 4: ~ at the beginning of dir", hint: "whole path", beyond: true},
	"home of a secret":       {from: "{env: LLM_KEY}", to: "{file: ~/key}", says: "line 14: ~ at the beginning of file", beyond: true},
	"home of the program":    {from: "[python3,", to: "[~/bin/python3,", says: "line 3: ~ at the beginning of command", beyond: true},
	"home of results":        {from: "path: out/*.xml", to: "path: ~/*.xml", says: "line 18: ~ at the beginning of path", beyond: true},
	"NUL":                    {from: "dir: evals", to: `dir: "a\0b"`, says: "line 4: dir holds a NUL", beyond: true},
}

func TestMistakesAreNamedWithTheirLine(t *testing.T) {
	valid := func(d assay.ScheduleDef) error { // as the room of clocks does it
		if strings.HasPrefix(d.Cron, "99 ") {
			return assay.Errorf(assay.CodeInvalid, "the minute is 99").WithHint("use 0 to 59")
		}
		return nil
	}
	parse(t, small)
	schemaTakes(t, small, true)
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			text := replaced(t, small, m.from, m.to)
			_, _, err := Parse([]byte(text), "/repo/assay.yaml", valid)
			var e *assay.Error
			if !errors.As(err, &e) || e.Code != assay.CodeInvalid || !strings.Contains(e.Message, m.says) || e.Hint == "" || !strings.Contains(e.Hint, m.hint) {
				t.Fatalf("%v (%+v)\n%s", err, e, text)
			}
			if strings.Contains(e.Message+e.Hint, "sk-live") {
				t.Errorf("a secret is shown: %+v", e)
			}
			schemaTakes(t, text, m.beyond)
		})
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "only a comment": "# x", "null": "null", "a list": "[]", "a text": "x", "no suite": "suites: {}", "nothing under it": "suites:\n",
		"deep": strings.Repeat("[", 200) + strings.Repeat("]", 200), "long": strings.Repeat("#", 2<<20),
	} {
		_, _, err := Parse([]byte(text), "assay.yaml", nil)
		var e *assay.Error
		if !errors.As(err, &e) || e.Code != assay.CodeInvalid || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{wholeYAML, small, "", "suites: {a: {command: [./x]}}", "suites: {a: &a {b: *a}}", "? suites\n: a:\n    command: [./x]", "suites:\n a:\n  command: [./x]\n...\n",
		"suites: !!map {a: {command: [!!binary eA==]}}", "suites:\n  <<: {a: {command: [./x]}}", "schedules: {a: {cron: '* * * * *', grade: {judges: [a], budget_usd: .5}}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		suites, schedules, err := Parse([]byte(text), "/repo/assay.yaml", nil)
		if err != nil {
			var e *assay.Error
			if !errors.As(err, &e) || e.Code != assay.CodeInvalid || e.Message == "" || e.Hint == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		again, _, err := Parse([]byte(text), "/repo/assay.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range suites {
			if again[i].Version != s.Version || s.Source == "" {
				t.Fatalf("read twice: %s and %s, source %q", s.Version, again[i].Version, s.Source)
			}
			defaults, err := Resolve(s.Def, nil, assay.ParamGiven)
			if err != nil && !strings.Contains(err.Error(), "is required") {
				t.Fatalf("the defaults do not fit their parameters: %v", err)
			}
			if argv := Argv(s.Def, defaults); len(argv) < len(s.Def.Command) || argv[0] == "" {
				t.Fatalf("%q", argv)
			}
		}
		for _, s := range schedules {
			if (s.Def.Suite == nil) == (s.Def.Grade == nil) || s.Source == "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}
