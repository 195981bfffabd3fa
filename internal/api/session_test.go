package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

func TestSessions(t *testing.T) {
	w := stocked(t, 12)
	ctx := t.Context()
	from, to := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 2, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		query api.SessionQuery
		want  int
	}{
		"all":             {api.SessionQuery{}, 12},
		"a window":        {api.SessionQuery{From: &from, To: &to}, 4},
		"a filter":        {api.SessionQuery{Filter: "arm == 'a'"}, 6},
		"both":            {api.SessionQuery{From: &from, To: &to, Filter: "arm == 'a' && turns == 1"}, 2},
		"labelled":        {api.SessionQuery{Labelled: true}, 0},
		"nothing matches": {api.SessionQuery{Filter: "user == 'nobody'"}, 0},
	} {
		page, err := w.tcp.Sessions(ctx, "default", c.query, store.Page{})
		if err != nil || len(page.Items) != c.want {
			t.Errorf("%s: %d sessions, %v", name, len(page.Items), err)
		}
	}
	for name, q := range map[string]api.SessionQuery{
		"a filter that does not compile": {Filter: "arm = 'a'"},
		"a variable that does not exist": {Filter: "colour == 'red'"},
		"an empty window":                {From: &to, To: &from},
	} {
		_, err := w.tcp.Sessions(ctx, "default", q, store.Page{})
		if e := holds(t, err, assay.CodeInvalid); e.Hint == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	_, err := w.tcp.Sessions(ctx, "default", api.SessionQuery{Set: "none"}, store.Page{})
	holds(t, err, assay.CodeNotFound)
}

