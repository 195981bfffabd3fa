package postgres

import (
	"testing"

	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
	"assay/internal/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		s, err := Open(t.Context(), pgtest.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
