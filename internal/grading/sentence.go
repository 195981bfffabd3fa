package grading

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
