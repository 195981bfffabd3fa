package process

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"time"
)

// keeper is a process with a tree, and the announced processes of that tree.
type keeper struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	Remains Remains
	all     []int
}

var testMark = "PROCESS_TEST_MARK=" + rand.Text()

// startKeeper starts one whose tree is led by a role that announces itself.
func startKeeper(t *testing.T, leader string, env ...string) *keeper {
	t.Helper()
	s := spec("keeper")
	announced := announcing(t, &s)
	k := &keeper{t: t, cmd: exec.Command("/proc/self/exe")}
	k.cmd.Env = append(append(s.Env, "KEEPER_LEADER="+leader), env...)
	k.cmd.Stderr = os.Stderr
	var err error
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.out = json.NewDecoder(bufio.NewReader(out))
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k.Remains = k.hear().Remains
	k.all = announced()
	var who []Identity
	for _, pid := range k.all {
		id, _ := Identify(pid)
		who = append(who, id)
	}
	t.Cleanup(func() {
		k.cmd.Process.Kill()
		k.cmd.Wait()
		for _, id := range who { // whatever was proven to fail, nothing stays behind
			Remains{Leader: id}.End(5 * time.Second)
		}
		k.Remains.End(5 * time.Second)
		for _, pid := range k.all {
			gone(t, pid)
		}
	})
	return k
}

func (k *keeper) hear() (said kept) {
	k.t.Helper()
	if err := k.out.Decode(&said); err != nil {
		k.t.Fatalf("hear the keeper: %v", err)
	}
	if said.Error != "" {
		k.t.Fatalf("the keeper says: %s", said.Error)
	}
	return said
}

func (k *keeper) ask(what string) kept {
	k.t.Helper()
	fmt.Fprintln(k.in, what)
	return k.hear()
}

// alive says whether a process lives; one that nobody reaps is dead.
func alive(pid int) bool {
	s, err := readStat(pid)
	return err == nil && !s.dead
}

// needCgroups skips where this machine lets nobody make a control group. Where it does and none is made,
// that is a failure in CI.
func needCgroups(t *testing.T) {
	t.Helper()
	c := newCgroup(rand.Text())
	if own := ownCgroup(); c == nil && os.Getenv("CI") != "" && own != "" && unix.Access(own, unix.W_OK) == nil {
		t.Fatalf("no control group was made below %s, where one may be", own)
	}
	if c == nil {
		t.Skip("no control group (v2) can be made here")
	}
	c.remove()
}

func TestNothingOfATreeOutlivesItsEnd(t *testing.T) {
	for name, env := range map[string][]string{
		"by parentage":     nil,
		"by mark too":      {"KEEPER_MARK=" + testMark},
		"by control group": {"KEEPER_MARK=" + testMark, "KEEPER_CGROUP=1"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(env) > 1 {
				needCgroups(t)
			}
			k := startKeeper(t, "tree", env...)
			if len(k.all) != 6 || slices.ContainsFunc(k.all, func(pid int) bool { return !alive(pid) }) {
				t.Fatalf("announced %v", k.all)
			}
			got := k.ask("end")
			if len(got.Left) > 0 || got.Facts.Signal != syscall.SIGKILL || got.Facts.Code != -1 {
				t.Errorf("%+v", got)
			}
			for _, pid := range k.all {
				if _, err := readStat(pid); err == nil {
					t.Errorf("process %d is there still, or was not reaped", pid)
				}
			}
			if dir := k.Remains.Cgroup; len(env) > 1 != (dir != "") {
				t.Errorf("control group %q", dir)
			} else if _, err := os.Stat(dir); dir != "" && err == nil {
				t.Errorf("the control group %s is left", dir)
			}
		})
	}
}

func TestALeaderThatLeavesKeepsItsCode(t *testing.T) {
	k := startKeeper(t, "tree", "PROCESS_LEAVE=7")
	if k.ask("exited").Alone {
		t.Error("its descendants live, and it was called alone")
	}
	if got := k.ask("end"); got.Facts.Code != 7 || got.Facts.Signal != 0 || len(got.Left) > 0 {
		t.Errorf("%+v", got)
	}
	for _, pid := range k.all {
		if alive(pid) {
			t.Errorf("process %d is alive", pid)
		}
	}
}