func TestPagesHoldEverySessionOnce(t *testing.T) {
	w := stocked(t, 23)
	seen := map[string]bool{}
	pages := 0
	for cursor := ""; ; pages++ {
		page, err := w.tcp.Sessions(t.Context(), "default", api.SessionQuery{}, store.Page{Cursor: cursor, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Items {
			if seen[h.SessionID] {
				t.Errorf("%s twice", h.SessionID)
			}
			seen[h.SessionID] = true
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 23 || pages < 4 {
		t.Errorf("%d sessions on %d pages", len(seen), pages+1)
	}
	_, err := w.tcp.Sessions(t.Context(), "default", api.SessionQuery{}, store.Page{Cursor: "made up"})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.Sessions(t.Context(), "default", api.SessionQuery{}, store.Page{Limit: api.MaxLimit + 1})
	holds(t, err, assay.CodeInvalid)
}

func TestSessionNamesThatPathsTripOver(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, user := range []string{"ann/b", "..", ".", "a%2Fb", "ü?#&", "a b", "//", "%"} {
		for _, id := range []string{"x", "..", "a/../b", "ж/", "?content=1"} {
			raw, err := json.Marshal(map[string]any{"format": assay.FormatVersion, "user_id": user, "session_id": id,
				"turns": []any{map[string]any{"messages": []any{map[string]any{"role": "user", "content": user + "|" + id}}}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.tcp.Import(ctx, "default", assay.ImportOptions{}, strings.NewReader(string(raw)+"\n"), nil); err != nil {
				t.Fatal(err)
			}
			v, err := w.tcp.Session(ctx, "default", user, id, "")
			if err != nil {
				t.Errorf("%q / %q: %v", user, id, err)
				continue
			}
			var s assay.Session
			if err := json.Unmarshal(v.Body, &s); err != nil || s.UserID != user || s.SessionID != id || s.Turns[0].Messages[0].Content != user+"|"+id {
				t.Errorf("%q / %q: %s, %v", user, id, v.Body, err)
			}
		}
	}
}

func TestSessionShowsAnyContent(t *testing.T) {
	w := stocked(t, 1)
	ctx := t.Context()
	first, err := w.tcp.Session(ctx, "default", "ann/b", "s0000", "")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(sessions(t, 1), "hello", "good day", 1)
	if imp, err := w.tcp.Import(ctx, "default", assay.ImportOptions{}, strings.NewReader(changed), nil); err != nil || imp.Changed != 1 {
		t.Fatalf("%+v, %v", imp, err)
	}
	second, err := w.tcp.Session(ctx, "default", "ann/b", "s0000", "")
	if err != nil || len(second.Contents) != 2 || !strings.Contains(string(second.Body), "good day") || second.Shown != second.Head.ContentHash {
		t.Fatalf("%+v, %v", second, err)
	}
	old, err := w.tcp.Session(ctx, "default", "ann/b", "s0000", first.Shown)
	if err != nil || string(old.Body) != string(first.Body) || old.Shown == old.Head.ContentHash {
		t.Errorf("%+v, %v", old, err)
	}
	_, err = w.tcp.Session(ctx, "default", "ann/b", "s0000", "abc")
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.Session(ctx, "default", "ann/b", "none", "")
	holds(t, err, assay.CodeNotFound)
}

func TestSets(t *testing.T) {
	w := stocked(t, 30)
	ctx := t.Context()
	s, err := w.tcp.CreateSet(ctx, "default", "mine", api.Members{Sessions: []string{assay.SessionName("ann/b", "s0001")}})
	if err != nil || s.Members != 1 || s.Added != 1 || s.Name != "mine" {
		t.Fatalf("%+v, %v", s, err)
	}
	s, err = w.tcp.AddToSet(ctx, "default", "mine", api.Members{Query: &api.SessionQuery{Filter: "arm == 'b'"}})
	if err != nil || s.Members != 15 || s.Added != 14 {
		t.Fatalf("%+v, %v", s, err)
	}
	page, err := w.tcp.Sessions(ctx, "default", api.SessionQuery{Set: "mine"}, store.Page{})
	if err != nil || len(page.Items) != 15 {
		t.Errorf("%d sessions, %v", len(page.Items), err)
	}
	_, err = w.tcp.CreateSet(ctx, "default", "mine", api.Members{})
	holds(t, err, assay.CodeConflict)
	_, err = w.tcp.CreateSet(ctx, "default", "other", api.Members{Sessions: []string{"ann%2Fb/none"}})
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.CreateSet(ctx, "default", "other", api.Members{Sessions: []string{"nonsense"}})
	holds(t, err, assay.CodeInvalid)
	sets, err := w.tcp.Sets(ctx, "default")
	if err != nil || len(sets) != 1 {
		t.Errorf("a refused set was made: %+v, %v", sets, err)
	}
}

func TestJudges(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	j, err := w.tcp.ApplyJudge(ctx, "default", "good v1")
	if err != nil || j.Name != "good" || j.Changed == nil || !*j.Changed || j.Source != "good v1" || j.Definition.ID != j.Version {
		t.Fatalf("%+v, %v", j, err)
	}
	if j, err = w.tcp.ApplyJudge(ctx, "default", "good v1"); err != nil || *j.Changed {
		t.Errorf("applied again: %+v, %v", j, err)
	}
	if j, err = w.tcp.ApplyJudge(ctx, "default", "good v2"); err != nil || !*j.Changed || len(j.History) != 2 || j.History[0].Version != j.Version {
		t.Errorf("applied anew: %+v, %v", j, err)
	}
	if j, err = w.tcp.Judge(ctx, "default", "good"); err != nil || len(j.History) != 2 || j.Changed != nil {
		t.Errorf("%+v, %v", j, err)
	}
	if all, err := w.tcp.Judges(ctx, "default"); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	_, err = w.tcp.Judge(ctx, "default", "none")
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.ApplyJudge(ctx, "default", "")
	holds(t, err, assay.CodeInvalid)
}

func TestCommandsOnlyThroughTheSocket(t *testing.T) {
	w := newWorld(t)
	_, err := w.tcp.ApplyJudge(t.Context(), "default", "shell command")
	if e := holds(t, err, assay.CodeForbidden); e.Hint == "" {
		t.Error("no hint")
	}
	if _, err := w.socket.ApplyJudge(t.Context(), "default", "shell command"); err != nil {
		t.Error(err)
	}
	open := newWorld(t, func(o *api.GuardOptions) { o.Commands = true })
	if _, err := open.tcp.ApplyJudge(t.Context(), "default", "shell command"); err != nil {
		t.Error(err)
	}
}
