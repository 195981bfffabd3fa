package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func testScan(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a row tells what planning needs", testFrameRow},
		{"windows", testWindows},
		{"labelled, set", testNarrowed},
		{"an error of the callback ends the scan", func(w *world) {
			w.fill(5)
			sentinel, n := errors.New("enough"), 0
			err := w.Sessions().Scan(w.ctx, w.project.ID, store.SessionQuery{}, func(*store.FrameRow) error {
				if n++; n == 3 {
					return sentinel
				}
				return nil
			})
			equal(w, "error", err, sentinel)
			equal(w, "rows", n, 3)
		}},
		{"a cancelled context ends the scan", func(w *world) {
			w.fill(1)
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			if err := w.Sessions().Scan(ctx, w.project.ID, store.SessionQuery{}, func(*store.FrameRow) error { return nil }); !errors.Is(err, context.Canceled) {
				w.Fatalf("error %v, want context.Canceled", err)
			}
		}},
		{"the store can be used from the callback", func(w *world) {
			w.fill(3)
			w.ok(w.Sessions().Scan(w.ctx, w.project.ID, store.SessionQuery{}, func(r *store.FrameRow) error {
				_, err := w.Sessions().Get(w.ctx, w.project.ID, r.UserID, r.SessionID)
				return err
			}))
		}},
	})
}

// scan returns the names of what a query finds, sorted, by the narrow way and by that with Match.
func (w *world) scan(q store.SessionQuery) []string {
	w.Helper()
	read := func(q store.SessionQuery) []string {
		list := []string{}
		w.ok(w.Sessions().Scan(w.ctx, w.project.ID, q, func(r *store.FrameRow) error {
			list = append(list, assay.SessionName(strings.Clone(r.UserID), strings.Clone(r.SessionID)))
			return nil
		}))
		slices.Sort(list)
		return list
	}
	narrow := read(q)
	q.Match = func(*assay.Head) bool { return true }
	equal(w, "the same query with a match for all", read(q), narrow)
	q.Match = func(h *assay.Head) bool { return h.SessionID < "m" }
	equal(w, "the same query with a match for some", read(q), slices.DeleteFunc(slices.Clone(narrow), func(s string) bool {
		_, id, _ := strings.Cut(s, "/")
		return id >= "m"
	}))
	q.Match = nil
	heads := []string{}
	for _, h := range pages(w, func(p store.Page) ([]assay.Head, string, error) { return w.Sessions().List(w.ctx, w.project.ID, q, p) }) {
		heads = append(heads, h.Name())
	}
	slices.Sort(heads)
	equal(w, "the list of the same query", heads, narrow)
	return narrow
}

func testFrameRow(w *world) {
	full := session("user|,\"'", "id;--", "c1")
	full.Head.Arm = "arm with | and \t"
	settled := session("u", "settled", "c2")
	settled.Head.SettleFrom = nil
	bare := session("u", "bare", "c3")
	bare.Head.StartedAt, bare.Head.SettleFrom, bare.Head.Day, bare.Head.Empty, bare.Head.Arm = nil, nil, assay.Undated, true, ""
	batch := []store.NewSession{full, settled, bare}
	w.put(batch...)
	settled = session("u", "settled", "c2, changed")
	settled.Head.SettleFrom = nil
	_, err := w.Sessions().Put(w.ctx, w.project.ID, 0, []store.NewSession{settled, full}, at(1)) // full stays as it arrived
	w.ok(err)
	want := map[assay.SessionKey]store.FrameRow{}
	for _, n := range batch {
		h := w.head(n.Head.UserID, n.Head.SessionID)
		r := store.FrameRow{Key: h.Key, Content: h.Content, UserID: h.UserID, SessionID: h.SessionID, Day: h.Day, Arm: h.Arm, Undated: h.StartedAt == nil, Empty: h.Empty,
			ArrivedAt: h.ArrivedAt.UnixMicro()}
		if h.SettleFrom != nil {
			r.SettleFrom = h.SettleFrom.UnixMicro()
		}
		want[h.Key] = r
	}
	for _, match := range []func(*assay.Head) bool{nil, func(*assay.Head) bool { return true }} {
		got := map[assay.SessionKey]store.FrameRow{}
		w.ok(w.Sessions().Scan(w.ctx, w.project.ID, store.SessionQuery{Match: match}, func(r *store.FrameRow) error {
			got[r.Key] = *r
			return nil
		}))
		equal(w, "rows", got, want)
	}
}