func TestALimitThatIsOverTellsWhoIsLeft(t *testing.T) {
	// What is killed may be gone before anybody looks: that it is not is seen sooner or later.
	for range 20 {
		k := startKeeper(t, "tree", "PROCESS_LEAVE=7", "KEEPER_MARK="+testMark)
		k.ask("exited")
		got := k.ask("end at once")
		if got.Facts.Code != 7 || slices.Contains(got.Left, 0) {
			t.Fatalf("%+v", got)
		}
		for _, pid := range k.all[:5] {
			if alive(pid) && !slices.Contains(got.Left, pid) {
				t.Errorf("process %d is left and not told: %v", pid, got.Left)
			}
		}
		if len(got.Left) > 0 {
			return
		}
	}
	t.Error("of 20 trees that were given no time to end nothing was left")
}

func TestWhoLeftTheGroupCanBeTold(t *testing.T) {
	k := startKeeper(t, "leaves-a-polite-daemon")
	if k.ask("exited").Alone {
		t.Error("a daemon lives")
	}
	if !k.ask("term leavers").Alone {
		t.Error("a daemon that ends at TERM lives on")
	}
	if got := k.ask("end"); got.Facts.Code != 0 || len(got.Left) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestRemainsOfADeadKeeperAreEnded(t *testing.T) {
	for name, env := range map[string][]string{
		"by mark":          {"KEEPER_MARK=" + testMark},
		"by control group": {"KEEPER_CGROUP=1"},
	} {
		t.Run(name, func(t *testing.T) {
			if env[0] == "KEEPER_CGROUP=1" {
				needCgroups(t)
			}
			k := startKeeper(t, "tree", env...)
			k.cmd.Process.Kill()
			k.cmd.Wait()
			gone(t, k.all[0]) // the kernel ends the leader with its keeper
			unmarked := k.all[5]
			if lives := k.Remains.Alive(); !slices.Contains(lives, k.all[3]) || !slices.Contains(lives, k.all[4]) {
				t.Errorf("of %v these are found: %v", k.all, lives)
			}
			if left := k.Remains.End(5 * time.Second); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			for _, pid := range k.all[:5] {
				gone(t, pid) // its threads may be on their way out of the kernel
			}
			// Nothing proves whose a process is that left the session and threw its environment away, but
			// for the control group.
			if k.Remains.Cgroup == "" {
				if !alive(unmarked) {
					t.Error("a process was ended that nothing proved to be of the tree")
				}
				syscall.Kill(unmarked, syscall.SIGKILL) // a descendant of this test, whose number we know from its parent
				gone(t, unmarked)
			} else if alive(unmarked) {
				t.Error("a process of the control group is alive")
			}
			if lives := k.Remains.Alive(); len(lives) > 0 {
				t.Errorf("found %v", lives)
			}
			if _, err := os.Stat(k.Remains.Cgroup); err == nil {
				t.Errorf("the control group %s is left", k.Remains.Cgroup)
			}
		})
	}
}

// bystander starts a process that leads a group of its own and is nobody's business.
func bystander(t *testing.T) Identity {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"PROCESS_ROLE=bystander"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "here\n" {
		t.Fatal(line, err)
	}
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAReusedNumberIsNeverSignalled(t *testing.T) {
	id := bystander(t)
	older, younger, elsewhere := id, id, id
	older.Start--
	younger.Start++
	elsewhere.Boot = "00000000-0000-0000-0000-000000000000"
	for _, r := range []Remains{{Leader: older, Mark: testMark}, {Leader: younger, Mark: testMark}, {Leader: elsewhere, Mark: "PROCESS_ROLE=bystander"},
		{Leader: younger, Mark: "PROCESS_ROLE=bystander"}, {}} {
		if left := r.End(time.Second); len(left) > 0 || len(r.Alive()) > 0 {
			t.Errorf("%+v: left %v", r, left)
		}
		if !id.Is(id.PID) || !alive(id.PID) {
			t.Fatalf("%+v: the process was signalled", r)
		}
	}
	if left := (Remains{Leader: id}).End(5 * time.Second); len(left) > 0 || alive(id.PID) {
		t.Errorf("its own identity does not end it: left %v", left)
	}
}

func TestWhoIsNoSubreaperEndsNobodyElse(t *testing.T) {
	other := bystander(t) // a child of this process, like the leader
	tree, err := StartTree(TreeSpec{Argv: []string{"/proc/self/exe"}, Env: []string{"PROCESS_ROLE=stubborn-child"}})
	if err != nil {
		t.Fatal(err)
	}
	if tree.Alone() {
		t.Error("the leader lives")
	}
	facts, left := tree.End(5 * time.Second)
	if facts.Signal != syscall.SIGKILL || len(left) > 0 || alive(tree.Identity().PID) {
		t.Errorf("%+v %v", facts, left)
	}
	if !alive(other.PID) {
		t.Error("another child was ended")
	}
}

func TestWhatCannotBeStartedSaysWhy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := write("script", "#!/no/such/interpreter\n", 0o700)
	text := write("text", "hello\n", 0o700)
	plain := write("plain", "#!/bin/sh\n", 0o600)
	for _, c := range []struct {
		spec TreeSpec
		want []string
	}{
		{TreeSpec{}, []string{"no command"}},
		{TreeSpec{Argv: []string{""}}, []string{"no program"}},
		{TreeSpec{Argv: []string{"/no/such/program"}}, []string{"/no/such/program", "no such file"}},
		{TreeSpec{Argv: []string{"nosuchprogram"}, Env: []string{"PATH=/bin:/usr/bin"}}, []string{"nosuchprogram", "PATH (/bin:/usr/bin)"}},
		{TreeSpec{Argv: []string{"true"}}, []string{"true", "no PATH"}},
		{TreeSpec{Argv: []string{script}}, []string{script, "interpreter"}},
		{TreeSpec{Argv: []string{text}}, []string{text, "neither a program"}},
		{TreeSpec{Argv: []string{plain}}, []string{plain, "may not be executed"}},
		{TreeSpec{Argv: []string{dir}}, []string{dir, "is a folder"}},
		{TreeSpec{Argv: []string{"/bin/true"}, Dir: "/no/such/folder"}, []string{"folder", "/no/such/folder", "no such file"}},
		{TreeSpec{Argv: []string{"/bin/true"}, Dir: text}, []string{text, "not a folder"}},
		{TreeSpec{Argv: []string{"/bin/true", strings.Repeat("x", 4<<20)}}, []string{"too long"}},
	} {
		tree, err := StartTree(c.spec)
		if err == nil {
			tree.End(time.Second)
			t.Errorf("%.80v was started", c.spec.Argv)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%.80v: %v: does not say %q", c.spec.Argv, err, want)
			}
		}
	}
}

