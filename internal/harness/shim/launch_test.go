//go:build linux

package shim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/durable"
)

func TestALaunchThatFailsSaysWhatAndWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Order)
		want   []string
	}{
		"missing program":       {func(o *Order) { o.Argv = []string{"/no/such/program"} }, []string{"/no/such/program", "no such file"}},
		"program not in PATH":   {func(o *Order) { o.Argv, o.Env = []string{"nosuchprogram"}, []string{"PATH=/bin"} }, []string{"nosuchprogram", "PATH (/bin)"}},
		"missing folder":        {func(o *Order) { o.Cwd = "/no/such/folder" }, []string{"/no/such/folder", "no such file"}},
		"folder that is none":   {func(o *Order) { o.Cwd = "/proc/self/exe" }, []string{"/proc/self/exe", "not a folder"}},
		"log folder that isn't": {func(o *Order) { o.LogDir = "/proc/self/exe/log" }, []string{"log"}},
		"bad pattern":           {func(o *Order) { o.Experiment = &assay.LinkRule{Pattern: "("} }, []string{"pattern"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newLaunch(t, "silent")
			c.change(&a.order)
			a.launch()
			e := a.exit(5 * time.Second)
			for _, want := range c.want {
				if !strings.Contains(e.Exit.Error, want) {
					t.Errorf("%q does not say %q", e.Exit.Error, want)
				}
			}
			if e.Exit.Cause != assay.ExitLaunchFailed || e.Exit.Code != -1 || e.Harness.PID != 0 {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestAFolderThatMayNotBeEnteredFailsTheLaunch(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "silent")
	a.order.Cwd = filepath.Join(filepath.Dir(a.dir), "locked")
	if err := os.Mkdir(a.order.Cwd, 0o000); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		a.launch()
	} else { // root may enter any folder, so somebody else launches
		const other = 65534
		root := filepath.Dir(a.dir)
		if err := os.Chown(root, other, other); err != nil {
			t.Fatal(err)
		}
		for at := filepath.Dir(root); at != "/"; at = filepath.Dir(at) {
			if info, err := os.Stat(at); err == nil && info.Mode()&0o001 == 0 {
				os.Chmod(at, info.Mode()|0o011)
			}
		}
		order, _ := json.Marshal(a.order)
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{"SHIM_ROLE=server", "SHIM_DIR=" + a.dir, "SHIM_ORDER=" + string(order)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
	}
	e := a.exit(10 * time.Second)
	if e.Exit.Cause != assay.ExitLaunchFailed || !strings.Contains(e.Exit.Error, a.order.Cwd) || !strings.Contains(e.Exit.Error, "permission denied") {
		t.Errorf("%+v", e)
	}
}

func TestAShimThatCannotStartIsNoLoss(t *testing.T) {
	t.Parallel()
	for _, self := range []string{"/no/such/assay", "/bin/false"} {
		a := newLaunch(t, "silent")
		a.order.Argv = append(a.order.Argv, strings.Repeat("x", 1<<20)) // more than a pipe holds
		err := Launch(self, a.dir, a.order)
		if err == nil || !strings.Contains(err.Error(), "shim") {
			t.Errorf("%s: %v", self, err)
		}
		if e := a.exit(time.Second); e.Exit.Cause != assay.ExitLaunchFailed || e.Exit.Error != err.Error() {
			t.Errorf("%+v", e)
		}
	}
	a := newLaunch(t, "silent")
	a.order.Secrets = []string{"abc"}
	if err := Launch(program(), a.dir, a.order); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("a secret that cannot be masked: %v", err)
	}
}

func TestALongPathWorks(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "sleeper")
	a.dir = filepath.Join(a.dir, strings.Repeat("long/", 40), strings.Repeat("n", 200), "a1")
	a.order.LogDir = filepath.Join(filepath.Dir(a.dir), "log")
	a.launch()
	a.said("pids")
	c := a.dial()
	if s, err := c.Next(time.Now().Add(5 * time.Second)); err != nil || s.Harness.PID == 0 {
		t.Fatal(s, err)
	}
	a.stop(assay.ExitCancel)
	if e := a.exit(a.order.Grace + soon); e.Exit.Cause != assay.ExitCancel {
		t.Errorf("%+v", e)
	}
}

// libcSignals are 32 and 33, which belong to the C library: where whoever started these tests ignores them,
// everybody does, and no Go program can change that.
var libcSignals = regexp.MustCompile(`SigIgn:\t0000000[01][08]0000000\n`)

// A harness gets its streams, its report channel and its environment, and nothing of what its server or
// its shim ignore or hold.
func TestAHarnessInheritsNothingElse(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "state")
	a.served("SHIM_IGNORING=1", "SECRET_OF_THE_SERVER=1")
	a.exit(5 * time.Second)
	var m launched
	if err := durable.ReadJSON(a.dir, launchFile, &m); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(a.dir, reportFile)
	text := libcSignals.ReplaceAllString(a.output(), "SigIgn:\t0000000000000000\n")
	for _, want := range []string{"SigIgn:\t0000000000000000\n", "SigBlk:\t0000000000000000\n", "fd 0 false /dev/null\n", "fd 1 false pipe:", "fd 2 false pipe:", "fd 3 false " + report + "\n",
		"env SHIM_ROLE=state|" + m.Mark + "|ASSAY_RUN=r1|ASSAY_REPORT=" + report + "|ASSAY_REPORT_FD=3\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("not there: %q", want)
		}
	}
	for line := range strings.Lines(text) {
		// What the Go runtime of the harness opens for itself.
		if strings.HasPrefix(line, "fd") && line > "fd 4" && !strings.Contains(line, "anon_inode") && !strings.Contains(line, "/sys/") {
			t.Errorf("it holds too much: %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestAShimByHandIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := (&exec.Cmd{Path: "/proc/self/exe", Args: []string{"assay", "shim", dir}}).CombinedOutput()
	var exit *exec.ExitError
	if fmt.Sprintf("%T", err) != fmt.Sprintf("%T", exit) || !strings.Contains(string(out), "started by assay itself") {
		t.Errorf("%v %s", err, out)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("it left %v", entries)
	}
}

func TestTheWholeLogOfAChattyHarness(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "chatty", "SHIM_LINES=200000")
	a.launch()
	e := a.exit(20 * time.Second)
	text := a.output()
	if e.Log.Lines != 200_000 || e.Log.Dropped != 0 || e.Log.Bytes != int64(len(text)) || !strings.HasSuffix(text, "line 199998\nline 199999\n") || strings.Count(text, "\n") != 200_000 {
		t.Errorf("%+v, %d bytes", e.Log, len(text))
	}
}
