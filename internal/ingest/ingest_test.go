package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"assay/internal/assay"
	"assay/internal/ingest"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

const tauBench = "../../../shared/data/tau-bench/historical_trajectories/gpt-4o-airline.trials-0-1.json"

func shared(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("shared data must be there in CI: %v", err)
		}
		t.Skipf("shared data is not there: %v", err)
	}
	return b
}

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

type world struct {
	t       testing.TB
	store   store.Store
	project assay.Project
}

func open(t testing.TB, settings assay.Settings) *world {
	t.Helper()
	st, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	p, err := st.Projects().Create(t.Context(), "p", settings, now())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, st, p}
}

func (w *world) importText(text string, o assay.ImportOptions) (store.Import, error) {
	if o.File == "" {
		o.File = "file"
	}
	return ingest.Import(w.t.Context(), w.store, w.project, strings.NewReader(text), o, now)
}

func (w *world) rejects(id int64) (lines []string) {
	w.t.Helper()
	rejects, _, err := w.store.Imports().Rejects(w.t.Context(), w.project.ID, id, store.Page{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rejects {
		lines = append(lines, fmt.Sprintf("%d %s %s", r.Line, r.Where, r.Reason))
	}
	return lines
}

func (w *world) head(user, id string) assay.Head {
	w.t.Helper()
	h, err := w.store.Sessions().Get(w.t.Context(), w.project.ID, user, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func (w *world) body(h assay.Head) *assay.Session {
	w.t.Helper()
	body, _, err := w.store.Bodies().Get(w.t.Context(), h.Content)
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := store.DecodeBody(body)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) count() store.Totals {
	w.t.Helper()
	c, err := w.store.Sessions().Count(w.t.Context(), w.project.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func line(user, id, text string) string {
	return fmt.Sprintf(`{"format":"assay.session/1","user_id":%q,"session_id":%q,"turns":[{"messages":[{"role":"user","content":%q}]}]}`, user, id, text)
}

func TestTauBenchTwice(t *testing.T) {
	w := open(t, assay.DefaultSettings())
	file := shared(t, tauBench)
	for round, want := range []store.Import{{New: 100, Labels: 100}, {Unchanged: 100}} {
		imp, err := w.importText(string(file), assay.ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if imp.New != want.New || imp.Unchanged != want.Unchanged || imp.Labels != want.Labels || imp.Changed+imp.Rejected+imp.Repaired != 0 ||
			imp.State != "done" || imp.Format != "tau-bench" || imp.Bytes != int64(len(file)) {
			t.Errorf("round %d: %+v", round, imp)
		}
		if c := w.count(); c.Sessions != 100 || c.Contents != 100 || c.Labels != 100 {
			t.Errorf("round %d: %+v", round, c)
		}
	}
	tally, err := w.store.Labels().Tally(t.Context(), w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range tally {
		if l.Criterion != "pass" || l.Rater != "tau-bench" || (l.Value == "true") != (l.N == 43) {
			t.Errorf("label %+v", l)
		}
	}
	h := w.head("mia_li_3668", "task-0-trial-0")
	if h.Day != assay.Undated || h.Arm != assay.Untagged || h.Case != "0" || h.SettleFrom != nil || h.Empty || h.Source != "tau-bench" {
		t.Errorf("head %+v", h)
	}
}

func TestHead(t *testing.T) {
	settings := assay.DefaultSettings()
	settings.Zone, settings.ArmKey, settings.ArmType, settings.CaseKey = "Europe/Berlin", "treated", assay.ArmBool, "task"
	w := open(t, settings)
	text := `{"format":"assay.session/1","user_id":"u","session_id":"s","source_url":"https://x/s","turns":[
		{"agent_version":"v1","metadata":{"treated":true,"task":7,"deep":{"a":1},"none":null},"messages":[{"role":"user","content":"a"}]},
		{"started_at":"2025-03-29T23:30:00.1234567Z","ended_at":"2025-03-29T23:40:00Z","agent_version":"v2","source":"live","metadata":{"treated":false},"messages":[{"role":"assistant","tool_calls":[{"name":"f"},{"name":"g"}]}]},
		{"started_at":"2025-03-29T22:00:00+01:00","messages":[{"role":"user","content":"b","at":"2025-03-29T23:59:00Z"}]}]}`
	if _, err := w.importText(strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), "\t", ""), assay.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	h := w.head("u", "s")

	if h.StartedAt.Format(time.RFC3339Nano) != "2025-03-29T23:30:00.123456Z" || h.Day != "2025-03-30" {
		t.Errorf("started %v, day %s", h.StartedAt, h.Day)
	}
	if h.LastTurnAt.Format(time.RFC3339Nano) != "2025-03-29T23:59:00Z" || !h.SettleFrom.Equal(*h.LastTurnAt) {
		t.Errorf("last %v, settles from %v", h.LastTurnAt, h.SettleFrom)
	}
	if h.Arm != assay.Treatment || h.Case != "7" || h.AgentVersion != assay.Mixed || h.Source != "live" || h.Turns != 3 || h.Messages != 3 || h.ToolCalls != 2 || h.SourceURL != "https://x/s" {
		t.Errorf("%+v", h)
	}
	if len(h.Metadata) != 2 {
		t.Errorf("metadata %v", h.Metadata)
	}
	if s := w.body(h); s.Turns[2].StartedAt.Format(time.RFC3339) != "2025-03-29T21:00:00Z" || string(s.Turns[0].Metadata["deep"]) != `{"a":1}` {
		t.Errorf("body %+v", s)
	}
}

func TestChangedSessionIsANewVersion(t *testing.T) {
	w := open(t, assay.DefaultSettings())
	for i, want := range []store.Import{{New: 2}, {Changed: 1, Unchanged: 1}, {Changed: 1, Unchanged: 1}} {
		imp, err := w.importText(line("u", "s", []string{"one", "two", "one"}[i])+"\n"+line("v", "s", "same"), assay.ImportOptions{})
		if err != nil || imp.New != want.New || imp.Changed != want.Changed || imp.Unchanged != want.Unchanged {
			t.Errorf("round %d: %+v, %v", i, imp, err)
		}
	}
	if c := w.count(); c.Sessions != 2 || c.Contents != 3 {
		t.Errorf("%+v", c)
	}
}

func TestGoodSessionsStayAndBadOnesAreTold(t *testing.T) {
	w := open(t, assay.DefaultSettings())
	text := strings.Join([]string{
		line("u", "1", "fine"),
		"",
		"this is not JSON",
		`{"format":"assay.session/2","user_id":"u","session_id":"x","turns":{}}`,
		line("u", "", "no id"),
		"  \t",
		`{"format":"assay.session/1","user_id":"u","session_id":"x","turns":[{"messages":[{"role":"user","content":7}]}]}`,
		`{"format":"assay.session/1","user_id":"u","session_id":"x","turns":[{"messages":[{"role":"judge","content":"x"}]}]}`,
		strings.Replace(line("u", "2", "bad \x01 utf"), `\x01`, "\xff \x00 \\ud800 \\u0000", 1),
		`{"format":"assay.session/1","user_id":"u","session_id":"3","turns":[],"unknown":{"a":NaN}}`,
		line(strings.Repeat("u", 513), "5", "a name no index takes"),
		line("u", "4", "fine")[:60],
	}, "\n")
	imp, err := w.importText(text, assay.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if imp.New != 3 || imp.Rejected != 7 || imp.Repaired != 1 || imp.State != "done" {
		t.Errorf("%+v", imp)
	}
	want := []string{
		"3  not JSON",
		`4 /format version "assay.session/2" is not known; this program reads "assay.session/1"`,
		"5 /session_id is missing or blank",
		"7 /turns/0/messages/0/content a number is not expected here",
		`8  turn 0, message 0 has the role "judge"`,
		"11  the user_id is 513 bytes long, more than 512",
		"12  not JSON: it ends too early",
	}
	got := w.rejects(imp.ID)
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	h := w.head("u", "2")
	if got := w.body(h).Turns[0].Messages[0].Content; !h.Repaired || got != "bad \uFFFD \uFFFD \uFFFD \uFFFD utf" {
		t.Errorf("repaired %v: %q", h.Repaired, got)
	}
	if !w.head("u", "3").Empty {
		t.Error("a session without turns is not empty")
	}
}

func TestStrictStoresAllOrNothing(t *testing.T) {
	w := open(t, assay.DefaultSettings())
	dir := t.TempDir()
	o := assay.ImportOptions{Strict: true, Spool: dir}
	imp, err := w.importText(line("u", "1", "fine")+"\nbad\n"+line("u", "2", "fine"), o)
	if assay.CodeOf(err) != assay.CodeRejected || imp.Rejected != 1 || imp.New != 0 || imp.State != "failed" {
		t.Errorf("%+v, %v", imp, err)
	}
	if got := w.rejects(imp.ID); len(got) != 1 || !strings.HasPrefix(got[0], "2  not JSON") {
		t.Errorf("rejects %q", got)
	}
	if c := w.count(); c.Sessions != 0 {
		t.Errorf("stored all the same: %+v", c)
	}
	if imp, err = w.importText(line("u", "1", "fine")+"\n"+line("u", "2", "fine"), o); err != nil || imp.New != 2 {
		t.Errorf("%+v, %v", imp, err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTruncatedArrayKeepsWhatCameBefore(t *testing.T) {
	w := open(t, assay.DefaultSettings())
	element := func(i int) string {
		return fmt.Sprintf(`{"task_id": %d, "trial": 0, "reward": 1.0, "traj": [{"role": "user", "content": "x"}], "info": {"task": {"user_id": "u"}}}`, i)
	}
	imp, err := w.importText("[\n"+element(0)+",\n"+element(1)+",\n"+element(2)[:70], assay.ImportOptions{})
	if err != nil || imp.New != 2 || imp.Labels != 2 || imp.Rejected != 1 {
		t.Errorf("%+v, %v", imp, err)
	}
	if got := w.rejects(imp.ID); len(got) != 1 || got[0] != "4 /2 the file ends inside this element" {
		t.Errorf("rejects %q", got)
	}
}

func TestUnknownFormat(t *testing.T) {
	w := open(t, assay.DefaultSettings())
	for text, want := range map[string]string{"": "it is empty", `{"a":1,"b":2}`: "members a, b", "hello": "begins with hello", "[]": "begins with []"} {
		imp, err := w.importText(text, assay.ImportOptions{})
		if assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), want) || imp.ID != 0 {
			t.Errorf("%q: %+v, %v", text, imp, err)
		}
	}
	if _, err := w.importText("{}", assay.ImportOptions{Format: "xml"}); assay.CodeOf(err) != assay.CodeInvalid {
		t.Errorf("%v", err)
	}
}

func TestBrokenReaderKeepsWhatCameBefore(t *testing.T) {
	w := open(t, assay.DefaultSettings())
	var text strings.Builder
	for i := range 5000 {
		text.WriteString(line("u", fmt.Sprint(i), strings.Repeat("x", 100)) + "\n")
	}
	r := io.MultiReader(strings.NewReader(text.String()), iotest.ErrReader(errors.New("the line broke")))
	imp, err := ingest.Import(t.Context(), w.store, w.project, r, assay.ImportOptions{File: "f"}, now)
	if err == nil || !strings.Contains(err.Error(), "the line broke") || imp.State != "failed" {
		t.Fatalf("%+v, %v", imp, err)
	}
	if c := w.count(); c.Sessions != imp.New || imp.New == 0 {
		t.Errorf("%d stored, %d told", c.Sessions, imp.New)
	}
	if imp, err = w.importText(text.String(), assay.ImportOptions{}); err != nil || w.count().Sessions != 5000 || imp.New+imp.Unchanged != 5000 {
		t.Errorf("%+v, %v", imp, err)
	}
}

func TestCancelledImportSaysSo(t *testing.T) {
	w := open(t, assay.DefaultSettings())
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	r := readerFunc(func(b []byte) (int, error) {
		if n++; n > 2000 {
			cancel()
		}
		return copy(b, line("u", fmt.Sprint(n), strings.Repeat("x", 500))+"\n"), nil
	})
	imp, err := ingest.Import(ctx, w.store, w.project, r, assay.ImportOptions{File: "f"}, now)
	if !errors.Is(err, context.Canceled) || imp.State != "failed" {
		t.Fatalf("%+v, %v", imp, err)
	}
	imports, _, err := w.store.Imports().List(t.Context(), w.project.ID, store.Page{Limit: 10})
	if err != nil || len(imports) != 1 || imports[0].State != "failed" || imports[0].EndedAt == nil {
		t.Errorf("%+v, %v", imports, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
