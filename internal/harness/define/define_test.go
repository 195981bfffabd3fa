package define

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

// wholeYAML uses every member once.
const wholeYAML = `# suites of the team
suites:
  # the smoke test
  smoke:
    description: promptfoo on the small set
    command: [npx, promptfoo, eval, -o, out/results.json]
    dir: evals
    params:
      model:
        type: string
        default: gpt-4.1
        flag: --model
        values: [gpt-4.1, gpt-4.1-mini]
        description: which model is asked
      limit: {type: int, default: 10, min: 1, max: 500, flag: --limit=}
      temperature: {type: number, flag: -t, min: 0, max: 2}
      cache: {type: bool, flag: --cache, flag_false: --no-cache}
      note: {type: string, env: NOTE, pattern: '[a-z ]*', max_length: 20}
      dataset: {type: string, required: true, flag: --data}
    env:
      pass:
        - PATH
        - {name: OPENAI_BASE_URL, from: LLM_URL, fallback: https://api.openai.com/v1}
      set:
        PROMPTFOO_DISABLE_TELEMETRY: 1
      secrets:
        OPENAI_API_KEY: {env: LLM_KEY}
        DB_PASSWORD: {file: secrets/db}
        VAULT: {command: [pass, show, vault]}
    time_limit: 1h
    idle_alarm: 5m
    grace: 20s
    orphan_grace: 30m
    success:
      exit_codes: [100, 0]
      max_failed: 3
      max_errored: 0
      min_pass_rate: 0.9
      results: required
    experiment:
      pattern: 'https://\S+/experiments/\S+'
      match: first
    results:
      - {format: promptfoo, path: out/results.json}
    needs: [gpu]
    on_lost: {retry: 2}
    log: {keep: 64MiB}

  # the big one

  nightly:
    command: [./run.sh]
schedules:
  every-night:
    description: while nobody waits
    cron: 0 3 * * 1-5
    zone: Europe/Berlin
    catch_up: none
    overlap: queue
    suite:
      name: smoke
      params: {limit: 100, dataset: big, cache: true, temperature: 0.5}
  regrade:
    cron: '0 0 * * *'
    grade: {judges: [helpful], per_stratum: 50, budget_usd: 2.50, filter: arm == 'b', seed: 7, from: 2025-03-01T00:00:00Z}
`

func parse(t testing.TB, text string) ([]assay.Suite, []assay.Schedule) {
	t.Helper()
	suites, schedules, err := Parse([]byte(text), "/repo/assay.yaml", nil)
	if err != nil {
		var e *assay.Error
		errors.As(err, &e)
		t.Fatalf("%v (%s)\n%s", err, e.Hint, text)
	}
	return suites, schedules
}

func replaced(t testing.TB, text, from, to string) string {
	t.Helper()
	out := strings.Replace(text, from, to, 1)
	if out == text {
		t.Fatalf("%q is not in the definition", from)
	}
	return out
}

func pointer[T any](v T) *T { return &v }

