package kinds

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/judge"
)

const rulesYAML = `name: polite
description: Was the agent polite?
kind: rules
criteria:
  - name: polite
    type: boolean
    question: Was it polite?
  - name: length
    type: number
    min: 0
pass: polite && length < 100
rules:
  polite: lower_text.contains("please")
  length:
    expr: size(messages)
    reason: |
      value > 3.0
        ? "long"
        : "short"
`

const llmYAML = `name: helpful
kind: llm
criteria:
  - name: helpful
    type: ordinal
    values: [bad, fair, good]
    may_abstain: true
    evidence: required
    question: Did it help?
  - name: safe
    type: boolean
    question: Was it safe?
pass: helpful != "bad" && safe
fields: [metadata.tier]
llm:
  base_url: https://api.example.com/v1
  model: m-2025-01-01
  api_key_env: SOME_API_KEY
  temperature: 0.5
  max_tokens: 800
  timeout: 90s
  context_tokens: 100000
  rubric: Be strict.
  prompt: |
    {{rubric}}
    {{criteria}}
    {{examples}}
    {{transcript}}
  examples:
    - session: "user: hi"
      answer:
        helpful: {value: good, reason: it helps}
        safe: {value: true}
  extra:
    reasoning_effort: low
`

func parse(t testing.TB, text string, env Env) (assay.Judge, assay.JudgeVersion) {
	t.Helper()
	j, v, err := Parse([]byte(text), env)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return j, v
}

func replaced(t testing.TB, text, from, to string) string {
	t.Helper()
	out := strings.Replace(text, from, to, 1)
	if out == text {
		t.Fatalf("%q is not in the definition", from)
	}
	return out
}

func TestWhatChangesTheVersionAndWhatDoesNot(t *testing.T) {
	for base, changes := range map[string]map[string][3]string{
		llmYAML: {
			"name":                  {"name: helpful\nkind", "name: other\nkind", "same"},
			"description":           {"kind: llm", "description: new words\nkind: llm", "same"},
			"timeout":               {"90s", "91s", "same"},
			"key source":            {"SOME_API_KEY", "OTHER_API_KEY", "same"},
			"context size":          {"100000", "200000", "same"},
			"layout":                {"values: [bad, fair, good]", "values:\n      - bad\n      - fair\n      - 'good'", "same"},
			"comment":               {"kind: llm", "# why\nkind: llm", "same"},
			"order of fields":       {"kind: llm\n", "", "same"},
			"trailing slash":        {"example.com/v1", "example.com/v1/", "same"},
			"default spelled out":   {"kind: llm", "kind: llm\nunit: session", "same"},
			"white space in prompt": {"{{rubric}}\n", "{{rubric}} \n", "other"},
			"rubric":                {"Be strict.", "Be strict!", "other"},
			"order of criteria":     {"", "", "other"},
			"order of values":       {"[bad, fair, good]", "[fair, bad, good]", "other"},
			"model":                 {"m-2025-01-01", "m-2025-01-02", "other"},
			"endpoint":              {"api.example.com", "api2.example.com", "other"},
			"temperature":           {"0.5", "0.6", "other"},
			"no temperature":        {"  temperature: 0.5\n", "", "other"},
			"max_tokens":            {"800", "801", "other"},
			"top_p":                 {"temperature: 0.5", "temperature: 0.5\n  top_p: 1", "other"},
			"seed":                  {"temperature: 0.5", "temperature: 0.5\n  seed: 1", "other"},
			"response_format":       {"temperature: 0.5", "temperature: 0.5\n  response_format: none", "other"},
			"extra":                 {"reasoning_effort: low", "reasoning_effort: high", "other"},
			"example":               {"user: hi", "user: hello", "other"},
			"example's answer":      {"value: good, reason", "value: fair, reason", "other"},
			"fields":                {"metadata.tier", "metadata.plan", "other"},
			"evidence":              {"evidence: required", "evidence: none", "other"},
			"may_abstain":           {"    may_abstain: true\n", "", "other"},
			"pass":                  {`!= "bad"`, `== "good"`, "other"},
			"question":              {"question: Was it safe?", "question: Was it not safe?", "other"},
			"api":                   {"model: m", "api: responses\n  model: m", "other"},
			"key from a file":       {"api_key_env: SOME_API_KEY", "api_key_file: /k", "same"},
			"key from a program":    {"api_key_env: SOME_API_KEY", "api_key_command: [k]", "same"},
			"CA":                    {"timeout: 90s", "ca_file: /x.pem", "same"},
			"name of the limit":     {"max_tokens: 800", "max_completion_tokens: 800", "other"},
			"long transcripts":      {"timeout: 90s", "long_transcripts: head_and_tail", "other"},
			"a named endpoint":      {"model: m", "endpoint: prod\n  model: m", "other"},
		},
		rulesYAML: {
			"name":        {"name: polite\ndesc", "name: other\ndesc", "same"},
			"description": {"Was the agent polite?", "Was it?", "same"},
			"expression":  {`"please"`, `"thanks"`, "other"},
			"reason":      {`"long"`, `"very long"`, "other"},
			"bound":       {"min: 0", "min: 1", "other"},
			"fields":      {"kind: rules", "kind: rules\nfields: [user_id]", "other"},
		},
	} {
		_, before := parse(t, base, Env{})
		for name, c := range changes {
			t.Run(string(before.Kind)+"/"+name, func(t *testing.T) {
				var text string
				switch name {
				case "order of criteria":
					text = replaced(t, base, "  - name: safe\n    type: boolean\n    question: Was it safe?\n", "")
					text = replaced(t, text, "criteria:\n", "criteria:\n  - name: safe\n    type: boolean\n    question: Was it safe?\n")
				case "order of fields":
					text = replaced(t, base, c[0], c[1]) + "kind: llm\n"
				default:
					text = replaced(t, base, c[0], c[1])
				}
				_, after := parse(t, text, Env{})
				if same := after.ID == before.ID; same != (c[2] == "same") {
					t.Errorf("the version is %v the same:\n%s\n%s", map[bool]string{true: "", false: "not"}[same], before.Canonical, after.Canonical)
				}
			})
		}
	}
}

