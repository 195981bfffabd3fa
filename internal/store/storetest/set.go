package storetest

import (
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testSets(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"create, get, list", func(w *world) {
			b, err := w.Sets().Create(w.ctx, w.project.ID, "b", start)
			w.ok(err)
			equal(w, "set", b, store.Set{ID: b.ID, Name: "b", CreatedAt: start})
			a, err := w.Sets().Create(w.ctx, w.project.ID, "a", at(1))
			w.ok(err)
			_, err = w.Sets().Create(w.ctx, w.project.ID, "b", start)
			w.code(err, assay.CodeConflict)
			_, err = w.Sets().Create(w.ctx, newWorld(w.T, w.Store).project.ID, "b", start)
			w.ok(err)
			_, err = w.Sets().Get(w.ctx, w.project.ID, "none")
			w.code(err, assay.CodeNotFound)
			list, err := w.Sets().List(w.ctx, w.project.ID)
			w.ok(err)
			equal(w, "sets by name", list, []store.Set{a, b})
		}},
		{"members", func(w *world) {
			set, err := w.Sets().Create(w.ctx, w.project.ID, "s", start)
			w.ok(err)
			heads := w.fill(3)
			for _, add := range []struct {
				keys []assay.SessionKey
				want int64
			}{
				{nil, 0},
				{[]assay.SessionKey{heads[0].Key, heads[1].Key, heads[0].Key}, 2},
				{[]assay.SessionKey{heads[1].Key, heads[2].Key}, 1},
				{[]assay.SessionKey{heads[1].Key}, 0},
			} {
				n, err := w.Sets().Add(w.ctx, set.ID, add.keys)
				w.ok(err)
				equal(w, "added", n, add.want)
			}
			got, err := w.Sets().Get(w.ctx, w.project.ID, "s")
			w.ok(err)
			equal(w, "members", got.Members, int64(3))
			_, err = w.Sets().Add(w.ctx, 1<<40, []assay.SessionKey{heads[0].Key})
			w.code(err, assay.CodeNotFound)
		}},
	})
}
