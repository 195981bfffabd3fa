package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func testSessions(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a head comes back as it was put", testHead},
		{"put says what became of each", testPut},
		{"a session that repeats inside a batch is taken in order", func(w *world) {
			got := w.put(session("u", "s", "one"), session("u", "s", "two"), session("u", "s", "two"), session("u", "s", "one"))
			equal(w, "results", got, []store.PutResult{store.PutNew, store.PutChanged, store.PutUnchanged, store.PutChanged})
			equal(w, "present content", w.head("u", "s").ContentHash, assay.Hash("one"))
			equal(w, "version", w.head("u", "s").Version, 1)
		}},
		{"content that goes back to an old version", testBack},
		{"two users may have the same session id", func(w *world) {
			w.put(session("a", "same", "1"), session("b", "same", "2"))
			a, b := w.head("a", "same"), w.head("b", "same")
			if a.Key == b.Key || a.Content == b.Content {
				w.Fatal("two users share a session")
			}
			equal(w, "hashes", []assay.Hash{a.ContentHash, b.ContentHash}, []assay.Hash{"1", "2"})
		}},
		{"ids are compared byte by byte", func(w *world) {
			got := w.put(session("u", "A", "1"), session("u", "a", "2"), session("U", "a", "3"), session("u", "a ", "4"), session("u", "é", "5"), session("u", "e\u0301", "6"))
			equal(w, "results", got, slices.Repeat([]store.PutResult{store.PutNew}, 6))
			equal(w, "hash", w.head("u", "a").ContentHash, assay.Hash("2"))
		}},
		{"equal content of two sessions stays apart", func(w *world) {
			w.put(session("u", "a", "same"), session("u", "b", "same"))
			if w.head("u", "a").Content == w.head("u", "b").Content {
				w.Fatal("two sessions share a content row")
			}
		}},
		{"no such session", func(w *world) {
			_, err := w.Sessions().Get(w.ctx, w.project.ID, "u", "none")
			w.code(err, assay.CodeNotFound)
			_, _, err = w.Bodies().Get(w.ctx, 1<<40)
			w.code(err, assay.CodeNotFound)
		}},
		{"projects do not see each other", func(w *world) {
			other := newWorld(w.T, w.Store)
			w.put(session("u", "s", "mine"))
			other.put(session("u", "s", "theirs"))
			equal(w, "hash", w.head("u", "s").ContentHash, assay.Hash("mine"))
			_, err := w.Sessions().Get(w.ctx, other.project.ID, "u", "none")
			other.code(err, assay.CodeNotFound)
			heads, _, err := w.Sessions().List(w.ctx, w.project.ID, store.SessionQuery{}, store.Page{})
			w.ok(err)
			equal(w, "listed", len(heads), 1)
		}},
		{"bodies", func(w *world) {
			w.put(session("u", "s", "one"))
			first := w.head("u", "s").Content
			w.put(session("u", "s", "two"))
			for _, want := range []struct {
				key  assay.ContentKey
				text string
			}{{first, "one"}, {w.head("u", "s").Content, "two"}} {
				body, hash, err := w.Bodies().Get(w.ctx, want.key)
				w.ok(err)
				equal(w, "body", string(body), "body "+want.text)
				equal(w, "hash", hash, assay.Hash(want.text))
			}
		}},
		{"many bodies at once", func(w *world) {
			w.put(session("u", "s", "one"), session("u", "t", "two"), session("u", "v", "three"))
			s, t, v := w.head("u", "s").Content, w.head("u", "t").Content, w.head("u", "v").Content
			got, err := w.Bodies().Load(w.ctx, []assay.ContentKey{t, 1 << 40, s, t}, 1<<20)
			w.ok(err)
			equal(w, "bodies, the missing one left out", got, map[assay.ContentKey]store.Body{
				s: {Text: []byte("body one"), Hash: "one"}, t: {Text: []byte("body two"), Hash: "two"},
			})
			got, err = w.Bodies().Load(w.ctx, []assay.ContentKey{s, t, v}, 10)
			w.ok(err)
			equal(w, "bodies until more than 10 bytes are read", len(got), 2)
			got, err = w.Bodies().Load(w.ctx, nil, 10)
			w.ok(err)
			equal(w, "of no keys", len(got), 0)
		}},
		{"a batch is stored whole or not", func(w *world) {
			_, err := w.Sessions().Put(w.ctx, 1<<40, 0, []store.NewSession{session("u", "s", "c")}, start)
			w.code(err, assay.CodeNotFound)
			results, err := w.Sessions().Put(w.ctx, w.project.ID, 0, nil, start)
			w.ok(err)
			equal(w, "results of an empty batch", len(results), 0)
		}},
		{"list in order of day, user, session", testSessionOrder},
		{"list is stable while sessions arrive", testSessionPages},
		{"rekey", testRekey},
		{"count", func(w *world) {
			w.put(session("u", "a", "1"), session("u", "b", "2"))
			w.put(session("u", "a", "3"))
			totals, err := w.Sessions().Count(w.ctx, w.project.ID)
			w.ok(err)
			equal(w, "totals", totals, store.Totals{Sessions: 2, Contents: 3, Bytes: 300})
		}},
	})
}

