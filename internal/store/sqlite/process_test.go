package sqlite_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

func process(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}

func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestProcessesOpenAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fresh", "a ?b#c%20d 'e'")
	cmds := make([]*exec.Cmd, 8)
	out := make([]bytes.Buffer, len(cmds))
	for i := range cmds {
		cmds[i] = process(t, "open", dir)
		cmds[i].Stdout, cmds[i].Stderr = &out[i], &out[i]
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, out[i].String())
		}
	}
	s := open(t, dir)
	list, err := s.Projects().List(t.Context())
	if err != nil || len(list) != 20*len(cmds) {
		t.Errorf("%d projects, error %v", len(list), err)
	}
	if findings, err := s.Check(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("findings %q, error %v", findings, err)
	}
}

// say starts a process and returns what it prints, line by line.
func say(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		_ = cmd.Wait()
	})
	return bufio.NewScanner(out)
}

func TestOwnerOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := process(t, "own", dir)
	lines := say(t, cmd)
	if !lines.Scan() || lines.Text() != "owned" {
		t.Fatalf("the other process says %q", lines.Text())
	}
	s := open(t, dir)
	if o, err := s.Owner().TryOwn(t.Context()); o != nil || err != nil {
		t.Fatalf("owner %v, error %v while another process owns", o, err)
	}
	if pid, err := os.ReadFile(filepath.Join(dir, "owner.lock")); err != nil || strings.TrimSpace(string(pid)) != fmt.Sprint(cmd.Process.Pid) {
		t.Errorf("owner.lock holds %q, error %v", pid, err)
	}
	if _, err := s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), time.Now()); err != nil {
		t.Errorf("write without owning: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed on purpose
	o, err := s.Owner().TryOwn(t.Context())
	if o == nil || err != nil {
		t.Fatalf("owner %v, error %v after the other process died", o, err)
	}
	if err := o.Release(); err != nil {
		t.Error(err)
	}
}

// What a process said was stored is stored after kill -9.
func TestKilledProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ctx, now := t.Context(), time.Now()
	p, err := s.Projects().Create(ctx, "p", assay.DefaultSettings(), now)
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := s.Runs().Create(ctx, store.NewRun{Project: p.ID, Kind: assay.RunGrade, Concurrency: 1, AsOf: now, Now: now,
		Spec: assay.GradeSpec{Judges: []assay.RunJudge{{Name: "j", Version: "v"}}, Repeats: 1}})
	if err == nil {
		_, err = s.Runs().TakeUp(ctx, run.ID, 0, false, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := store.Fence{Run: run.ID, Epoch: 1}
	var items []assay.Item
	for seq := int64(1); seq <= 5000; seq++ {
		items = append(items, assay.Item{Seq: seq, Session: assay.SessionKey(seq), Content: assay.ContentKey(seq)})
	}
	if err := s.Plans().PutItems(ctx, f, items, now); err != nil {
		t.Fatal(err)
	}

	cmd := process(t, "commit", dir)
	lines := say(t, cmd)
	var opened, graded int64
	for lines.Scan() {
		word, n, _ := strings.Cut(lines.Text(), " ")
		var seq int64
		if _, err := fmt.Sscan(n, &seq); err != nil {
			t.Fatalf("the process says %q", lines.Text())
		}
		switch word {
		case "opened":
			opened = seq
		case "graded":
			if graded = seq; graded == 25 {
				_ = cmd.Process.Kill() // what it still prints counts too
			}
		}
	}
	if err := lines.Err(); err != nil && err != io.EOF && !strings.Contains(err.Error(), "closed") {
		t.Fatal(err)
	}
	counts, err := s.Items().Counts(ctx, run.ID, now)
	if err != nil || graded < 25 || counts.Graded < graded || counts.Graded+counts.InFlight < opened || counts.Graded > graded+1 {
		t.Errorf("the process said that it opened %d and graded %d; stored are %+v, error %v", opened, graded, counts, err)
	}
}
