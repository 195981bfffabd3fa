package compare_test

import (
	"slices"
	"testing"

	"assay/internal/report/compare"
	"assay/internal/store"
)

// Pages of any size, put together, are the whole list in its order.
func TestPagesOfFlipsAreWhole(t *testing.T) {
	w, a, b := two(t, func(i int) bool { return i%20 == 1 })
	whole, next, err := compare.Flips(w.Ctx, w.Store, a, b, compare.Options{}, "", "", store.Page{Limit: 100})
	w.Must(err)
	if next != "" || len(whole) < 8 {
		t.Fatalf("%d flips, next %q", len(whole), next)
	}
	for size := 1; size <= len(whole)+1; size++ {
		var all []compare.Flip
		for page := (store.Page{Limit: size}); len(all) <= len(whole); {
			flips, next, err := compare.Flips(w.Ctx, w.Store, a, b, compare.Options{}, "", "", page)
			w.Must(err)
			all = append(all, flips...)
			if page.Cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(all, whole) {
			t.Errorf("in pages of %d: %d flips, want %d in the same order", size, len(all), len(whole))
		}
	}
}
