package define

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// odd are values as people write them and as they slip. An empty text is not among them: Parse takes some for
// none, and an editor may say that.
var odd = []string{"x", "5", "1.5", "-1", "0", "true", "no", "null", "~", "[]", "{}", "[x]", "[null]", "[1, x]", "{a: b}", "2025-01-01", "1e3", "10m", "never", "2024", "'10'", "1MiB", "lost", "a b"}

// slips are documents in which one member has an odd value, or one more stands.
func slips(t *rapid.T) string {
	value := func(usual ...string) string {
		if rapid.IntRange(0, 7).Draw(t, "usual") > 0 {
			return rapid.SampledFrom(usual).Draw(t, "value")
		}
		return rapid.SampledFrom(odd).Draw(t, "odd")
	}
	mapping := func(most int, members map[string][]string, needed ...string) string {
		var out []string
		given := map[string]bool{}
		for _, name := range needed {
			given[name] = true
			out = append(out, name+": "+value(members[name]...))
		}
		names := rapid.SliceOfN(rapid.SampledFrom(sorted(members)), 0, most).Draw(t, "members")
		for _, name := range names {
			if !given[name] {
				given[name] = true
				out = append(out, name+": "+value(members[name]...))
			}
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	param := func() string {
		return mapping(4, map[string][]string{"type": {"string", "int", "number", "bool"}, "description": {"x"}, "default": {"x", "5", "true", "1.10"}, "required": {"true", "false"},
			"flag": {"--x", "--x=", "x="}, "flag_false": {"--no-x"}, "env": {"X", "ASSAY_X", "PATH"}, "min": {"1"}, "max": {"9"}, "values": {"[a, b]", "[1, b]"}, "pattern": {"'[a-z]+'"}, "max_length": {"5"}}, "type", "flag")
	}
	env := func() string {
		return mapping(3, map[string][]string{"pass": {"[PATH]", "[{name: A, from: B, fallback: c}]", "[{name: A, fallback: null}]"}, "set": {"{A: 1}", "{B: ''}"},
			"secrets": {"{K: {env: X}}", "{K: {file: y}}", "{K: {command: [z]}}", "{K: {env: X, file: null}}"}})
	}
	suite := func() string {
		return mapping(5, map[string][]string{"command": {"[./x]", "[./x, 1, true, null]", "[1]"}, "description": {"x"}, "dir": {"d", "../e", "/f"},
			"params": {"{p: " + param() + "}"}, "env": {env()}, "time_limit": {"30m", "never"}, "idle_alarm": {"10m", "never"}, "grace": {"10s"}, "orphan_grace": {"1h"},
			"success":    {"{exit_codes: [0, 1]}", "{results: optional}", "{results: required}", "{max_failed: 1, min_pass_rate: 0.5}", "{max_errored: null}"},
			"results":    {"[{format: junit, path: out/*.xml}]", "[]", "[{format: junit, path: 5}]"},
			"experiment": {"{pattern: x}", "{pattern: x, match: last}", "{pattern: 5}"}, "needs": {"[gpu]", "[1]"}, "on_lost": {"lost", "{retry: 2}", "{retry: null}"},
			"log": {"{keep: 1MiB}", "{keep: 2000000}", "{keep: null}", "{}"}}, "command")
	}
	schedule := func() string {
		return mapping(4, map[string][]string{"cron": {"0 3 * * *"}, "description": {"x"}, "zone": {"UTC"}, "catch_up": {"one", "none"}, "overlap": {"skip", "queue"},
			"suite": {"{name: a}", "{name: zz, params: {x: 1, y: null}}", "{name: 5}"},
			"grade": {"{judges: [x]}", "{judges: [1], seed: 5, filter: x, budget_usd: 1.5, since: 2025-03-01T00:00:00Z}", "{judges: [x], per_stratum: 2, set: 5, labelled: true}"}}, "cron")
	}
	doc := "suites:\n  a: " + suite() + "\n"
	if rapid.Bool().Draw(t, "schedule") {
		doc += "schedules:\n  s: " + schedule() + "\n"
	}
	return doc
}

// Whatever Parse takes the schema takes: an editor marks nothing that is right.
func TestTheSchemaTakesEveryDocumentThatParseTakes(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		text := slips(t)
		if _, _, err := Parse([]byte(text), "/repo/assay.yaml", nil); err == nil {
			taken++
			if why := schemaRefuses(text); why != nil {
				t.Fatalf("Parse takes it, the schema does not: %v\n%s", why, text)
			}
		}
	})
	if taken == 0 {
		t.Error(fmt.Errorf("no document was taken"))
	}
}

func sorted(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }
