package storetest

import (
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testImports(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"totals and rejects", testImport},
		{"rejects are kept up to a bound", testManyRejects},
		{"list from the newest", func(w *world) {
			var want []int64
			for i := range 5 {
				id, err := w.Imports().Start(w.ctx, w.project.ID, fmt.Sprint("f", i), "native", "", at(i))
				w.ok(err)
				want = append([]int64{id}, want...)
			}
			newWorld(w.T, w.Store).furnish()
			var got []int64
			for _, i := range pages(w, func(p store.Page) ([]store.Import, string, error) { return w.Imports().List(w.ctx, w.project.ID, p) }) {
				got = append(got, i.ID)
			}
			equal(w, "imports", got, want)
		}},
		{"of no project", func(w *world) {
			_, err := w.Imports().Start(w.ctx, 1<<40, "f", "native", "", start)
			w.code(err, assay.CodeNotFound)
			_, _, err = w.Imports().Rejects(w.ctx, w.project.ID, 1<<40, store.Page{})
			w.code(err, assay.CodeNotFound)
		}},
		{"interrupt", func(w *world) {
			done, err := w.Imports().Start(w.ctx, w.project.ID, "done", "native", "", start)
			w.ok(err)
			w.ok(w.Imports().Finish(w.ctx, done, store.Import{New: 1}, at(1)))
			running, err := w.Imports().Start(w.ctx, w.project.ID, "running", "native", "", start)
			w.ok(err)
			n, err := w.Imports().Interrupt(w.ctx, at(2))
			w.ok(err)
			if n < 1 {
				w.Errorf("interrupted %d imports", n)
			}
			list, _, err := w.Imports().List(w.ctx, w.project.ID, store.Page{})
			w.ok(err)
			equal(w, "imports", list, []store.Import{
				{ID: running, File: "running", Format: "native", State: "failed", StartedAt: start, EndedAt: ptr(at(2)), Error: "interrupted"},
				{ID: done, File: "done", Format: "native", State: "done", StartedAt: start, EndedAt: ptr(at(1)), New: 1},
			})
			n, err = w.Imports().Interrupt(w.ctx, at(3))
			w.ok(err)
			equal(w, "interrupted the second time", n, int64(0))
			w.code(w.Imports().Progress(w.ctx, running, store.Import{New: 9}, nil), assay.CodeRefused)
			w.code(w.Imports().Finish(w.ctx, running, store.Import{}, at(4)), assay.CodeRefused)
		}},
	})
}

func testImport(w *world) {
	id, err := w.Imports().Start(w.ctx, w.project.ID, "dir/file 'x'.jsonl", "tau-bench", "ann", start)
	w.ok(err)
	get := func() store.Import {
		list, _, err := w.Imports().List(w.ctx, w.project.ID, store.Page{})
		w.ok(err)
		return list[0]
	}
	want := store.Import{ID: id, File: "dir/file 'x'.jsonl", Format: "tau-bench", By: "ann", State: "running", StartedAt: start}
	equal(w, "started", get(), want)

	totals := store.Import{Bytes: 1 << 33, New: 1, Changed: 2, Unchanged: 3, Rejected: 3, Repaired: 5, Labels: 6}
	rejects := []store.Reject{
		{Line: 1, Where: "/3/traj/5", Reason: "no user", Excerpt: `{"a": "b`},
		{Line: 7, Reason: "bad \xff bytes\x00"},
		{Line: 1 << 40, Reason: "far"},
	}
	w.ok(w.Imports().Progress(w.ctx, id, totals, rejects[:1]))
	w.ok(w.Imports().Progress(w.ctx, id, totals, rejects[1:]))
	want.Bytes, want.New, want.Changed, want.Unchanged, want.Rejected, want.Repaired, want.Labels = 1<<33, 1, 2, 3, 3, 5, 6
	equal(w, "in progress", get(), want)
	rejects[1].Reason = "bad \uFFFD bytes\uFFFD"
	equal(w, "rejects", pages(w, func(p store.Page) ([]store.Reject, string, error) {
		return w.Imports().Rejects(w.ctx, w.project.ID, id, p)
	}), rejects)
	_, _, err = w.Imports().Rejects(w.ctx, newWorld(w.T, w.Store).project.ID, id, store.Page{})
	w.code(err, assay.CodeNotFound)

	totals.New, totals.Error = 10, "the disk went away"
	w.ok(w.Imports().Finish(w.ctx, id, totals, at(5)))
	want.New, want.Error, want.State, want.EndedAt = 10, "the disk went away", "failed", ptr(at(5))
	equal(w, "failed", get(), want)
}

func testManyRejects(w *world) {
	id, err := w.Imports().Start(w.ctx, w.project.ID, "f", "native", "", start)
	w.ok(err)
	part := make([]store.Reject, store.MaxRejects/4+100)
	for i := range part {
		part[i] = store.Reject{Line: int64(i + 1), Reason: "bad"}
	}
	for range 5 {
		w.ok(w.Imports().Progress(w.ctx, id, store.Import{Rejected: int64(5 * len(part))}, part))
	}
	list, next, err := w.Imports().Rejects(w.ctx, w.project.ID, id, store.Page{Limit: 2 * store.MaxRejects})
	w.ok(err)
	equal(w, "kept", len(list), store.MaxRejects)
	equal(w, "cursor", next, "")
	equal(w, "the first", list[0].Line, int64(1))
}
