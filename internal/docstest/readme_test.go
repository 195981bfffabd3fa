package docstest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endpoint is the address of a model in README.md; the test puts a scripted one in its place.
const endpoint = "http://127.0.0.1:11434/v1"

// called is a line that runs the program.
var called = regexp.MustCompile(`^\s*(?:\$ )?assay\b`)

// numbered is a run named by its number.
var numbered = regexp.MustCompile(`\br[0-9]+\b`)

// TestTheProgram tries what the documents say of commands with one real program.
func TestTheProgram(t *testing.T) {
	bin := build(t)
	t.Run("commands of README.md run", func(t *testing.T) { runReadme(t, bin) })
	t.Run("judges of docs/JUDGES.md apply", func(t *testing.T) { applyJudges(t, bin) })
	t.Run("named commands exist", func(t *testing.T) { askHelp(t, bin) })
}

// runReadme runs every sh block of README.md that calls assay, in order, in one folder,
// with the real program. A block marked `output` shows lines that the block before it really prints.
func runReadme(t *testing.T, bin string) {
	dir := t.TempDir()
	model := newModel(t)
	printed := ""
	for _, b := range pages(t)["README.md"].blocks {
		text := strings.Join(b.lines, "\n")
		calls := false
		for _, line := range b.lines {
			calls = calls || called.MatchString(line)
		}
		if calls && numbered.MatchString(text) {
			t.Errorf("README.md:%d: a run's number depends on what was tried before; last is the newest", b.line)
		}
		switch {
		case b.language == "output":
			checkPrinted(t, "README.md", b, printed)
		case calls && b.language != "sh":
			t.Errorf("README.md:%d: commands stand in sh blocks, which this test runs", b.line)
		case calls && strings.HasPrefix(text, "assay serve"):
			serveAndStop(t, bin, dir, b)
		case calls:
			printed = runBlock(t, bin, dir, b, strings.ReplaceAll(text, endpoint, model))
		}
	}
}

func build(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	cmd := exec.Command("go", "build", "-o", filepath.Join(bin, "assay"), "./cmd/assay")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

func shell(t *testing.T, bin, dir, script string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}
	return cmd
}

func runBlock(t *testing.T, bin, dir string, b block, script string) string {
	t.Helper()
	out, err := shell(t, bin, dir, script).CombinedOutput()
	if err != nil {
		t.Fatalf("README.md:%d: %v\n%s\n%s", b.line, err, script, out)
	}
	return string(out)
}

// checkPrinted compares lines without regard to how they are indented; "..." leaves lines out.
func checkPrinted(t *testing.T, page string, b block, printed string) {
	t.Helper()
	have := map[string]bool{}
	for line := range strings.Lines(printed) {
		have[strings.Join(strings.Fields(line), " ")] = true
	}
	for i, line := range b.lines {
		if want := strings.Join(strings.Fields(line), " "); want != "" && want != "..." && !have[want] {
			t.Errorf("%s:%d: the command before does not print %q. It prints:\n%s", page, b.line+i, line, printed)
			return
		}
	}
}

// serveAndStop starts a command that serves until it is told to end.
func serveAndStop(t *testing.T, bin, dir string, b block) {
	t.Helper()
	cmd := shell(t, bin, dir, "exec "+b.lines[0])
	said := &watched{until: "http://", seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-said.seen:
	case err := <-ended:
		t.Fatalf("README.md:%d: %s ended: %v\n%s", b.line, b.lines[0], err, said.text.String())
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("README.md:%d: %s after Ctrl-C: %v\n%s", b.line, b.lines[0], err, said.text.String())
	}
}

// watched closes seen when a text was written. One goroutine writes.
type watched struct {
	text  bytes.Buffer
	until string
	seen  chan struct{}
	done  bool
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.text.Write(b)
	if !w.done && strings.Contains(w.text.String(), w.until) {
		w.done = true
		close(w.seen)
	}
	return n, err
}

// named is a command in running text: its first one or two words are checked.
var named = regexp.MustCompile(`^assay ([a-z]+)(?: ([a-z][a-z-]*)\b)?`)

// askHelp asks the program for help on every command that the documents name.
func askHelp(t *testing.T, bin string) {
	asked := map[string]bool{}
	for name, p := range pages(t) {
		for _, text := range p.code {
			m := named.FindStringSubmatch(text)
			if m == nil || asked[m[0]] {
				continue
			}
			asked[m[0]] = true
			if out, err := shell(t, bin, t.TempDir(), m[0]+" --help").CombinedOutput(); err != nil {
				t.Errorf("%s names `%s`, and %s --help fails: %v\n%s", name, text, m[0], err, out)
			}
		}
	}
}

// TestMakeRun is what README.md promises first: one command, and the demo is graded and reported.
func TestMakeRun(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "make", "run", "ONCE=1", "DATA="+t.TempDir())
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("make run: %v\n%s", err, out)
	}
	for _, want := range []string{"completed", "pass: the judge's rule", "arm treatment", "treatment less control"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("make run does not print %q:\n%s", want, out)
		}
	}
	for _, b := range pages(t)["docs/REPORTS.md"].blocks {
		if b.language == "text" && strings.HasPrefix(b.lines[0], "demo-support:") {
			checkPrinted(t, "docs/REPORTS.md", b, string(out))
		}
	}
}