func TestAWholeFile(t *testing.T) {
	suites, schedules := parse(t, wholeYAML)
	if len(suites) != 2 || suites[0].Name != "smoke" || suites[1].Name != "nightly" || len(schedules) != 2 {
		t.Fatalf("%+v %+v", suites, schedules)
	}
	want := assay.SuiteDefinition{
		Description: "promptfoo on the small set",
		Command:     []string{"npx", "promptfoo", "eval", "-o", "out/results.json"},
		Dir:         "/repo/evals",
		Params: []assay.SuiteParam{
			{Name: "model", Type: "string", Default: json.RawMessage(`"gpt-4.1"`), Flag: "--model", Values: []string{"gpt-4.1", "gpt-4.1-mini"}, Description: "which model is asked"},
			{Name: "limit", Type: "int", Default: json.RawMessage(`10`), Flag: "--limit=", Min: pointer(1.0), Max: pointer(500.0)},
			{Name: "temperature", Type: "number", Flag: "-t", Min: pointer(0.0), Max: pointer(2.0)},
			{Name: "cache", Type: "bool", Flag: "--cache", FlagFalse: "--no-cache"},
			{Name: "note", Type: "string", Env: "NOTE", Pattern: "[a-z ]*", MaxLength: 20},
			{Name: "dataset", Type: "string", Required: true, Flag: "--data"},
		},
		Env: assay.SuiteEnv{
			Pass: []assay.PassEnv{{Name: "PATH"}, {Name: "OPENAI_BASE_URL", From: "LLM_URL", Fallback: pointer("https://api.openai.com/v1")}},
			Set:  map[string]string{"PROMPTFOO_DISABLE_TELEMETRY": "1"},
			Secrets: []assay.SecretEnv{
				{Name: "OPENAI_API_KEY", Env: "LLM_KEY"}, {Name: "DB_PASSWORD", File: "/repo/secrets/db"}, {Name: "VAULT", Command: []string{"pass", "show", "vault"}},
			},
		},
		TimeLimit: assay.Seconds(time.Hour), IdleAlarm: assay.Seconds(5 * time.Minute), Grace: assay.Seconds(20 * time.Second), OrphanGrace: assay.Seconds(30 * time.Minute),
		Success:     assay.SuccessRule{ExitCodes: []int{0, 100}, NeedResults: true, MaxFailed: pointer[int64](3), MaxErrored: pointer[int64](0), MinPassRate: pointer(0.9)},
		Experiment:  &assay.LinkRule{Pattern: `https://\S+/experiments/\S+`, First: true},
		Results:     []assay.ResultFile{{Format: assay.ResultPromptfoo, Path: "out/results.json"}},
		Needs:       []string{"gpu"},
		LostRetries: 2,
		LogBytes:    64 << 20,
	}
	if !reflect.DeepEqual(suites[0].Def, want) {
		got, _ := json.MarshalIndent(suites[0].Def, "", " ")
		t.Errorf("%s", got)
	}
	night, regrade := schedules[0], schedules[1]
	if night.Name != "every-night" || night.Def.Cron != "0 3 * * 1-5" || night.Def.Zone != "Europe/Berlin" || night.Def.CatchUp != "none" || night.Def.Overlap != "queue" ||
		night.Def.Suite.Name != "smoke" || string(night.Def.Suite.Params["limit"]) != "100" || string(night.Def.Suite.Params["dataset"]) != `"big"` || night.Def.Grade != nil {
		t.Errorf("%+v", night)
	}
	const body = `{"judges":["helpful"],"from":"2025-03-01T00:00:00Z","filter":"arm == 'b'","per_stratum":50,"seed":"7","budget_usd":2.50}`
	if string(regrade.Def.Grade) != body || regrade.Def.Suite != nil {
		t.Errorf("%s", regrade.Def.Grade)
	}
}

func TestDefaults(t *testing.T) {
	suites, schedules := parse(t, "suites: {a: {command: [./x]}}\nschedules: {b: {cron: '* * * * *', suite: {name: a}}}")
	want := assay.SuiteDefinition{
		Command: []string{"./x"}, Dir: "/repo", IdleAlarm: assay.Seconds(10 * time.Minute), Grace: assay.Seconds(10 * time.Second),
		OrphanGrace: assay.Seconds(15 * time.Minute), Success: assay.SuccessRule{ExitCodes: []int{0}}, LogBytes: 256 << 20,
	}
	if !reflect.DeepEqual(suites[0].Def, want) {
		t.Errorf("%+v", suites[0].Def)
	}
	if d := schedules[0].Def; d.Zone != "UTC" || d.CatchUp != assay.CatchUpOne || d.Overlap != assay.OverlapSkip {
		t.Errorf("%+v", d)
	}
	suites, _ = parse(t, "suites: {a: {command: [./x], idle_alarm: never, time_limit: never, dir: /else/where}}")
	if d := suites[0].Def; d.IdleAlarm != 0 || d.TimeLimit != 0 || d.Dir != "/else/where" {
		t.Errorf("%+v", d)
	}
}

func TestRelativePathsBeginInTheFilesFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	suites, _, err := Parse([]byte("suites: {a: {command: [./x], dir: sub/../here}}"), "deep/assay.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := filepath.EvalSymlinks(dir); suites[0].Def.Dir != filepath.Join(want, "deep/here") && suites[0].Def.Dir != filepath.Join(dir, "deep/here") {
		t.Error(suites[0].Def.Dir)
	}
}

