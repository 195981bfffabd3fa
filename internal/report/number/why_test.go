package number

import (
	"os"
	"regexp"
	"testing"

	"assay/internal/stats"
)

// Every code of docs/NUMBERS.md has words.
func TestEveryAbsenceIsSaid(t *testing.T) {
	page, err := os.ReadFile("../../../docs/NUMBERS.md")
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^## Why there is no number`).FindIndex(page)
	end := regexp.MustCompile(`(?m)^## What holds for all`).FindIndex(page)
	codes := regexp.MustCompile("`([a-z_]+)`").FindAllSubmatch(page[start[0]:end[0]], -1)
	if len(codes) < 25 {
		t.Fatalf("only %d codes found", len(codes))
	}
	for _, c := range codes {
		if Why(stats.Absence(c[1])) == string(c[1]) {
			t.Errorf("%s has no words", c[1])
		}
	}
}
