package grading

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/assay"
)

// classes writes "3 timeout, 1 refused".
func classes(c assay.Counts) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(c.ByClass)) {
		if class != assay.ClassNone {
			parts = append(parts, fmt.Sprintf("%d %s", c.ByClass[class], class))
		}
	}
	return strings.Join(parts, ", ")
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
