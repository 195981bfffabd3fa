package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/store"
)

// serve starts the program as a server and returns a client of it.
func (w *world) serve() (*client.Client, *process) {
	w.t.Helper()
	address := filepath.Join(w.t.TempDir(), "address")
	p := w.start("serve", "--listen", "127.0.0.1:0", "--address-file", address)
	var url []byte
	eventually(w.t, 10*time.Second, "the server answers", func() bool {
		url, _ = os.ReadFile(address) // not there yet
		return len(url) > 0
	})
	c, err := client.Server(strings.TrimSpace(string(url)), "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c, p
}

// calls are the calls that were made for the items of a run, by item.
func (w *world) calls(c *client.Client, run assay.RunID) map[int64]api.ItemCalls {
	w.t.Helper()
	all := map[int64]api.ItemCalls{}
	for cursor := ""; ; {
		page, err := c.Items(w.t.Context(), run, api.ItemQuery{}, store.Page{Cursor: cursor, Limit: 1000})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, it := range page.Items {
			if all[it.Seq], err = c.Item(w.t.Context(), run, it.Seq); err != nil {
				w.t.Fatal(err)
			}
		}
		if page.Next == "" {
			return all
		}
		cursor = page.Next
	}
}

// attempts are those of all items.
func attempts(calls map[int64]api.ItemCalls) (all []assay.Attempt) {
	for _, c := range calls {
		all = append(all, c.Attempts...)
	}
	slices.SortFunc(all, func(a, b assay.Attempt) int { return a.OpenedAt.Compare(b.OpenedAt) })
	return all
}

// slowly is eventually for what takes a process to find out.
func slowly(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !ok(); <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, within)
		}
	}
}

// must is for answers that a test cannot go on without.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