func testHead(w *world) {
	full := store.NewSession{Body: []byte{0, 1, 255}, Head: assay.Head{
		UserID: "user", SessionID: "id", ContentHash: "h1", StartedAt: ptr(at(1)), LastTurnAt: ptr(at(2)), SettleFrom: ptr(at(3)),
		Day: "2026-03-01", Arm: "treatment", Case: "case-7", SourceURL: "https://example.com/?a='b'", AgentVersion: "1.2", Source: "native",
		Turns: 3, Messages: 9, ToolCalls: 2, BodyBytes: 1 << 40, Repaired: true, Empty: true,
		Metadata: map[string]json.RawMessage{"arm": json.RawMessage(`"treatment"`), "n": json.RawMessage("1.50"), "b": json.RawMessage("true"), "z": json.RawMessage("null")},
	}}
	bare := store.NewSession{Body: []byte("b"), Head: assay.Head{UserID: "user", SessionID: "bare", ContentHash: "h2", Day: assay.Undated, Arm: assay.Untagged}}
	imported, err := w.Imports().Start(w.ctx, w.project.ID, "f", "native", "me", start)
	w.ok(err)
	_, err = w.Sessions().Put(w.ctx, w.project.ID, imported, []store.NewSession{full, bare}, at(10).Add(999*time.Nanosecond))
	w.ok(err)
	for _, n := range []store.NewSession{full, bare} {
		got := w.head(n.Head.UserID, n.Head.SessionID)
		want := n.Head
		want.Key, want.Content, want.Version, want.ArrivedAt = got.Key, got.Content, 1, at(10)
		equal(w, "head", got, want)
		if got.Key == 0 || got.Content == 0 {
			w.Error("a stored session has no numbers")
		}
		contents, err := w.Sessions().Contents(w.ctx, got.Key)
		w.ok(err)
		equal(w, "contents", contents, []store.Content{{Key: got.Content, Hash: got.ContentHash, Version: 1, ArrivedAt: at(10), Import: imported, Bytes: n.Head.BodyBytes, Current: true}})
	}
}

func testPut(w *world) {
	equal(w, "first", w.put(session("u", "a", "1"), session("u", "b", "2")), []store.PutResult{store.PutNew, store.PutNew})
	before := w.head("u", "a")
	unchanged := session("u", "a", "1")
	unchanged.Head.Source = "another importer"
	results, err := w.Sessions().Put(w.ctx, w.project.ID, 0, []store.NewSession{unchanged, session("u", "b", "3")}, at(100))
	w.ok(err)
	equal(w, "second", results, []store.PutResult{store.PutUnchanged, store.PutChanged})
	equal(w, "the head of unchanged content", w.head("u", "a"), before)
	b := w.head("u", "b")
	equal(w, "changed", []any{b.ContentHash, b.Version, b.ArrivedAt}, []any{assay.Hash("3"), 2, at(100)})
}

func testBack(w *world) {
	w.put(session("u", "s", "one"))
	first := w.head("u", "s")
	f := w.grading(w.newRun(), []assay.Head{first})
	w.grade(f, 1)
	equal(w, "current while nothing changed", w.verdictsOf(f.Run)[0].Current, true)

	w.put(session("u", "s", "two"))
	equal(w, "current after a change", w.verdictsOf(f.Run)[0].Current, false)
	second := w.head("u", "s")
	equal(w, "key", second.Key, first.Key)

	back := session("u", "s", "one")
	back.Head.Arm, back.Head.Turns = "treatment", 5
	results, err := w.Sessions().Put(w.ctx, w.project.ID, 0, []store.NewSession{back}, at(50))
	w.ok(err)
	equal(w, "result", results, []store.PutResult{store.PutChanged})
	now := w.head("u", "s")
	equal(w, "content row", now.Content, first.Content)
	equal(w, "version", now.Version, 1)
	equal(w, "the head is that of what was put", []any{now.Arm, now.Turns, now.ArrivedAt}, []any{"treatment", 5, at(50)})
	equal(w, "current again", w.verdictsOf(f.Run)[0].Current, true)

	w.put(session("u", "s", "three"))
	contents, err := w.Sessions().Contents(w.ctx, now.Key)
	w.ok(err)
	var told []string
	for _, c := range contents {
		told = append(told, fmt.Sprintf("%d %s %t", c.Version, c.Hash, c.Current))
	}
	equal(w, "contents, newest first", told, []string{"3 three true", "2 two false", "1 one false"})
}