func TestAFolderThatMayNotBeEnteredIsTold(t *testing.T) {
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o000); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if err := Enterable(locked); err == nil || !strings.Contains(err.Error(), locked) {
			t.Error(err)
		}
		return
	}
	// Root may enter any folder, so somebody else asks.
	for at := dir; at != "/"; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.Mode()&0o001 == 0 {
			os.Chmod(at, info.Mode()|0o011)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"PROCESS_ROLE=keeper", "KEEPER_LEADER=bystander", "KEEPER_DIR=" + locked}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), locked) || !strings.Contains(string(out), "permission denied") {
		t.Errorf("%s %v", out, err)
	}
}

func TestAStatWithAnyNameIsRead(t *testing.T) {
	line := func(name, state, threads string) []byte {
		return []byte("42 (" + name + ") " + state + " 7 9 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 " + threads + " 0 12345 0 0 18446744073709551615\n")
	}
	for _, name := range []string{"sh", "a) R 1 1", "((", "", "new\nline"} {
		if s, err := parseStat(line(name, "S", "1")); err != nil || s != (stat{parent: 7, group: 9, start: 12345}) {
			t.Errorf("%q: %+v %v", name, s, err)
		}
	}
	if s, _ := parseStat(line("x", "Z", "1")); !s.dead {
		t.Error("a zombie counts as alive")
	}
	if s, _ := parseStat(line("x", "Z", "3")); s.dead {
		t.Error("a process whose first thread has ended counts as dead")
	}
	// From a real one: between two programs a process has no environment, a thread of the kernel never has.
	begin, end := "1 (x) S 1 1 1 0 -1 ", " 0 0 0 0 0 0 0 0 20 0 1 0 5"+strings.Repeat(" 1", 28)
	if s, err := parseStat([]byte(begin + "4194304" + end + " 0 0\n")); err != nil || !s.bare {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := parseStat([]byte(begin + "69238880" + end + " 0 0\n")); err != nil || s.bare {
		t.Errorf("a thread of the kernel: %+v %v", s, err)
	}
	if s, err := readStat(os.Getpid()); err != nil || s.bare {
		t.Errorf("this process: %+v %v", s, err)
	}
	for _, bad := range []string{"", ")", "1 (x", "1 (x) S 1"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
