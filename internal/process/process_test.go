package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary plays the children: PROCESS_ROLE says which.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCESS_ROLE") {
	case "":
		goleak.VerifyTestMain(m)
	case "echo":
		buf := new(bytes.Buffer)
		buf.ReadFrom(os.Stdin)
		fmt.Print(strings.ToUpper(buf.String()))
		fmt.Fprint(os.Stderr, "noted")
	case "fail":
		fmt.Fprint(os.Stderr, "it broke")
		os.Exit(3)
	case "flood":
		for range 4 << 10 {
			fmt.Print(strings.Repeat("x", 1<<10))
		}
	case "environment":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		pid := fork("stubborn-child")
		announce(os.Getpid(), pid)
		block()
	case "stubborn-child":
		signal.Ignore(syscall.SIGTERM)
		block()
	case "leaver": // ends at once, leaving a child behind that holds its output
		pid := fork("stubborn-child")
		announce(os.Getpid(), pid)
	default:
		playTree(os.Getenv("PROCESS_ROLE"))
	case "polite":
		terms := make(chan os.Signal, 1)
		signal.Notify(terms, syscall.SIGTERM)
		announce(os.Getpid())
		<-terms
		fmt.Print("bye")
	}
}

// block waits for a signal that kills: an empty select would be a deadlock to the runtime.
func block() {
	<-time.After(time.Hour)
}

func fork(role string) int {
	// The role is replaced, not added: of two values of one variable Go takes the first.
	if err := os.Setenv("PROCESS_ROLE", role); err != nil {
		panic(err)
	}
	p, err := os.StartProcess(os.Args[0], os.Args[:1], &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{nil, os.Stdout, os.Stderr}})
	if err != nil {
		panic(err)
	}
	return p.Pid
}

// announce writes the pids to a file and tells through a FIFO that they are there.
func announce(pids ...int) {
	var text strings.Builder
	for _, p := range pids {
		fmt.Fprintln(&text, p)
	}
	f, err := os.OpenFile(os.Getenv("PROCESS_PIDS"), os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	f.WriteString(text.String())
	f.Close()
}

func spec(role string) Spec {
	return Spec{Argv: []string{os.Args[0]}, Env: []string{"PROCESS_ROLE=" + role}, MaxStdout: 1 << 20, MaxStderr: 1 << 10, Grace: 100 * time.Millisecond}
}

// announcing gives the child a FIFO and returns the pids that it announces.
func announcing(t *testing.T, s *Spec) (pids func() []int) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "pids")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.Env, "PROCESS_PIDS="+fifo)
	read := sync.OnceValue(func() []int {
		raw, err := os.ReadFile(fifo)
		if err != nil {
			t.Error(err)
		}
		var pids []int
		for _, f := range strings.Fields(string(raw)) {
			n, _ := strconv.Atoi(f)
			pids = append(pids, n)
		}
		return pids
	})
	return read
}

// gone waits until a process is dead; one that nobody reaps in this container stays as a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still alive: %s", pid, stat)
		}
		runtime.Gosched()
	}
}

func TestInputOutputAndExitCode(t *testing.T) {
	s := spec("echo")
	s.Stdin = []byte("hello")
	r, err := Run(t.Context(), s)
	if err != nil || r.End != EndExit || r.Code != 0 || string(r.Stdout) != "HELLO" || string(r.Stderr) != "noted" {
		t.Fatalf("%+v %v", r, err)
	}
	if r.Identity.PID == 0 || r.Identity.Start == 0 || r.Identity.Boot == "" || r.Ended.Before(r.Began) {
		t.Errorf("facts are missing: %+v", r)
	}
	r, err = Run(t.Context(), spec("fail"))
	if err != nil || r.Code != 3 || string(r.Stderr) != "it broke" {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestAChildThatReadsNothingDoesNotBlock(t *testing.T) {
	s := spec("fail")
	s.Stdin = bytes.Repeat([]byte("y"), 4<<20)
	if r, err := Run(t.Context(), s); err != nil || r.Code != 3 {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	r, err := Run(t.Context(), spec("flood"))
	if err != nil || r.Code != 0 || len(r.Stdout) != 1<<20 || r.Dropped != 3<<20 {
		t.Fatalf("kept %d dropped %d code %d err %v", len(r.Stdout), r.Dropped, r.Code, err)
	}
}

func TestNothingOfTheEnvironmentIsInherited(t *testing.T) {
	t.Setenv("SECRET_OF_THE_PARENT", "1")
	r, err := Run(t.Context(), spec("environment"))
	if err != nil || string(r.Stdout) != "PROCESS_ROLE=environment" {
		t.Fatalf("%q %v", r.Stdout, err)
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	if _, err := Run(t.Context(), Spec{Argv: []string{"/no/such/program"}}); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Spec{}); err == nil {
		t.Fatal("no command was accepted")
	}
}

func TestLimitKillsAGroupThatIgnoresTerm(t *testing.T) {
	s := spec("stubborn")
	pids := announcing(t, &s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all []int
	heard := make(chan struct{})
	go func() { all = pids(); close(heard); cancel() }()
	r, err := Run(ctx, s)
	<-heard
	if err != nil || r.End != EndCancel || !r.Killed || r.Signal != syscall.SIGKILL || r.Code != -1 {
		t.Fatalf("%+v %v", r, err)
	}
	if len(all) != 2 {
		t.Fatalf("announced %v", all)
	}
	for _, pid := range all {
		gone(t, pid)
	}

	s.Limit = 50 * time.Millisecond
	s.Env = []string{"PROCESS_ROLE=stubborn-child"}
	if r, err = Run(t.Context(), s); err != nil || r.End != EndLimit {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestNothingOutlivesALeaderThatLeaves(t *testing.T) {
	s := spec("leaver")
	pids := announcing(t, &s)
	heard := make(chan []int, 1)
	go func() { heard <- pids() }()
	r, err := Run(t.Context(), s)
	if err != nil || r.End != EndExit || r.Code != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	gone(t, (<-heard)[1])
}

func TestTermIsEnoughForAPoliteOne(t *testing.T) {
	s := spec("polite")
	s.Grace = 10 * time.Second
	pids := announcing(t, &s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { pids(); cancel() }()
	r, err := Run(ctx, s)
	if err != nil || r.End != EndCancel || r.Killed || r.Code != 0 || string(r.Stdout) != "bye" {
		t.Fatalf("%+v %q %v", r, r.Stdout, err)
	}
}

func TestIdentity(t *testing.T) {
	me, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !me.Is(os.Getpid()) || me.Is(os.Getppid()) {
		t.Error("identity does not tell processes apart")
	}
	other := me
	other.Start++
	if other.Is(os.Getpid()) {
		t.Error("another start time was taken for the same process")
	}
	if (Identity{}).Is(0) {
		t.Error("the zero identity is of no process")
	}
	if _, err := Identify(1 << 30); err == nil {
		t.Error("a process that does not exist was identified")
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := Run(b.Context(), Spec{Argv: []string{"/bin/true"}}); err != nil {
			b.Fatal(err)
		}
	}
}