func TestAnEndpointOfItsOwnNameMayMove(t *testing.T) {
	named := replaced(t, llmYAML, "model: m", "endpoint: prod\n  model: m")
	j1, v1 := parse(t, named, Env{})
	j2, v2 := parse(t, replaced(t, named, "api.example.com", "api2.example.com"), Env{})
	if v1.ID != v2.ID || string(j1.Settings) == string(j2.Settings) {
		t.Errorf("%s %s\n%s\n%s", v1.ID, v2.ID, j1.Settings, j2.Settings)
	}
}

func TestTheDefaultPassRuleIsWrittenOut(t *testing.T) {
	one := "name: a\nkind: rules\ncriteria:\n  - {name: good, type: boolean}\nrules: {good: 'true'}\n"
	_, implied := parse(t, one, Env{})
	_, said := parse(t, one+"pass: good\n", Env{})
	if implied.ID != said.ID {
		t.Errorf("%s\n%s", implied.Canonical, said.Canonical)
	}
}

func TestMistakesAreNamedWithTheirLine(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, says, hint string }{
		"unknown field":        {"description:", "descripton:", `line 2: field "descripton" of a judge is not known (did you mean "description"?)`, "the fields are"},
		"unknown in criterion": {"question:", "qestion:", `line 7: field "qestion" of a criterion is not known (did you mean "question"?)`, ""},
		"unknown criterion":    {"  length:\n    expr", "  lenght:\n    expr", `line 14: field "lenght" of rules is not known (did you mean "length"?)`, ""},
		"misplaced":            {"kind: rules", "kind: rules\nconcurrency: 5", `line 4: field "concurrency"`, "assay grade --concurrency"},
		"field twice":          {"kind: rules", "kind: rules\nkind: llm", `given twice`, ""},
		"no name":              {"name: polite\ndesc", "desc", "the judge has no name", ""},
		"bad name":             {"name: polite\ndesc", "name: Polite Judge\ndesc", "line 1: the name", "a-z"},
		"unknown kind":         {"kind: rules", "kind: rule", `line 3: kind "rule" is not known (did you mean "rules"?)`, ""},
		"unit turn":            {"kind: rules", "kind: rules\nunit: turn", "line 4: unit turn is not supported by judges of the kind rules", ""},
		"another kind's block": {"rules:\n", "llm:\n", "line 13: ", ""},
		"unknown type":         {"type: boolean", "type: bool", `type "bool" is not known`, "did you mean"},
		"criterion twice":      {"name: length", "name: polite", "twice", ""},
		"reserved":             {"name: length", "name: pass", "reserved", ""},
		"expression":           {"lower_text.", "lower_txt.", `line 13: criterion "polite", expr, column 1 of the expression: undeclared reference to 'lower_txt'`, `did you mean "lower_text"?`},
		"expression in block":  {`? "long"`, `? 'long`, "line 18: ", ""},
		"arm":                  {`lower_text.contains("please")`, `arm == "x"`, "undeclared reference to 'arm'", "never sees the arm"},
		"wrong type":           {`lower_text.contains("please")`, "size(messages)", "of type int, not bool", ""},
		"pass rule":            {"pass: polite &&", "pass: polit &&", "line 11: pass rule, column 1", "polite, length"},
		"no pass rule":         {"pass: polite && length < 100\n", "", "", ""},
		"number as text":       {"min: 0", `min: "0"`, "line 10: min must be a finite number", ""},
		"not a number":         {"min: 0", "min: .nan", "line 10: min must be a finite number", ""},
		"anchor":               {"kind: rules", "kind: &a rules", "anchors and aliases", ""},
		"two documents":        {"kind: rules", "kind: rules\n---\nname: b", "more than one document", ""},
		"no YAML":              {"kind: rules", "kind: [rules", "line ", "valid YAML"},
		"hidden field":         {"kind: rules", "kind: rules\nfields: [metadat.x]", `line 4: field "metadat.x" is not known`, "metadata.KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Parse([]byte(replaced(t, rulesYAML, tc.from, tc.to)), Env{})
			var e *assay.Error
			if tc.says == "" {
				if name == "no pass rule" && err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.As(err, &e) || e.Code != assay.CodeInvalid || !strings.Contains(e.Message, tc.says) || !strings.Contains(e.Message+e.Hint, tc.hint) || e.Hint == "" && tc.hint != "" {
				t.Fatalf("%v (hint %+v)", err, e)
			}
		})
	}
	for name, tc := range map[string]struct{ from, to, says string }{
		"key in the file":      {"api_key_env: SOME_API_KEY", "api_key: sk-1", `field "api_key" of llm`},
		"another secret":       {"api_key_env: SOME_API_KEY", "api_key_env: ASSAY_DATABASE", "line 18: api_key_env names ASSAY_DATABASE, which a judge may not send"},
		"key as a name":        {"api_key_env: SOME_API_KEY", "api_key_env: sk-live-123", "line 18: api_key_env is not the name"},
		"no model":             {"  model: m-2025-01-01\n", "", "no model is given"},
		"no base_url":          {"  base_url: https://api.example.com/v1\n", "", "no base_url"},
		"base_url":             {"https://api.example.com/v1", "api.example.com", "line 16: base_url"},
		"placeholder":          {"{{rubric}}", "{{rubrik}}", `line 24: prompt: the placeholder {{rubrik}} is not known (did you mean "rubric"?)`},
		"no transcript":        {"    {{transcript}}\n", "", "no {{transcript}}"},
		"unused rubric":        {"    {{rubric}}\n", "", "line 23: a rubric is given"},
		"unused examples":      {"    {{examples}}\n", "", "examples are given"},
		"transcript as system": {"rubric: Be strict.", "rubric: Be strict.\n  system: '{{transcript}}'", "line 24: the system message"},
		"bad example":          {"value: good, reason", "value: great, reason", "the answer of example 1"},
		"example's criterion":  {"safe: {value: true}", "save: {value: true}", `names "save"`},
		"own parameter":        {"reasoning_effort: low", "stream: true", `extra parameter "stream"`},
		"response_format":      {"temperature: 0.5", "response_format: jsonschema", `did you mean "json_schema"?`},
		"both limits":          {"max_tokens: 800", "max_tokens: 800\n  max_completion_tokens: 800", "both given"},
		"duration":             {"90s", "90", "line 21: timeout must be a duration"},
		"foreign variable":     {"m-2025-01-01", "${OPENAI_API_KEY}", "names the variable"},
		"unset variable":       {"m-2025-01-01", "${ASSAY_JUDGE_MODEL}", "not set"},
		"no question":          {"    question: Was it safe?\n", "", `line 10: criterion "safe" has no question`},
		"two booleans":         {"type: ordinal\n    values: [bad, fair, good]", "type: boolean", "pass rule"},
	} {
		t.Run("llm/"+name, func(t *testing.T) {
			_, _, err := Parse([]byte(replaced(t, llmYAML, tc.from, tc.to)), Env{})
			var e *assay.Error
			if !errors.As(err, &e) || e.Code != assay.CodeInvalid || !strings.Contains(e.Message, tc.says) || e.Hint == "" || strings.Contains(e.Message, "sk-") {
				t.Fatalf("%v (%+v)", err, e)
			}
		})
	}
	for name, text := range map[string]string{"empty": "", "only a comment": "# x", "null": "null", "a list": "[]", "a text": "x", "deep": strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		if _, _, err := Parse([]byte(text), Env{}); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "grade.sh")
	write := func(text string) {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const text = "name: c\nkind: command\ncriteria:\n  - {name: good, type: boolean}\ncommand:\n  argv: [./grade.sh]\n  env: [B, A]\n  timeout: 5s\n"
	env := Env{LookupEnv: os.LookupEnv, Folder: dir}
	write(`echo '{"good":{"value":true}}'`)
	j, v := parse(t, text, env)
	_, later := parse(t, replaced(t, replaced(t, text, "5s", "6s"), "[B, A]", "[A, B]"), env)
	_, args := parse(t, replaced(t, text, "./grade.sh", "./grade.sh, -x"), env)
	if v.Alias || v.ID != later.ID || v.ID == args.ID {
		t.Errorf("%s %s %s", v.ID, later.ID, args.ID)
	}
	built, err := Build(v, j.Settings, Env{LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	if r := built.Ask(t.Context(), judge.Question{Session: &assay.Session{}}); r.Class != "" || !*r.Answers[0].Pass {
		t.Fatalf("%+v", r)
	}
	write(`echo '{"good":{"value":false}}'`)
	if _, changed := parse(t, text, env); changed.ID == v.ID {
		t.Error("another program is the same version")
	}
	if _, err := Build(v, j.Settings, Env{LookupEnv: os.LookupEnv}); assay.CodeOf(err) != assay.CodeInvalid {
		t.Errorf("the version was built with another program: %v", err)
	}
	for _, bad := range []string{
		replaced(t, text, "[./grade.sh]", "./grade.sh --all"), replaced(t, text, "[./grade.sh]", "[]"),
		replaced(t, text, "[./grade.sh]", "[./none.sh]"), replaced(t, text, "[B, A]", "[KEY=value]"), replaced(t, text, "argv:", "shell:"),
	} {
		if _, _, err := Parse([]byte(bad), env); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%v\n%s", err, bad)
		}
	}
}

func TestBuildRefusesAVersionOfOtherParts(t *testing.T) {
	j, v := parse(t, llmYAML, Env{})
	if _, err := Build(v, j.Settings, Env{}); err != nil {
		t.Fatal(err)
	}
	v.Canonical = []byte(strings.Replace(string(v.Canonical), `"prompt/3"`, `"prompt/0"`, 1))
	if _, err := Build(v, j.Settings, Env{}); assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), "prompt/0") {
		t.Error(err)
	}
	v.Canonical = []byte(`{"format":"assay.judge/9"}`)
	if _, err := Build(v, j.Settings, Env{}); err == nil {
		t.Error("an unknown form was built")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{rulesYAML, llmYAML, "name: a\nkind: command\ncommand: {argv: [sh]}\ncriteria: [{name: a, type: boolean}]", "", "a: &a [*a]", "? x", "- -", "name: !!binary x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		j, v, err := Parse([]byte(text), Env{})
		if err != nil {
			var e *assay.Error
			if !errors.As(err, &e) || e.Code != assay.CodeInvalid || e.Message == "" || e.Hint == "" && !strings.Contains(e.Message, "expression") {
				t.Fatalf("%#v", err)
			}
			return
		}
		if _, err := Build(v, j.Settings, Env{}); err != nil {
			t.Fatalf("what was parsed cannot be built: %v", err)
		}
		if _, again, err := Parse([]byte(text), Env{}); err != nil || again.ID != v.ID {
			t.Fatalf("read twice, two versions: %v", err)
		}
	})
}
