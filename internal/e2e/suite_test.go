package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/harness/shim/shimtest"
)

// suite applies a suite of one sh script in a folder of its own, which is returned.
func (w *world) suite(name, script, more string) (dir string) {
	w.t.Helper()
	w.t.Cleanup(func() { shimtest.EndAll(w.t, w.dir) })
	dir = w.t.TempDir()
	yaml := fmt.Sprintf("suites:\n  %s:\n    command: [sh, run.sh]\n    env: {pass: [PATH]}\n%s", name, more)
	for file, text := range map[string]string{"run.sh": script, "assay.yaml": yaml} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	w.ok("suite", "apply", filepath.Join(dir, "assay.yaml"))
	return dir
}

// fifo makes a pipe on which a harness waits for release.
func fifo(t *testing.T, dir string) (release func()) {
	t.Helper()
	path := filepath.Join(dir, "go")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			_, err = f.WriteString("go\n")
			t.Cleanup(func() { f.Close() }) // closed before it is read the text would be gone
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// gone says that a process is gone, or a zombie that nobody has looked at yet.
func gone(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func run(t *testing.T, c *client.Client, suite string) assay.RunID {
	t.Helper()
	return must[api.SuiteRun](t)(c.RunSuite(t.Context(), "default", suite, engine.SuiteRequest{By: "e2e"}, "")).ID
}

// ended waits until a run has ended.
func ended(t *testing.T, w *world, id assay.RunID, within time.Duration) (v api.RunView) {
	t.Helper()
	slowly(t, within, "the run ends", func() bool {
		v = w.view(id.String())
		return v.State.Terminal()
	})
	return v
}

// The server is killed while a harness runs and another one is started: the harness is carried on, `logs
// -f` shows its output from the first byte to the last, once, and its true exit code is known.
func TestAHarnessOutlivesItsServer(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		dir := w.suite("survivor", "echo one\nread x < go\necho two\nread y < go\necho three\nexit 7\n", "")
		release := fifo(t, dir)
		c, server := w.serve()
		id := run(t, c, "survivor")
		follow := w.start("logs", id.String(), "-f")
		slowly(t, 20*time.Second, "the first line is followed", func() bool { return strings.Contains(follow.err.String(), "one\n") })
		harness := w.view(id.String()).Harness.PID
		server.kill()
		release() // it writes while nobody is there
		_, second := w.serve()
		slowly(t, 20*time.Second, "the harness is carried on", func() bool { v := w.view(id.String()); return v.Epoch == 2 && v.Harness.LogLines == 2 })
		if v := w.view(id.String()); v.Harness.PID != harness || v.Harness.Launch != 1 {
			t.Errorf("another harness: %+v", v.Harness)
		}
		second.kill()
		release() // and now it ends while nobody is there
		slowly(t, 20*time.Second, "the harness ends", func() bool { return gone(harness) })
		if w.database == "" { // with a database it stands by from the start
			slowly(t, 20*time.Second, "logs -f finds nobody", func() bool { return strings.Contains(follow.err.String(), "no process drives "+id.String()) })
		}
		w.serve() // which looking must not hold up
		v := ended(t, w, id, 30*time.Second)
		if v.State != assay.RunFailed || v.Reason != assay.ReasonExitCode || v.Harness.Exit == nil || v.Harness.Exit.Code != 7 {
			t.Errorf("%s %s: %s, exit %+v", v.State, v.Reason, v.Sentence, v.Harness.Exit)
		}
		if code := follow.wait(30 * time.Second); code != 0 {
			t.Errorf("logs -f ended with %d", code)
		}
		out := keepLines(follow.err.String(), "one", "two", "three")
		if out != "one\ntwo\nthree\n" {
			t.Errorf("followed\n%s", follow.err)
		}
		if log := w.ok("logs", id.String()); log != "one\ntwo\nthree\n" {
			t.Errorf("log %q", log)
		}
		w.ok("doctor")
	})
}

// keepLines leaves out what a command says besides.
func keepLines(text string, keep ...string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, k := range keep {
			if line == k+"\n" {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// A harness that ignores TERM, forks, starts a grandchild in a session of its own and keeps its output open:
// grace + 2 s after the cancel nothing of it is alive and the run has ended. The same when the server was
// killed before and started again.
func TestACancelEndsAllOfAHarness(t *testing.T) {
	const grace = time.Second
	script := `trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ > grandchild; while :; do sleep 1; done' &
sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 1; done' &
echo $$ > self
while [ ! -s grandchild ] || [ ! -s child ]; do sleep 0.01; done
echo ready
while :; do sleep 1; done
`
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed before %t", killed), func(t *testing.T) {
			w := newWorld(t, "")
			dir := w.suite("stubborn", script, "    grace: 1s\n")
			c, server := w.serve()
			id := run(t, c, "stubborn")
			slowly(t, 20*time.Second, "the harness is ready", func() bool { return strings.Contains(w.ok("logs", id.String()), "ready") })
			if killed {
				server.kill()
				c, _ = w.serve()
			}
			asked := time.Now()
			must[api.RunView](t)(c.Cancel(t.Context(), id, false))
			v := ended(t, w, id, grace+20*time.Second)
			took := v.EndedAt.Sub(asked)
			if v.State != assay.RunCancelled || took > grace+2*time.Second {
				t.Errorf("%s after %s", v.State, took)
			}
			for _, who := range []string{"self", "child", "grandchild"} {
				if pid := pidIn(t, filepath.Join(dir, who)); !gone(pid) {
					t.Errorf("%s, %d, is alive", who, pid)
				}
			}
			// It can be started again at once.
			again := run(t, c, "stubborn")
			must[api.RunView](t)(c.Cancel(t.Context(), again, false))
			ended(t, w, again, 30*time.Second)
		})
	}
}

// 100 starts at the same time of one suite, through the network and through the socket: one run.
func TestAHundredStartsGiveOneRun(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		dir := w.suite("once", "read x < go\n", "")
		release := fifo(t, dir)
		c, _ := w.serve()
		type answer struct {
			id  assay.RunID
			err error
		}
		answers := make(chan answer, 100)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range cap(answers) {
			go func() {
				r, err := c.RunSuite(ctx, "default", "once", engine.SuiteRequest{}, "")
				answers <- answer{r.ID, err}
			}()
		}
		// Which number it has is the database's own: on PostgreSQL refused starts use numbers up.
		var started []assay.RunID
		var refused []error
		for range cap(answers) {
			if a := <-answers; a.err == nil {
				started = append(started, a.id)
			} else {
				refused = append(refused, a.err)
			}
		}
		if len(started) != 1 {
			t.Fatalf("%d runs were started: %v", len(started), refused)
		}
		for _, err := range refused {
			if assay.CodeOf(err) != assay.CodeConflict || !strings.Contains(err.Error(), started[0].String()) {
				t.Errorf("%v", err)
			}
		}
		release()
		if v := ended(t, w, started[0], 30*time.Second); v.State != assay.RunCompleted {
			t.Errorf("%s: %s", v.State, v.Sentence)
		}
	})
}
