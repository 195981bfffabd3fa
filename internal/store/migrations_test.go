package store_test

import (
	"os"
	"slices"
	"testing"
)

// A change of the schema is one migration for each database, under one number and name.
func TestMigrationsComeInPairs(t *testing.T) {
	names := func(database string) (list []string) {
		entries, err := os.ReadDir(database + "/migrations")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	if a, b := names("sqlite"), names("postgres"); len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("sqlite has %v, postgres %v", a, b)
	}
}
