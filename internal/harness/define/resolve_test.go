package define

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/assay"
)

// suiteOf makes a suite of its parameters.
func suiteOf(t testing.TB, params string) assay.SuiteDefinition {
	t.Helper()
	suites, _ := parse(t, "suites:\n  s:\n    command: [./x, run]\n    params:\n      "+strings.ReplaceAll(strings.TrimSpace(params), "\n", "\n      ")+"\n")
	return suites[0].Def
}

const allTypes = `
model: {type: string, default: gpt, flag: --model, pattern: '[a-z0-9-]+', max_length: 8}
size: {type: string, flag: --size=, values: [small, large]}
limit: {type: int, default: 10, min: 1, max: 500, flag: --limit}
t: {type: number, flag: -t, min: -1, max: 2, env: TEMPERATURE}
cache: {type: bool, flag: --cache, flag_false: --no-cache, env: CACHE}
verbose: {type: bool, flag: -v, default: false}
note: {type: string, flag: --note, env: NOTE}
key: {type: string, flag: model.key=}
`

func given(pairs ...string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return out
}

func TestParametersBecomeArguments(t *testing.T) {
	def := suiteOf(t, allTypes)
	for name, c := range map[string]struct {
		given map[string]json.RawMessage
		argv  string // after the command, one argument a word
	}{
		"nothing given":          {nil, "--model gpt --limit 10"},
		"typed":                  {given("limit", "20", "t", "0.5", "cache", "true", "verbose", "true"), "--model gpt --limit 20 -t 0.5 --cache -v"},
		"as texts":               {given("limit", `"20"`, "t", `"0.50"`, "cache", `"true"`), "--model gpt --limit 20 -t 0.5 --cache"},
		"false":                  {given("cache", "false", "verbose", "false"), "--model gpt --limit 10 --no-cache"},
		"joined":                 {given("size", `"large"`, "key", `"x"`), "--model gpt --size=large --limit 10 model.key=x"},
		"empty leaves out":       {given("model", `""`, "limit", `""`, "size", `""`, "cache", `""`), ""},
		"null is not given":      {given("model", "null", "size", "null"), "--model gpt --limit 10"},
		"whole as a float":       {given("limit", "2e1"), "--model gpt --limit 20"},
		"the greatest whole":     {given("limit", "500", "model", `"12345678"`), "--model 12345678 --limit 500"},
		"negative, short option": {given("t", "-1"), "--model gpt --limit 10 -t -1"},
		"dash, long option":      {given("note", `"--output=/etc/passwd"`), "--model gpt --limit 10 --note=--output=/etc/passwd"},
		"dash, joined option":    {given("key", `"-x"`), "--model gpt --limit 10 model.key=-x"},
	} {
		values, err := Resolve(def, c.given, assay.ParamGiven)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := append([]string{"./x", "run"}, strings.Fields(c.argv)...)
		if got := Argv(def, values); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}

// Runs may have been stored with values that are empty.
func TestAnEmptyValueIsNone(t *testing.T) {
	def := suiteOf(t, allTypes)
	values := []assay.ParamValue{{Name: "note", Value: json.RawMessage(`""`)}, {Name: "key"}, {Name: "model", Value: json.RawMessage(`"`)}}
	if argv := Argv(def, values); !slices.Equal(argv, []string{"./x", "run"}) {
		t.Errorf("%q", argv)
	}
	if env, _, _, err := Environ(t.Context(), def, values, nil); err != nil || len(env) != 0 {
		t.Errorf("%q %v", env, err)
	}
}

func TestWhoChoseAValue(t *testing.T) {
	def := suiteOf(t, allTypes)
	values, err := Resolve(def, given("limit", "7", "size", `"small"`), assay.ParamScheduled)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(values)
	const want = `[{"name":"model","value":"gpt","source":"default"},{"name":"size","value":"small","source":"schedule"},{"name":"limit","value":7,"source":"schedule"},{"name":"verbose","value":false,"source":"default"}]`
	if string(got) != want {
		t.Errorf("%s", got)
	}
	// What a run stores starts the same run again.
	again := map[string]json.RawMessage{}
	for _, v := range values {
		again[v.Name] = v.Value
	}
	repeated, err := Resolve(def, again, assay.ParamGiven)
	if err != nil || !slices.Equal(Argv(def, repeated), Argv(def, values)) {
		t.Errorf("%v %+v", err, repeated)
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	def := suiteOf(t, allTypes)
	for name, c := range map[string]struct {
		given map[string]json.RawMessage
		says  string
	}{
		"unknown":       {given("limt", "1"), `parameter "limt" is not known (did you mean "limit"?)`},
		"below":         {given("limit", "0"), `parameter "limit" is 0, below its least value 1`},
		"above":         {given("limit", "501"), `parameter "limit" is 501, above its greatest value 500`},
		"fraction":      {given("limit", "1.5"), `parameter "limit" must be a whole number, not "1.5"`},
		"too great":     {given("limit", "1e300"), "whole number"},
		"no number":     {given("limit", `"ten"`), "whole number"},
		"hexadecimal":   {given("limit", `"0x10"`), "whole number"},
		"underscore":    {given("limit", `"1_0"`), "whole number"},
		"infinite":      {given("t", `"inf"`), `parameter "t" must be a number`},
		"not a number":  {given("t", `"nan"`), `parameter "t" must be a number`},
		"huge":          {given("t", `1e999`), `parameter "t" must be a number`},
		"list":          {given("t", `[1]`), `parameter "t" must be a number`},
		"bool":          {given("cache", `1`), `parameter "cache" must be true or false, not "1"`},
		"yes":           {given("cache", `"yes"`), "true or false"},
		"number":        {given("note", `5`), `parameter "note" must be a text, not 5: put it in quotes`},
		"mapping":       {given("note", `{"a":1}`), "must be a text"},
		"values":        {given("size", `"larg"`), `parameter "size" must be one of small, large, not "larg" (did you mean "large"?)`},
		"pattern":       {given("model", `"a b"`), "does not match its pattern"},
		"pattern, line": {given("model", `"a\n"`), "does not match its pattern"},
		"length":        {given("model", `"123456789"`), "longer than 8 characters"},
		"NUL":           {given("note", `"a\u0000b"`), "holds a NUL"},
		"bytes":         {given("note", `"`+strings.Repeat("x", maxValue+1)+`"`), "longer than 65536 bytes"},
		"no JSON":       {given("note", `"a`), "not valid JSON"},
	} {
		values, err := Resolve(def, c.given, assay.ParamGiven)
		var e *assay.Error
		if !errors.As(err, &e) || e.Code != assay.CodeInvalid || !strings.Contains(e.Message, c.says) || !strings.HasPrefix(e.Hint, "the parameters are model, size,") || values != nil {
			t.Errorf("%s: %.200v %+v", name, err, values)
		}
	}
	_, err := Resolve(def, given("limit", "0", "cache", "2", "nope", "1"), assay.ParamGiven)
	for _, part := range []string{"limit", "cache", "nope"} {
		if !strings.Contains(err.Error(), `parameter "`+part+`"`) {
			t.Errorf("%s is not told: %v", part, err)
		}
	}
	needy := suiteOf(t, "data: {type: string, required: true, flag: --data}")
	for _, g := range []map[string]json.RawMessage{nil, given("data", "null"), given("data", `""`)} {
		if _, err := Resolve(needy, g, assay.ParamGiven); err == nil || !strings.Contains(err.Error(), `parameter "data" is required`) {
			t.Errorf("%v: %v", g, err)
		}
	}
	none, _ := parse(t, "suites: {a: {command: [./x]}}")
	_, err = Resolve(none[0].Def, given("a", "1"), assay.ParamGiven)
	var e *assay.Error
	if !errors.As(err, &e) || e.Hint != "this suite has no parameters" {
		t.Errorf("%v %+v", err, e)
	}
}

// Whatever a value is made of, it is one argument and one variable, byte for byte.
func TestAValueStaysWhole(t *testing.T) {
	def := suiteOf(t, "long: {type: string, flag: --long, env: LONG}\njoined: {type: string, flag: --joined=}\nshort: {type: string, flag: -s}")
	nasty := rapid.SampledFrom([]string{"; rm -rf /", "$(id)", "`id`", "a\nb", "\r\n", "--", "-", "--long", "-x=1", "'", `"`, `\`, "*", "~", "$HOME", "${X}", "%s", "a=b", " ", "\t", "é\u2028", "&& true", "| cat", "> /tmp/x", "\x1b[31m", "#"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(nasty, rapid.StringN(0, 5, -1)), 1, 4).Draw(t, "text"), "")
		if text == "" || strings.ContainsRune(text, 0) {
			t.Skip("nothing, or a NUL, is no value: another one is drawn")
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		values, err := Resolve(def, map[string]json.RawMessage{"long": raw, "joined": raw, "short": raw}, assay.ParamGiven)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"./x", "run", "--long", text, "--joined=" + text, "-s", text}
		if strings.HasPrefix(text, "-") {
			want = []string{"./x", "run", "--long=" + text, "--joined=" + text, "-s", text}
		}
		if got := Argv(def, values); !slices.Equal(got, want) {
			t.Fatalf("%q, not %q", got, want)
		}
		env, _, _, err := Environ(t.Context(), def, values, nil)
		if err != nil || !slices.Equal(env, []string{"LONG=" + text}) {
			t.Fatalf("%q %v", env, err)
		}
	})
}

func FuzzResolve(f *testing.F) {
	def := suiteOf(f, allTypes)
	for _, p := range def.Params {
		for _, raw := range []string{"1", `"x"`, "true", "null", `""`, "-0", "1e2", `"-1"`, "[]", ""} {
			f.Add(p.Name, raw)
		}
	}
	f.Fuzz(func(t *testing.T, name, raw string) {
		values, err := Resolve(def, given(name, raw), assay.ParamGiven)
		if err != nil {
			return
		}
		again := map[string]json.RawMessage{}
		for _, v := range values {
			if !json.Valid(v.Value) {
				t.Fatalf("%s", v.Value)
			}
			again[v.Name] = v.Value
		}
		for _, p := range def.Params {
			if again[p.Name] == nil {
				again[p.Name] = json.RawMessage(`""`) // left out, not the default
			}
		}
		repeated, err := Resolve(def, again, assay.ParamGiven)
		if err != nil || !slices.Equal(Argv(def, values), Argv(def, repeated)) {
			t.Fatalf("%v: %q, then %q", err, Argv(def, values), Argv(def, repeated))
		}
	})
}