func TestSchedulesMayStandBeforeTheirSuites(t *testing.T) {
	const text = "schedules: {b: {cron: '* * * * *', suite: {name: a, params: {n: 11}}}}\nsuites: {a: {command: [./x], params: {n: {type: int, flag: -n, max: 11}}}}"
	parse(t, text)
	if _, _, err := Parse([]byte(replaced(t, text, "n: 11", "n: 12")), "assay.yaml", nil); err == nil || !strings.Contains(err.Error(), "line 1: parameter \"n\" is 12") {
		t.Error(err)
	}
}

// A rule over counts would hold for nothing if no result could be read.
func TestCountsNeedResults(t *testing.T) {
	for rule, want := range map[string]bool{"max_failed: 0": true, "min_pass_rate: 1": true, "max_failed: 0, results: optional": false, "exit_codes: [0]": false, "results: required": true} {
		suites, _ := parse(t, "suites: {a: {command: [./x], results: [{format: junit, path: x.xml}], success: {"+rule+"}}}")
		if suites[0].Def.Success.NeedResults != want {
			t.Errorf("%s: %v", rule, !want)
		}
	}
}

func TestSourceIsAFileOfItsOwn(t *testing.T) {
	suites, schedules := parse(t, wholeYAML)
	if want := "suites:\n  # the smoke test\n  smoke:\n    description"; !strings.HasPrefix(suites[0].Source, want) {
		t.Errorf("%s", suites[0].Source)
	}
	if want := "suites:\n  nightly:\n    command: [./run.sh]\n"; suites[1].Source != want {
		t.Errorf("%q", suites[1].Source)
	}
	if strings.Contains(suites[0].Source, "nightly") || !strings.HasSuffix(schedules[0].Source, "temperature: 0.5}\n") {
		t.Errorf("%s\n%s", suites[0].Source, schedules[0].Source)
	}
	for _, text := range []string{wholeYAML, strings.ReplaceAll(wholeYAML, "\n", "\r\n"), "\ufeff" + wholeYAML,
		"suites: {a: {command: [./x]}, b: {command: [./y], env: {set: {A: ': #x'}}}}", "{suites: {a: {command:\n [./x]}}}", "? suites\n: a:\n    command: [./x]\n  b: {command: [./y]}\n"} {
		suites, schedules := parse(t, text)
		for _, s := range suites {
			alone, none := parse(t, s.Source)
			if len(alone) != 1 || len(none) != 0 || alone[0].Name != s.Name || !reflect.DeepEqual(alone[0].Def, s.Def) || alone[0].Version != s.Version {
				t.Errorf("%q is not that of %s", s.Source, s.Name)
			}
		}
		for _, s := range schedules {
			none, alone := parse(t, s.Source)
			if len(none) != 0 || len(alone) != 1 || !reflect.DeepEqual(alone[0].Def, s.Def) {
				t.Errorf("%q is not that of %s", s.Source, s.Name)
			}
		}
	}
	// Another suite of the file changes nothing of this one.
	other, _ := parse(t, replaced(t, wholeYAML, "[./run.sh]", "[./run2.sh]"))
	if other[0].Source != suites[0].Source || other[0].Version != suites[0].Version || other[1].Source == suites[1].Source || other[1].Version == suites[1].Version {
		t.Error("a change of one suite is a change of the other")
	}
}