func testWindows(w *world) {
	berlin := time.FixedZone("far east", 14*3600)
	moments := map[string]time.Time{
		"a-before": start.Add(-time.Microsecond), "b-from": start, "c-inside": at(100), "d-last": at(200).Add(-time.Microsecond), "n-to": at(200), "o-late": at(90_000),
	}
	for id, t := range moments {
		n := session("u", id, id)
		n.Head.StartedAt, n.Head.Day = ptr(t), t.In(berlin).Format(time.DateOnly)
		w.put(n)
	}
	w.put(dated("u", "z-undated", assay.Undated))
	for _, test := range []struct {
		q    store.SessionQuery
		want []string
	}{
		{store.SessionQuery{}, []string{"u/a-before", "u/b-from", "u/c-inside", "u/d-last", "u/n-to", "u/o-late", "u/z-undated"}},
		{store.SessionQuery{Undated: true}, []string{"u/a-before", "u/b-from", "u/c-inside", "u/d-last", "u/n-to", "u/o-late", "u/z-undated"}},
		{store.SessionQuery{From: ptr(start), To: ptr(at(200))}, []string{"u/b-from", "u/c-inside", "u/d-last"}},
		{store.SessionQuery{From: ptr(start), To: ptr(at(200)), Undated: true}, []string{"u/b-from", "u/c-inside", "u/d-last", "u/z-undated"}},
		{store.SessionQuery{From: ptr(at(200))}, []string{"u/n-to", "u/o-late"}},
		{store.SessionQuery{To: ptr(start)}, []string{"u/a-before"}},
		{store.SessionQuery{To: ptr(start), Undated: true}, []string{"u/a-before", "u/z-undated"}},
		{store.SessionQuery{From: ptr(at(500)), To: ptr(at(600))}, []string{}},
		{store.SessionQuery{From: ptr(at(200).In(berlin)), To: ptr(at(201).In(berlin))}, []string{"u/n-to"}},
	} {
		equal(w, fmt.Sprintf("window %v to %v, undated %v", test.q.From, test.q.To, test.q.Undated), w.scan(test.q), test.want)
	}
}

func testNarrowed(w *world) {
	labelled := session("u", "labelled", "1")
	labelled.Labels = []assay.Label{{Criterion: assay.CriterionPass, Value: []byte("true"), Rater: "r", Probability: 1}}
	outdated := session("u", "outdated-label", "1")
	outdated.Labels = labelled.Labels
	w.put(labelled, outdated, session("u", "member", "1"), session("u", "neither", "1"))
	_, err := w.Sessions().Put(w.ctx, w.project.ID, 0, []store.NewSession{session("u", "outdated-label", "2"), session("u", "new", "1")}, at(1))
	w.ok(err)
	set, err := w.Sets().Create(w.ctx, w.project.ID, "s", start)
	w.ok(err)
	_, err = w.Sets().Add(w.ctx, set.ID, []assay.SessionKey{w.head("u", "member").Key, w.head("u", "labelled").Key, w.head("u", "new").Key})
	w.ok(err)

	equal(w, "labelled", w.scan(store.SessionQuery{Labelled: true}), []string{"u/labelled"})
	equal(w, "set", w.scan(store.SessionQuery{Set: set.ID}), []string{"u/labelled", "u/member", "u/new"})
	equal(w, "set and labelled", w.scan(store.SessionQuery{Set: set.ID, Labelled: true}), []string{"u/labelled"})
	equal(w, "set in an empty window", w.scan(store.SessionQuery{Set: set.ID, To: ptr(start)}), []string{})
}
