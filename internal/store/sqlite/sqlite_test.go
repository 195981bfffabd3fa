package sqlite_test

import (
	"testing"

	"assay/internal/store"
	"assay/internal/store/sqlite"
	"assay/internal/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := sqlite.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
