package definition

import "assay/internal/assay"

// Nearest returns ` (did you mean "x"?)` for the known name that is closest to name, or "" when
// none is close.
func Nearest(name string, known []string) string { return assay.Nearest(name, known) }
