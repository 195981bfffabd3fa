package assay

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/CLASSES.md")

func TestClassesDocument(t *testing.T) {
	const file = "../../docs/CLASSES.md"
	var b strings.Builder
	b.WriteString(`# Classes: how an attempt ends that is not a verdict

Written from the table in internal/assay/class.go by ` + "`make generate`" + `; do not edit. "Free" attempts do
not use up the item's allowance. Waits double from the first one, with jitter, up to ` + MaxBackoff.String() + `;
a Retry-After takes their place. A waiting item holds no slot.

| Class | The item becomes | Attempts | First wait | The run | What to do |
|---|---|---|---|---|---|
`)
	for _, class := range slices.Sorted(maps.Keys(Policies)) {
		p := Policies[class]
		ends, attempts, wait, run := string(p.Ends), fmt.Sprint(p.Attempts), p.Backoff.String(), "goes on"
		if p.Free {
			ends, attempts = "pending again", "free"
		}
		if p.Backoff == 0 {
			wait = "none"
		}
		if p.Pauses {
			run = "pauses"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", class, ends, attempts, wait, run, p.Remedy)
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/CLASSES.md is not what the table says (%v); run `make generate`", err)
	}
}
