// Package assay holds the nouns of the program and the rules that belong to them alone.
//
// It does no I/O, imports nothing of ours and is imported by everyone. Words are those of
// docs/MODEL.md; a new word goes there first. Times are UTC and are kept to the microsecond,
// because that is what both databases store.
package assay

//go:generate go test -run TestClassesDocument -update .