func TestWhatChangesTheVersionAndWhatDoesNot(t *testing.T) {
	before, _ := parse(t, wholeYAML)
	for name, c := range map[string]struct {
		from, to string
		same     bool
	}{
		"name":               {"  smoke:\n", "  smoke2:\n", true},
		"description":        {"on the small set", "on the set", true},
		"param description":  {"which model is asked", "the model", true},
		"time limit":         {"time_limit: 1h", "time_limit: 2h", true},
		"idle alarm":         {"idle_alarm: 5m", "idle_alarm: never", true},
		"grace":              {"\n    grace: 20s", "\n    grace: 21s", true},
		"orphan grace":       {"orphan_grace: 30m", "orphan_grace: 31m", true},
		"experiment":         {"match: first", "match: last", true},
		"needs":              {"[gpu]", "[big]", true},
		"on lost":            {"{retry: 2}", "lost", true},
		"log":                {"64MiB", "65MiB", true},
		"layout":             {"[npx, promptfoo, eval", "['npx',   promptfoo, eval", true},
		"comment":            {"    dir: evals", "    # here\n    dir: ./evals", true},
		"default spelled":    {"default: 10,", "default: 1e1,", true},
		"order of codes":     {"[100, 0]", "[0, 100, 0]", true},
		"command":            {"eval, -o", "eval, -x, -o", false},
		"dir":                {"dir: evals", "dir: evals2", false},
		"default":            {"default: 10,", "default: 11,", false},
		"bound":              {"max: 500", "max: 501", false},
		"flag":               {"--limit=", "--limit", false},
		"flag of false":      {"--no-cache", "--nocache", false},
		"type":               {"{type: int, default", "{type: number, default", false},
		"required":           {"required: true", "required: false", false},
		"values":             {"[gpt-4.1, gpt-4.1-mini]", "[gpt-4.1]", false},
		"pattern":            {"[a-z ]*", "[a-z]*", false},
		"passed":             {"        - PATH\n", "        - PATH\n        - HOME\n", false},
		"renamed":            {"from: LLM_URL", "from: LLM_URL2", false},
		"fallback":           {"openai.com/v1", "openai.com/v2", false},
		"set":                {"TELEMETRY: 1", "TELEMETRY: 2", false},
		"secret's place":     {"{env: LLM_KEY}", "{env: LLM_KEY2}", false},
		"secret's command":   {"show, vault", "show, vault2", false},
		"exit codes":         {"[100, 0]", "[0]", false},
		"max failed":         {"max_failed: 3", "max_failed: 4", false},
		"pass rate":          {"0.9", "0.91", false},
		"results needed":     {"results: required", "results: optional", false},
		"result file":        {"path: out/results.json}", "path: out/r.json}", false},
		"result format":      {"{format: promptfoo,", "{format: assay,", false},
		"order of params":    {"      cache: {type: bool, flag: --cache, flag_false: --no-cache}\n      note: {type: string, env: NOTE, pattern: '[a-z ]*', max_length: 20}\n", "      note: {type: string, env: NOTE, pattern: '[a-z ]*', max_length: 20}\n      cache: {type: bool, flag: --cache, flag_false: --no-cache}\n", false},
		"order of pass":      {"        - PATH\n        - {name: OPENAI_BASE_URL, from: LLM_URL, fallback: https://api.openai.com/v1}\n", "        - {name: OPENAI_BASE_URL, from: LLM_URL, fallback: https://api.openai.com/v1}\n        - PATH\n", true},
		"order of secrets":   {"        DB_PASSWORD: {file: secrets/db}\n        VAULT: {command: [pass, show, vault]}\n", "        VAULT: {command: [pass, show, vault]}\n        DB_PASSWORD: {file: secrets/db}\n", true},
		"schedules":          {"0 3 * * 1-5", "0 4 * * 1-5", true},
		"another suite only": {"[./run.sh]", "[./run2.sh]", true},
	} {
		text := replaced(t, wholeYAML, c.from, c.to)
		if name == "name" {
			text = replaced(t, text, "name: smoke", "name: smoke2")
		}
		after, _ := parse(t, text)
		if same := after[0].Version == before[0].Version; same != c.same {
			t.Errorf("%s: the version is the same: %v", name, same)
		}
	}
	if len(before[0].Version) != 64 {
		t.Error(before[0].Version)
	}
}

// The examples of the reference are read as they stand there.
func TestTheReference(t *testing.T) {
	text, err := os.ReadFile("../../../docs/formats/assay-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "\n```")
		if strings.HasPrefix(block, "suites:") || strings.HasPrefix(block, "schedules:") {
			parse(t, block)
			schemaTakes(t, block, true)
			n++
		}
	}
	if n < 5 {
		t.Errorf("%d examples", n)
	}
}
