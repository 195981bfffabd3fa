package results

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/internal/assay"
)

// read reads content and holds every case to what must be true of all.
func read(t testing.TB, format assay.ResultFormat, name string, content []byte) ([]assay.Case, error) {
	t.Helper()
	var cases []assay.Case
	err := Read(format, name, bytes.NewReader(content), int64(len(content)), Options{}, func(c assay.Case) error {
		cases = append(cases, c)
		return nil
	})
	hold(t, cases)
	return cases, err
}

// whole reads content that has no fault.
func clear(t testing.TB, format assay.ResultFormat, name, content string) []assay.Case {
	t.Helper()
	cases, err := read(t, format, name, []byte(content))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return cases
}

// hold checks what is true of every case.
func hold(t testing.TB, cases []assay.Case) {
	t.Helper()
	type id struct {
		key    string
		repeat int
	}
	seen := map[id]bool{}
	for _, c := range cases {
		at := id{c.Key, c.Repeat}
		if seen[at] {
			t.Errorf("%q repeat %d is there twice", c.Key, c.Repeat)
		}
		seen[at] = true
		if c.Key == "" || len(c.Key) > maxKey || c.Repeat < 0 {
			t.Errorf("key %q, repeat %d", c.Key, c.Repeat)
		}
		switch c.State {
		case assay.ItemGraded:
			if c.Class != "" || c.Error != "" || c.Pass == nil && !said(c.Findings) {
				t.Errorf("graded, but %+v", c)
			}
		case assay.ItemErrored, assay.ItemUngradable:
			if policy, known := assay.Policies[c.Class]; !known || policy.Ends != c.State || c.Pass != nil || len(c.Findings) > 0 {
				t.Errorf("no verdict, but %+v", c)
			}
		default:
			t.Errorf("state %q", c.State)
		}
		holdTexts(t, c)
	}
}

func holdTexts(t testing.TB, c assay.Case) {
	t.Helper()
	names := map[string]bool{}
	texts := []string{c.Key, c.Input, c.Output, c.Expected, c.Error, c.Place, c.Model}
	for _, f := range c.Findings {
		if f.Criterion == "" || names[f.Criterion] || f.Applies && !f.Abstained != (f.Value != nil) || f.Value != nil && !json.Valid(f.Value) {
			t.Errorf("finding %+v", f)
		}
		names[f.Criterion] = true
		texts = append(texts, f.Criterion, f.Reason)
	}
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) || len(s) > maxText {
			t.Errorf("text of %d bytes: %.80q", len(s), s)
		}
	}
	if len(c.Extra) > maxExtra || len(c.Extra) > 0 && (!json.Valid(c.Extra) || bytes.Contains(c.Extra, []byte(`\u0000`))) {
		t.Errorf("extra %.200s", c.Extra)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	var again assay.Case
	if err := json.Unmarshal(raw, &again); err != nil || again.Key != c.Key {
		t.Errorf("does not come back from JSON: %v", err)
	}
}

// tally counts cases.
func tally(cases []assay.Case) (n assay.CaseTally) {
	for _, c := range cases {
		n.Add(c)
	}
	return n
}

// byKey finds the first repeat of a case whose key holds part.
func byKey(t testing.TB, cases []assay.Case, part string) assay.Case {
	t.Helper()
	for _, c := range cases {
		if strings.Contains(c.Key, part) {
			return c
		}
	}
	t.Fatalf("no case %q in %q", part, keys(cases))
	return assay.Case{}
}

func keys(cases []assay.Case) (all []string) {
	for _, c := range cases {
		all = append(all, c.Key)
	}
	return all
}

// values are the findings as criterion to value.
func values(c assay.Case) map[string]string {
	m := map[string]string{}
	for _, f := range c.Findings {
		m[f.Criterion] = string(f.Value)
	}
	return m
}

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %#v, want %#v", what, got, want)
	}
}

// faulty checks that an error says everything in words.
func faulty(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// shared reads a file of the public data that lies beside the project.
func shared(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(sharedDir, name))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("shared data must be there in CI: %v", err)
		}
		t.Skipf("shared data is not there: %v", err)
	}
	return raw
}

const sharedDir = "../../../../shared/data"
