package storetest

import (
	"fmt"
	"slices"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testSeen(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a transcript is stored with the attempt that names it", testSeenOnce},
		{"transcripts of a driver that lost its run", func(w *world) {
			f := w.grading(w.newRun(), w.fill(1))
			w.open(f, 1)
			w.takeUp(f.Run, f.Epoch, true)
			_, err := w.Items().Commit(w.ctx, f, store.Batch{Now: at(9), Done: []store.Outcome{withSeen(graded(opened(f, 1, 1), true), "lost")}})
			w.lost(err)
			_, err = w.Bodies().Seen(w.ctx, w.project.ID, hashOf("lost"))
			w.code(err, assay.CodeNotFound)
		}},
		{"many at once, by two runs", testSeenByTwo},
		{"what is no hash", func(w *world) {
			f := w.grading(w.newRun(), w.fill(1))
			w.open(f, 1)
			o := withSeen(graded(opened(f, 1, 1), true), "text")
			o.Seen.Hash = "no hash"
			before := w.everything(f.Run)
			if _, err := w.Items().Commit(w.ctx, f, store.Batch{Now: at(9), Done: []store.Outcome{o}}); err == nil {
				w.Error("it was stored under what is no hash")
			}
			equal(w, "everything", w.everything(f.Run), before)
			for _, hash := range []assay.Hash{"", "no hash", "ab"} {
				_, err := w.Bodies().Seen(w.ctx, w.project.ID, hash)
				w.code(err, assay.CodeNotFound)
			}
		}},
	})
}

// withSeen gives an outcome a transcript. The text stands for a compressed one.
func withSeen(o store.Outcome, text string) store.Outcome {
	o.Seen = &store.Seen{Hash: hashOf(text), Text: []byte(text)}
	o.Attempt.Seen = o.Seen.Hash
	return o
}

func (w *world) seen(text string) string {
	w.Helper()
	got, err := w.Bodies().Seen(w.ctx, w.project.ID, hashOf(text))
	w.ok(err)
	return string(got)
}

func testSeenOnce(w *world) {
	f := w.grading(w.newRun(), w.fill(4))
	w.open(f, 1, 2, 3, 4)
	same := withSeen(graded(opened(f, 2, 1), true), "one")
	same.Seen.Text = []byte("another text that must not replace the first")
	pending := withSeen(part(opened(f, 3, 1)), "\x00\xff three")
	w.commit(f, store.Batch{Done: []store.Outcome{withSeen(graded(opened(f, 1, 1), true), "one"), same, pending, graded(opened(f, 4, 1), true)}})
	equal(w, "the first", w.seen("one"), "one")
	equal(w, "of an item that is pending", w.seen("\x00\xff three"), "\x00\xff three")
	equal(w, "the attempt names it", w.attempts(f.Run, 1)[0].Seen, hashOf("one"))
	_, err := w.Bodies().Seen(w.ctx, w.project.ID, hashOf("seen")) // named by the fourth, which brought none
	w.code(err, assay.CodeNotFound)

	second := w.grading(w.newRun(), w.fill(1))
	w.open(second, 1)
	again := withSeen(graded(opened(second, 1, 1), true), "one")
	again.Seen.Text = []byte("nor in another run")
	w.commit(second, store.Batch{Done: []store.Outcome{again}})
	equal(w, "the first still", w.seen("one"), "one")

	other := newWorld(w.T, w.Store)
	_, err = other.Bodies().Seen(w.ctx, other.project.ID, hashOf("one"))
	w.code(err, assay.CodeNotFound)
	f = other.grading(other.newRun(), other.fill(1))
	other.open(f, 1)
	other.commit(f, store.Batch{Done: []store.Outcome{withSeen(graded(opened(f, 1, 1), true), "one")}})
	equal(w, "of the other project", other.seen("one"), "one")
}

// testSeenByTwo lets two runs store the same transcripts in opposite orders at the same time.
func testSeenByTwo(w *world) {
	const n = 200
	heads := w.fill(n)
	var fences [2]store.Fence
	var batches [2]store.Batch
	for i := range fences {
		f := w.grading(w.newRun(), heads)
		fences[i], batches[i].Now = f, at(9)
		var open store.Batch
		for seq := int64(1); seq <= n; seq++ {
			open.Open = append(open.Open, opened(f, seq, 1))
			batches[i].Done = append(batches[i].Done, withSeen(graded(opened(f, seq, 1), true), fmt.Sprint("text ", seq%150)))
		}
		w.commit(f, open)
	}
	slices.Reverse(batches[1].Done)
	together(2, func(i int) {
		if _, err := w.Items().Commit(w.ctx, fences[i], batches[i]); err != nil {
			w.Error(err)
		}
	})
	for i := range 150 {
		text := fmt.Sprint("text ", i)
		equal(w, "text", w.seen(text), text)
	}
}
