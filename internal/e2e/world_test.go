package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
	"assay/internal/store/postgres/pgtest"
)

// binary is the built program; TestMain builds it once because every test runs it.
var binary string

func TestMain(m *testing.M) {
	if play, ok := roles[os.Getenv("E2E_ROLE")]; ok {
		play()
		return
	}
	pgtest.Main(building{m})
}

// roles are harnesses that this test plays.
var roles = map[string]func(){}

type building struct{ m *testing.M }

func (b building) Run() int {
	dir, err := os.MkdirTemp("", "assay-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "assay")
	build := exec.Command("go", "build", "-o", binary, "assay/cmd/assay")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build assay: %v\n%s", err, out)
		return 1
	}
	// Those that run beside others mostly wait.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return b.m.Run()
}

// world is a data folder or a database, a scripted model and the program.
type world struct {
	t        *testing.T
	dir      string // data folder
	database string // "" is SQLite
	model    *llmtest.Server
	env      []string // of the program, beside its bare one
}

// takeover is how soon a new owner must go on: the bounds.
func (w *world) takeover() time.Duration {
	if w.database != "" {
		return 3 * time.Second
	}
	return time.Second
}

func onEach(t *testing.T, f func(t *testing.T, w *world)) {
	t.Run("sqlite", func(t *testing.T) { f(t, newWorld(t, "")) })
	t.Run("postgres", func(t *testing.T) { f(t, newWorld(t, pgtest.Database(t))) })
}

func newWorld(t *testing.T, database string) *world {
	return &world{t: t, dir: t.TempDir(), database: database, model: llmtest.New(t, passing)}
}

// passing answers every question with a pass.
func passing(*llmtest.Request) llmtest.Step { return llmtest.Verdict(map[string]any{"ok": true}) }

// ticket is the mark by which scripts know a session.
func ticket(i int) string { return fmt.Sprintf("ticket #%06d", i) }

// ticketOf reads the mark back; -1 when there is none.
func ticketOf(r *llmtest.Request) int {
	_, rest, found := strings.Cut(string(r.Body), "ticket #")
	var n int
	if !found {
		return -1
	}
	if _, err := fmt.Sscanf(rest[:6], "%d", &n); err != nil {
		return -1
	}
	return n
}

// sessions writes n sessions over four days and two arms in the native format.
func (w *world) sessions(n int) string {
	w.t.Helper()
	var b bytes.Buffer
	for i := range n {
		arm := []string{"treatment", "control"}[i%2]
		fmt.Fprintf(&b, `{"format":"assay.session/1","user_id":"u%d","session_id":"s%06d","turns":[{"started_at":"2026-03-%02dT10:00:00Z","metadata":{"arm":%q},"messages":[{"role":"user","content":"please help with %s"},{"role":"assistant","content":"done"}]}]}`+"\n",
			i%50, i, 1+i%4, arm, ticket(i))
	}
	file := filepath.Join(w.t.TempDir(), "sessions.jsonl")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// judge writes a judge that asks the scripted model; settings are more lines of its llm block.
func (w *world) judge(name string, settings ...string) string {
	w.t.Helper()
	return w.judgeAt(name, w.model.BaseURL, settings...)
}

// judgeAt writes one that asks a model elsewhere.
func (w *world) judgeAt(name, base string, settings ...string) string {
	w.t.Helper()
	yaml := fmt.Sprintf(`name: %s
kind: llm
criteria:
  - name: ok
    type: boolean
    question: Did the agent help?
llm:
  base_url: %s
  model: test-2026-01-01
  %s
`, name, base, strings.Join(settings, "\n  "))
	file := filepath.Join(w.t.TempDir(), name+".yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"--data", w.dir}, args...)
	if w.database != "" {
		args = append([]string{"--database", w.database}, args...)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TMPDIR=" + os.TempDir()}, w.env...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// ran is how a command ended.
type ran struct {
	out, err string
	code     int
}

// run runs a command to its end.
func (w *world) run(args ...string) ran {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := w.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("assay %v: %v", args, err)
	}
	return ran{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// ok runs a command that must succeed.
func (w *world) ok(args ...string) string {
	w.t.Helper()
	r := w.run(args...)
	if r.code != 0 {
		w.t.Fatalf("assay %v: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// view reads a run. It starts no driver.
func (w *world) view(run string) api.RunView {
	w.t.Helper()
	var v api.RunView
	if out := w.ok("runs", "show", run, "--json"); json.Unmarshal([]byte(out), &v) != nil {
		w.t.Fatalf("runs show: %s", out)
	}
	return v
}

// process is the program in the background.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	err  *lines
	done chan struct{}
}

// start runs a command in the background; it is killed when the test ends.
func (w *world) start(args ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, cmd: w.command(context.Background(), args...), err: &lines{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.err, p.err
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // killed on purpose, mostly
	}()
	w.t.Cleanup(p.kill)
	return p
}

// kill is kill -9, and waits for the end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // ended already: fine
	<-p.done
}

func (p *process) wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.t.Fatalf("assay did not end within %s:\n%s", limit, p.err)
		return -1
	}
}

// lines collects output of a process.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, within)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func adds(t *testing.T, c assay.Counts) {
	t.Helper()
	if c.Pending+c.Graded+c.Errored+c.Ungradable+c.Cancelled+c.Abandoned != c.Total {
		t.Errorf("counts do not add up: %+v", c)
	}
}
