package definition

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
)

type read struct {
	name  Source
	on    bool
	least *float64
	times *int64
	after time.Duration
	words []string
	named []string
}

func (r *read) from(text string) error {
	root, err := Load([]byte(text), Form{Begin: "begin here", Files: "one each"})
	if err != nil {
		return err
	}
	return Mapping(root, "a thing", Fields{
		"name": r.name.Into("name"), "on": Bool(&r.on, "on"), "least": Number(&r.least, "least"), "times": Int(&r.times, "times"),
		"after": Duration(&r.after, "after"), "words": Texts(&r.words, "words", "for instance [a]"),
		"named": func(n *yaml.Node) error {
			return Named(n, "named", func(name string, _, value *yaml.Node) error {
				r.named = append(r.named, name+"="+value.Value)
				return nil
			})
		},
	}, map[string]string{"label": "it is called `name`"})
}

func TestValues(t *testing.T) {
	var r read
	err := r.from("on: true\nname: |\n  one\n  two\nleast: 1.5\ntimes: 3\nafter: 90s\nwords: [a, 1.10, yes]\nnamed: {b: 1, a: 2}\n")
	if err != nil {
		t.Fatal(err)
	}
	if r.name.Text != "one\ntwo\n" || r.name.Line(2) != 4 || !r.on || *r.least != 1.5 || *r.times != 3 || r.after != 90*time.Second ||
		!slices.Equal(r.words, []string{"a", "1.10", "yes"}) || !slices.Equal(r.named, []string{"b=1", "a=2"}) {
		t.Errorf("%+v", r)
	}
	r = read{on: true}
	if err := r.from("on:\nname: null\n"); err != nil || !r.on || r.name.Node != nil {
		t.Errorf("a member without a value was set: %v %+v", err, r)
	}
}

func TestMistakes(t *testing.T) {
	for text, says := range map[string]string{
		"":                           "the definition is empty (begin here)",
		"# x":                        "the definition is empty (begin here)",
		"name: a\n---\nname: b":      "the file holds more than one document (one each)",
		"name: [":                    "line 1: did not find expected node content (the file must be valid YAML",
		"name: a\nnme: b":            `line 2: field "nme" of a thing is not known (did you mean "name"?) (the fields are after, least, name, named, on, times, words)`,
		"on: true\nlabel: b":         "line 2: field \"label\" of a thing is not known (it is called `name`)",
		"name: a\nname: b":           `line 2: field "name" of a thing is given twice (drop one of them)`,
		"[a]":                        "line 1: a thing must be a mapping, not a list",
		"name: a\n\nnamed: [a]":      "line 3: named must be a mapping, not a list",
		"named: {a: 1, a: 2}":        `line 1: field "a" of named is given twice`,
		"named: {<<: {a: 1}}":        "line 1: merge keys (<<) are not supported",
		"least: 01":                  "line 1: least must be a finite number (without quotes, and without zeros in front)",
		"times: 010":                 "line 1: times must be a whole number",
		"times: 1_0":                 "line 1: times must be a whole number",
		"words: [a, null]":           "line 1: an entry of words is empty",
		"on: true\n\tname: a":        "line 2: found a tab character that violates indentation (the file must be valid YAML; indent with spaces",
		"on: true\nwords: [a: b: c]": "line 2: ",
		"on: true\nwords: [a\n":      "line 2: did not find expected ',' or ']'",
		"named: {[a]: 1}":            "line 1: a name in named must be a text",
		"name: {a: b}":               "line 1: name must be a text, not a mapping",
		`name: "a\0"`:                "line 1: name holds a NUL",
		"on: 'true'":                 "line 1: on must be true or false",
		"least: '1'":                 "line 1: least must be a finite number",
		"least: .inf":                "line 1: least must be a finite number",
		"times: 1.0":                 "line 1: times must be a whole number",
		"after: 90":                  "line 1: after must be a duration above 0",
		"after: -1s":                 "line 1: after must be a duration above 0",
		"words: a":                   "line 1: words must be a list, not a single value (for instance [a])",
		"words: [[a]]":               "line 1: an entry of words must be a text, not a list",
		"name: &x a":                 "line 1: anchors and aliases are not supported",
		strings.Repeat("[", 99):      "valid YAML",
		strings.Repeat("- ", 60):     "line 1: the definition is nested too deeply",
		strings.Repeat("#", 2<<20):   "longer than 1048576 bytes",
		"name: a\n--- [\n":           "valid YAML",
		"name: a\nstray\nwords: [a":  "valid YAML",
	} {
		var e *assay.Error
		err := new(read).from(text)
		if !errors.As(err, &e) || e.Code != assay.CodeInvalid || !strings.Contains(e.Message+" ("+e.Hint+")", says) || e.Hint == "" {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

func TestJSON(t *testing.T) {
	for text, want := range map[string]string{"{b: [1, x, true, null], a: {c: 1.5}}": `{"a":{"c":1.5},"b":[1,"x",true,null]}`, "{a: .nan}": "", "{[a]: b}": "", "{a: 1, a: 2}": ""} {
		root, err := Load([]byte(text), Form{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := JSON(root)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
}
