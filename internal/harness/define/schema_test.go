package define

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
)

const schemaFile = "../../../docs/formats/assay.schema.json"

var schema = sync.OnceValues(func() (*jsonschema.Schema, error) { return jsonschema.NewCompiler().Compile(schemaFile) })

// schemaTakes holds the schema to the reader: an editor says what Parse says.
func schemaTakes(t testing.TB, text string, want bool) {
	t.Helper()
	if err := schemaRefuses(text); (err == nil) != want {
		t.Errorf("the schema takes it: %v; Parse: %v\n%s\n%v", !want, want, text, err)
	}
}

// schemaRefuses is why the schema refuses a text, through JSON, as editors do: times are texts, whole numbers
// are numbers.
func schemaRefuses(text string) error {
	s, err := schema()
	if err != nil {
		return err
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func TestTheSchemaTakesWhatParseTakes(t *testing.T) {
	for _, text := range []string{
		wholeYAML,
		"suites: {a: {command: [./x]}}",
		"suites: {a: {command: [./x, 10, 1.5, true, '']}}",
		"suites: {a: {command: [x], env: {pass: [PATH]}, idle_alarm: never, time_limit: 1h30m5s, grace: 0.5s, on_lost: lost, log: {keep: 1048576}}}",
		"suites: {a: {command: [./x], env: {set: {A: '', B: 1, C: true}, pass: [{name: P, fallback: ''}]}}}",
		"suites: {a: {command: [./x], params: {p: {type: bool, flag_false: --no-x, default: false}, q: {type: string, flag: 'model.name=', default: 1.10}}}}",
		"suites: {a: {command: [./x], params: {p: {type: int, env: N, default: '10', min: -1, max: 1e3}}}}",
		"suites: {a: {command: [./x], success: {results: optional}, results: []}}",
		"schedules: {a: {cron: 0 3 * * *, suite: {name: elsewhere, params: {a: 1, b: x, c: true, d: null}}}}",
		"schedules: {a: {cron: 0 3 * * *, grade: {judges: [x], repeats: 2, from: 2025-03-01T00:00:00Z}}}",
	} {
		parse(t, text)
		schemaTakes(t, text, true)
	}
}

// The members that Parse knows are those of the schema, no more and no less.
func TestTheSchemaKnowsTheSameMembers(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]any
	}
	var doc struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for def, text := range map[string]string{
		"":                "~x: 1",
		"suite":           "suites: {a: {~x: 1}}",
		"param":           "suites: {a: {params: {p: {~x: 1}}}}",
		"env":             "suites: {a: {env: {~x: 1}}}",
		"pass":            "suites: {a: {env: {pass: [{~x: 1}]}}}",
		"secret":          "suites: {a: {env: {secrets: {S: {~x: 1}}}}}",
		"success":         "suites: {a: {success: {~x: 1}}}",
		"experiment":      "suites: {a: {experiment: {~x: 1}}}",
		"result":          "suites: {a: {results: [{~x: 1}]}}",
		"log":             "suites: {a: {log: {~x: 1}}}",
		"schedule":        "schedules: {a: {~x: 1}}",
		"scheduled_suite": "schedules: {a: {suite: {~x: 1}}}",
		"grade":           "schedules: {a: {grade: {~x: 1}}}",
	} {
		_, _, err := Parse([]byte(text), "assay.yaml", nil)
		var e *assay.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Hint, "the fields are ") {
			t.Fatalf("%s: %v", def, err)
		}
		o := doc.object
		if def != "" {
			o = doc.Defs[def]
		}
		if want := "the fields are " + strings.Join(slices.Sorted(maps.Keys(o.Properties)), ", "); e.Hint != want {
			t.Errorf("%s: Parse: %s\nschema: %s", def, e.Hint, want)
		}
	}
}