// dated is a session on a day.
func dated(user, id, day string) store.NewSession {
	n := session(user, id, user+id)
	n.Head.Day = day
	if day == assay.Undated {
		n.Head.StartedAt = nil
		return n
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	n.Head.StartedAt = ptr(t.Add(12 * time.Hour))
	return n
}

func names(heads []assay.Head) []string {
	list := []string{}
	for _, h := range heads {
		list = append(list, h.Day+" "+h.Name())
	}
	return list
}

func testSessionOrder(w *world) {
	w.put(dated("b", "1", "2026-03-02"), dated("a", "3", assay.Undated), dated("a", "10", "2026-03-02"), dated("a", "2", "2026-03-02"),
		dated("B", "1", "2026-03-02"), dated("é", "1", "2026-03-02"), dated("~", "1", "2026-03-02"), dated("z", "9", "2026-03-01"), dated("a", "x", assay.Undated))
	list := func(q store.SessionQuery) []string {
		return names(pages(w, func(p store.Page) ([]assay.Head, string, error) { return w.Sessions().List(w.ctx, w.project.ID, q, p) }))
	}
	equal(w, "order", list(store.SessionQuery{}), []string{
		"2026-03-01 z/9", "2026-03-02 B/1", "2026-03-02 a/10", "2026-03-02 a/2", "2026-03-02 b/1", "2026-03-02 ~/1", "2026-03-02 é/1", "undated a/3", "undated a/x",
	})
	equal(w, "matches", list(store.SessionQuery{Match: func(h *assay.Head) bool { return h.UserID == "a" }}),
		[]string{"2026-03-02 a/10", "2026-03-02 a/2", "undated a/3", "undated a/x"})
}

func testSessionPages(w *world) {
	w.put(dated("m", "1", "2026-03-01"), dated("m", "3", "2026-03-01"), dated("m", "5", "2026-03-01"), dated("m", "7", "2026-03-01"))
	first, next, err := w.Sessions().List(w.ctx, w.project.ID, store.SessionQuery{}, store.Page{Limit: 2})
	w.ok(err)
	w.put(dated("m", "2", "2026-03-01"), dated("m", "6", "2026-03-01"), dated("a", "0", "2026-02-01"))
	rest, next, err := w.Sessions().List(w.ctx, w.project.ID, store.SessionQuery{}, store.Page{Limit: 10, Cursor: next})
	w.ok(err)
	equal(w, "cursor after the last page", next, "")
	equal(w, "pages", names(append(first, rest...)), []string{"2026-03-01 m/1", "2026-03-01 m/3", "2026-03-01 m/5", "2026-03-01 m/6", "2026-03-01 m/7"})
	_, _, err = w.Sessions().List(w.ctx, w.project.ID, store.SessionQuery{}, store.Page{Cursor: "not a cursor"})
	w.code(err, assay.CodeInvalid)
}

func testRekey(w *world) {
	other := newWorld(w.T, w.Store)
	other.fill(2)
	before := w.fill(5)
	other.put(session("x", "later", "c"))
	var seen []assay.SessionKey
	last := assay.SessionKey(0)
	for range 10 {
		next, err := w.Sessions().Rekey(w.ctx, w.project.ID, last, 2, func(h *assay.Head) {
			seen = append(seen, h.Key)
			h.Day, h.Arm, h.Case = "2026-02-28", "new arm", "new case"
		})
		w.ok(err)
		if last = next; last == 0 {
			break
		}
	}
	equal(w, "the key after the last session", last, assay.SessionKey(0))
	equal(w, "sessions seen", len(seen), 5)
	if !slices.IsSorted(seen) {
		w.Error("sessions were not visited in the order of their keys")
	}
	after, _, err := w.Sessions().List(w.ctx, w.project.ID, store.SessionQuery{}, store.Page{})
	w.ok(err)
	for i := range before {
		before[i].Day, before[i].Arm, before[i].Case = "2026-02-28", "new arm", "new case"
	}
	equal(w, "heads", after, before)
	equal(w, "the other project's arm", other.head("u", "s0000").Arm, assay.Control)
}
