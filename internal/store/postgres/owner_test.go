package postgres

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// ownForever is the role of a process that owns a database, says so, and says when it lost it.
func ownForever(url string) {
	s, err := Open(context.Background(), url)
	if err == nil {
		var own store.Ownership
		if own, err = s.Owner().TryOwn(context.Background()); err == nil && own != nil {
			fmt.Println("owned")
			<-own.Lost()
			fmt.Println("lost")
			return
		}
	}
	fmt.Println("failed", err)
}

func own(t *testing.T, s *Store) store.Ownership {
	t.Helper()
	o, err := s.Owner().TryOwn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o != nil {
		t.Cleanup(func() { _ = o.Release() })
	}
	return o
}

func TestOneOwner(t *testing.T) {
	db := pgtest.Database(t)
	a, b := open(t, pgtest.As(db, "a")), open(t, pgtest.As(db, "b"))
	first := own(t, a)
	if first == nil || first.Grace() != time.Second {
		t.Fatal("nobody owns, and yet it could not be owned")
	}
	if own(t, b) != nil || own(t, a) != nil {
		t.Fatal("owned twice")
	}
	other := open(t, pgtest.Database(t))
	if own(t, other) == nil {
		t.Error("another database has an owner of its own")
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second := own(t, b)
	if second == nil {
		t.Fatal("released, and yet it could not be owned")
	}
	if pgtest.Cut(t, pgtest.As(db, "b")) == 0 {
		t.Fatal("nothing was cut")
	}
	select {
	case <-second.Lost():
	case <-time.After(time.Second):
		t.Fatal("the loss was not noticed within a second")
	}
	if own(t, a) == nil {
		t.Error("the lock outlived its connection")
	}
	select {
	case <-first.Lost():
		t.Error("what was released is called lost")
	default:
	}
}

func TestOwnerNoticesASilentNetwork(t *testing.T) {
	t.Parallel()
	p, url := through(t, pgtest.Database(t))
	o := own(t, open(t, url))
	p.frozen.Store(true)
	select {
	case <-o.Lost():
	case <-time.After(time.Second):
		t.Fatal("the loss was not noticed within a second")
	}
}

// The server drops the lock of an owner that is stopped, without help, and the owner knows when it
// wakes up.
func TestStoppedOwnerLosesTheLock(t *testing.T) {
	t.Parallel()
	db := pgtest.Database(t)
	s := open(t, db)
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), "POSTGRES_TEST_OWN="+db)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = process.Process.Kill(); _ = process.Wait() }()
	lines := bufio.NewReader(out)
	say := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
			t.Fatalf("the owner said %q, want %q: %v", line, want, err)
		}
	}
	say("owned")
	if own(t, s) != nil {
		t.Fatal("owned twice")
	}
	if err := process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	eventually(t, 10*time.Second, "the stopped owner keeps its lock", func() bool { return own(t, s) != nil })
	if d := time.Since(begun); d > 3*time.Second {
		t.Errorf("it took %s", d)
	}
	if err := process.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	say("lost")
}
