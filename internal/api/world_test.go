package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/clock"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/grading"
	"assay/internal/harness"
	"assay/internal/ingest"
	"assay/internal/judge"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// world is the real thing on a real database: store, engine, driver, API on a socket and on TCP. Only
// the judge is scripted.
type world struct {
	store   store.Store
	engine  *engine.Engine
	judge   *scripted
	models  *knownModels
	server  *http.Server // of tcp
	address string       // of tcp
	socket  *client.Client
	tcp     *client.Client
	log     *bytes.Buffer
	dir     string // data folder
}

type option func(*api.GuardOptions)

func newWorld(t testing.TB, options ...option) *world {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	st, err := sqlite.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{store: st, judge: newScripted(), models: &knownModels{store: st}, log: new(bytes.Buffer), dir: dir}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	grader := grading.New(grading.Options{
		Store: st, Now: now, Log: log,
		Build: func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return w.judge, nil },
	})
	dispatcher := local.New(local.Options{
		Store: st, Now: now, Log: log, Poll: 20 * time.Millisecond,
		Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: grader, assay.RunSingle: grader},
	})
	w.engine = engine.New(st, grader, harness.Resolver(), dispatcher.Wake, now)
	started := now()
	h := api.New(api.Services{
		Store: st, Engine: w.engine, CompileJudge: compile, Now: now, Log: log,
		Models: w.models, Judging: w.models,
		Harnesses: suites{dir: dir, driver: harness.New(harness.Options{Store: st, Dir: dir, Now: now}), tick: clock.New(clock.Options{Store: st, Engine: w.engine, Now: now, Log: log})},
		Import: func(ctx context.Context, p assay.Project, file io.Reader, o assay.ImportOptions) (store.Import, error) {
			o.Spool = dir
			return ingest.Import(ctx, st, p, file, o, now)
		},
		Owner: func() api.OwnerInfo {
			return api.OwnerInfo{PID: 1, Since: started, Driving: true, Version: "test"}
		},
	})
	guard := api.GuardOptions{}
	for _, o := range options {
		o(&guard)
	}
	w.server, w.address = serve(t, "tcp", "127.0.0.1:0", api.Guard(h, guard))
	if w.tcp, err = client.Server("http://"+w.address, guard.Token); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	serve(t, "unix", path, api.Guard(h, api.GuardOptions{Socket: true}))
	w.socket = client.Socket(path)
	t.Cleanup(w.tcp.Close)
	t.Cleanup(w.socket.Close)

	driving, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = dispatcher.Run(driving) }()
	t.Cleanup(func() { w.judge.open(); stop(); <-done })

	if _, err := w.socket.CreateProject(ctx, "default", nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// serve serves h until the test ends.
func serve(t testing.TB, network, address string, h http.Handler) (*http.Server, string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	srv := api.HTTPServer(h)
	conns := &connections{}
	srv.ConnState = conns.note
	tracked.Store(srv, conns)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return srv, l.Addr().String()
}

// compile reads "NAME VERSION", "NAME command", or "fail CODE", "fail plain", "fail panic".
func compile(given api.JudgeSource, allowCommand bool) (j assay.Judge, v assay.JudgeVersion, err error) {
	source := given.Source
	name, version, _ := strings.Cut(strings.TrimSpace(source), " ")
	if version == "command" && !allowCommand {
		return j, v, assay.Errorf(assay.CodeForbidden, "judge %s runs a command", name).WithHint("apply it on the server's machine")
	}
	switch {
	case name == "":
		return j, v, assay.Errorf(assay.CodeInvalid, "name: missing")
	case name == "fail" && version == "plain":
		return j, v, errors.New("dial postgres://user:secret@db")
	case name == "fail" && version == "panic":
		panic("secret")
	case name == "fail":
		return j, v, assay.Errorf(assay.Code(version), "it is %s", version).WithHint("do <this>").With("run", "r7")
	}
	id := assay.Hash(fmt.Sprintf("%064x", []byte(version)))
	kind := assay.JudgeRules
	if strings.HasPrefix(version, "llm") {
		kind = assay.JudgeLLM
	}
	return assay.Judge{Name: name, Version: id, Source: source}, assay.JudgeVersion{
		ID: id, Kind: kind, Unit: assay.UnitSession, Canonical: json.RawMessage(`{}`),
		Criteria: []assay.Criterion{{Name: "done", Type: assay.Boolean}},
	}, nil
}

// scripted answers true, or false where no is set, as soon as its gate is open.
type scripted struct {
	gate   chan struct{}
	opened atomic.Bool
	no     atomic.Bool
	calls  atomic.Int64
	asked  chan struct{} // one per call, for those who wait for the first
}

func newScripted() *scripted {
	s := &scripted{gate: make(chan struct{}), asked: make(chan struct{}, 1000)}
	return s
}

func (s *scripted) open() {
	if s.opened.CompareAndSwap(false, true) {
		close(s.gate)
	}
}

func (s *scripted) Ask(ctx context.Context, q judge.Question) judge.Reply {
	r := judge.Reply{CallAt: now()}
	s.calls.Add(1)
	select {
	case s.asked <- struct{}{}:
	default:
	}
	select {
	case <-s.gate:
		yes := !s.no.Load()
		value := json.RawMessage(strconv.FormatBool(yes))
		r.Answers = []assay.Answer{{Pass: &yes, Findings: []assay.Finding{{Criterion: "done", Value: value, Applies: true, Reason: "<because>"}}}}
	case <-ctx.Done():
		r.Class, r.Error = assay.ClassAborted, "cut"
	}
	r.EndedAt = now()
	return r
}

func (s *scripted) NeedsBody() bool { return false }
func (s *scripted) Close() error    { return nil }

// sessions is a native file of n sessions of one user over two arms.
func sessions(t testing.TB, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		at := time.Date(2026, 7, 1+i%3, 12, 0, 0, 0, time.UTC)
		s := assay.Session{UserID: "ann/b", SessionID: fmt.Sprintf("s%04d", i), Turns: []assay.Turn{{
			StartedAt: &at, Metadata: map[string]json.RawMessage{"arm": json.RawMessage(fmt.Sprintf("%q", []string{"a", "b"}[i%2])), "group": json.RawMessage(`"g"`)},
			Messages: []assay.Message{{Role: assay.RoleUser, Content: "hello"}, {Role: assay.RoleAssistant, Content: "hi"}},
		}}}
		raw, err := json.Marshal(struct {
			Format string `json:"format"`
			assay.Session
		}{assay.FormatVersion, s})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	return b.String()
}

// stocked is a world with n sessions and the judge "good".
func stocked(t testing.TB, n int, options ...option) *world {
	t.Helper()
	w := newWorld(t, options...)
	imp, err := w.socket.Import(t.Context(), "default", assay.ImportOptions{File: "f.jsonl"}, strings.NewReader(sessions(t, n)), nil)
	if err != nil || imp.New != int64(n) {
		t.Fatalf("import: %+v, %v", imp, err)
	}
	if _, err := w.socket.ApplyJudge(t.Context(), "default", "good v1"); err != nil {
		t.Fatal(err)
	}
	return w
}

// holds fails the test unless err has the code.
func holds(t testing.TB, err error, code assay.Code) *assay.Error {
	t.Helper()
	var e *assay.Error
	if !errors.As(err, &e) || !errors.Is(err, &assay.Error{Code: code}) {
		t.Fatalf("error %v, want code %s", err, code)
	}
	return e
}

func unmarshal(t testing.TB, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

// connections are those of one server, so that a test can break them.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

var tracked sync.Map // *http.Server to *connections

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[net.Conn]bool{}
	}
	if state == http.StateClosed || state == http.StateHijacked {
		delete(c.open, conn)
		return
	}
	c.open[conn] = true
}

// drop breaks every connection over TCP.
func (w *world) drop() {
	found, _ := tracked.Load(w.server)
	c := found.(*connections)
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close()
	}
}
