package provider

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

var update = flag.Bool("update", false, "write docs/PROVIDERS.md")

// docs/PROVIDERS.md is what the table of profiles and the scripted faults say: every line of it is a case
// of TestEveryFaultOfEveryProvider.
func TestProvidersDocument(t *testing.T) {
	file := filepath.Join("..", "..", "..", "..", "docs", "PROVIDERS.md")
	want := document()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("docs/PROVIDERS.md is not what the tables say (%v); run `make generate`", err)
	}
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Providers

Made from the program's own tables by ` + "`make generate`" + `. What is done about each class stands in
[CLASSES.md](CLASSES.md); how a judge names its provider in [JUDGES.md](JUDGES.md).

| provider | endpoint | protocols | key | answer bound by | structured output |
|---|---|---|---|---|---|
`)
	for _, p := range Profiles() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | `%s` |\n", cmp.Or(p.Name, "(none)"), cmp.Or(p.BaseURL, "its own"), list(p.APIs), cmp.Or(p.KeyEnv, "none"), field(p), p.Format)
	}
	b.WriteString("\n")
	for _, p := range Profiles() {
		if p.Notes != "" {
			fmt.Fprintf(&b, "- `%s`: %s\n", cmp.Or(p.Name, "(none)"), p.Notes)
		}
	}
	everywhere := faultsOf("litellm", nil)
	b.WriteString("\n## What every provider's failures become\n\nEach is played by a scripted server and tested for every provider, protocol and format.\n\n| failure | class |\n|---|---|\n")
	shared := map[string]string{}
	for _, f := range everywhere {
		if alike(f) {
			shared[f.Name] = class(f)
			fmt.Fprintf(&b, "| %s | %s |\n", f.Name, class(f))
		}
	}
	b.WriteString("\n## In each provider's own words\n\n| provider | failure | class | waits |\n|---|---|---|---|\n")
	for _, p := range Profiles() {
		for _, f := range faultsOf(p.Name, shared) {
			wait := ""
			if wait = f.Wait.String(); f.Wait > 24*time.Hour {
				wait = f.Wait.Round(time.Hour).String() // until a date, told by a clock that runs
			} else if f.Wait == 0 {
				wait = ""
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", cmp.Or(p.Name, "(none)"), f.Name, class(f), wait)
		}
	}
	return b.String()
}

// alike says whether a fault has the same class at every provider and asks for no wait.
func alike(f llmtest.Fault) bool {
	for _, p := range Profiles() {
		found := false
		for _, other := range faultsOf(p.Name, nil) {
			found = found || other.Name == f.Name && other.Class == f.Class && other.Wait == 0
		}
		if !found {
			return false
		}
	}
	return true
}

func faultsOf(provider string, but map[string]string) (faults []llmtest.Fault) {
	for _, f := range llmtest.Faults(provider, map[string]any{"ok": true}) {
		if but[f.Name] == "" {
			faults = append(faults, f)
		}
	}
	return faults
}

func class(f llmtest.Fault) string {
	if f.Class == assay.ClassNone {
		return "read all the same"
	}
	return "`" + string(f.Class) + "`"
}

func field(p Profile) string {
	if p.APIs[0] == Messages {
		return "`max_tokens`"
	}
	return "`" + cmp.Or(p.MaxTokensField, "max_tokens") + "`"
}

func list(apis []API) string {
	names := make([]string, len(apis))
	for i, a := range apis {
		names[i] = "`" + string(a) + "`"
	}
	return strings.Join(names, ", ")
}
