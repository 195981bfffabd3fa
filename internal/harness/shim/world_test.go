//go:build linux

package shim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/harness/report"
	"assay/internal/logs"
	"assay/internal/process"
)

// launch is one launch of a test.
type launch struct {
	t     testing.TB
	dir   string
	order Order
}

// newLaunch is one whose harness plays a role. It leaves nothing behind, whatever happens.
func newLaunch(t testing.TB, role string, env ...string) *launch {
	t.Helper()
	root := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &launch{t: t, dir: filepath.Join(root, "a1"), order: Order{Run: "r1", Launch: 1, LogDir: filepath.Join(root, "log"),
		Argv: []string{self}, Cwd: root, Env: append([]string{"SHIM_ROLE=" + role}, env...),
		Grace: 300 * time.Millisecond, OrphanGrace: time.Minute}}
	t.Cleanup(func() { a.clean() })
	return a
}

func (a *launch) clean() {
	if standing, _ := Look(a.dir); standing == Unlaunched {
		return
	}
	if left, err := Kill(a.dir, 5*time.Second); err != nil || len(left) > 0 {
		a.t.Errorf("clean up: %v left, %v", left, err)
	}
}

// program plays the shim: this test, or the one to measure.
func program() string {
	if p := os.Getenv("SHIM_TEST_PROGRAM"); p != "" {
		return p
	}
	return "/proc/self/exe"
}

func (a *launch) launch() {
	a.t.Helper()
	if err := Launch(program(), a.dir, a.order); err != nil {
		a.t.Fatal(err)
	}
}

// until polls for what must come within a time.
func until(t testing.TB, within time.Duration, what string, is func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if time.Since(begin) > within {
			t.Fatalf("not within %s: %s", within, what)
		}
		<-tick.C
	}
	return time.Since(begin)
}

func (a *launch) await(want Standing) {
	a.t.Helper()
	var got Standing
	until(a.t, 10*time.Second, string(want), func() bool {
		var err error
		if got, err = Look(a.dir); err != nil {
			a.t.Fatal(err)
		}
		if got == Finished && want != Finished {
			e, _ := ReadExit(a.dir)
			a.t.Fatalf("it has finished: %+v", e)
		}
		return got == want
	})
}

// exit waits for exit.json.
func (a *launch) exit(within time.Duration) Ended {
	a.t.Helper()
	until(a.t, within, "exit.json", func() bool { standing, _ := Look(a.dir); return standing == Finished })
	e, err := ReadExit(a.dir)
	if err != nil {
		a.t.Fatal(err)
	}
	return e
}

func (a *launch) output() string {
	a.t.Helper()
	var text strings.Builder
	if err := logs.Copy(&text, a.order.LogDir); err != nil {
		a.t.Fatal(err)
	}
	return text.String()
}

// said waits until the harness has printed a line that begins with a word, and returns the numbers there.
func (a *launch) said(word string) []int {
	a.t.Helper()
	line := ""
	until(a.t, 10*time.Second, "the harness says "+word, func() bool {
		for l := range strings.Lines(a.output()) {
			if strings.HasPrefix(l, word) && strings.HasSuffix(l, "\n") {
				line = l
				return true
			}
		}
		return false
	})
	return numbers(line)
}

func (a *launch) dial() *Conn {
	a.t.Helper()
	a.await(Alive)
	c, err := Dial(a.t.Context(), a.dir)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { c.Close() })
	return c
}

func (a *launch) stop(cause assay.ExitCause) {
	a.t.Helper()
	if err := a.dial().Stop(cause); err != nil {
		a.t.Fatal(err)
	}
}

func (a *launch) events() (list []report.Event) {
	a.t.Helper()
	if err := Events(a.dir, 0, func(e report.Event) error { list = append(list, e); return nil }); err != nil {
		a.t.Fatal(err)
	}
	for i, e := range list {
		if e.N != int64(i+1) {
			a.t.Errorf("event %d has number %d", i+1, e.N)
		}
	}
	return list
}

func (a *launch) started() (b started) {
	a.t.Helper()
	if err := durable.ReadJSON(a.dir, shimFile, &b); err != nil {
		a.t.Fatal(err)
	}
	return b
}

// alive says whether a process lives; one that nobody reaped is dead.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func nobody(t *testing.T, pids []int) {
	t.Helper()
	if len(pids) == 0 {
		t.Error("no process was announced")
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d of %v is alive", pid, pids)
		}
	}
}

// fifo makes one that a harness waits for, and what opens it.
func fifo(t *testing.T) (env string, open func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return "SHIM_GO=" + path, func() {
		if err := os.WriteFile(path, []byte("go"), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// served launches from a process of its own, and returns it.
func (a *launch) served(env ...string) *exec.Cmd {
	a.t.Helper()
	order, err := json.Marshal(a.order)
	if err != nil {
		a.t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append([]string{"SHIM_ROLE=server", "SHIM_DIR=" + a.dir, "SHIM_ORDER=" + string(order)}, env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "launched\n" {
		a.t.Fatal(line)
	}
	return cmd
}

// bystander is a process that no launch has to do with.
func bystander(t *testing.T) process.Identity {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"SHIM_ROLE=silent"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	id, err := process.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func has(events []report.Event, is func(report.Event) bool) bool {
	return slices.ContainsFunc(events, is)
}
