package assay

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns ` (did you mean "x"?)` for the known name that is closest to name, or "" when
// none is close.
func Nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, distance := "", max(2, len(name)/3)+1
	for _, k := range known {
		d := edits(name, k)
		if len(name) >= 3 && strings.HasPrefix(k, name) {
			d = 1
		}
		if d < distance {
			best, distance = k, d
		}
	}
	if best == "" || best == name {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// edits is the Levenshtein distance in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
