package logs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary executes itself in these roles: a log belongs to more than one process.
func TestMain(m *testing.M) {
	role, dir := os.Getenv("LOGS_TEST_ROLE"), os.Getenv("LOGS_TEST_DIR")
	var err error
	switch role {
	case "":
		os.Exit(m.Run())
	case "read":
		err = readerProcess(dir)
	case "write":
		err = writerProcess(dir)
	case "full":
		err = fullDisk(dir, false)
	case "full for ever":
		err = fullDisk(dir, true)
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play starts the test binary in a role. What it starts ends with the test.
func play(t *testing.T, role, dir string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "LOGS_TEST_ROLE="+role, "LOGS_TEST_DIR="+dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
	})
	return cmd, &out
}

// told is what a reader saw.
type told struct {
	Bytes, Gap, Chunks int64
	Sum                string
}

// readerProcess follows a log until a file "done" lies beside it.
func readerProcess(dir string) error {
	var seen told
	sum := sha256.New()
	ended := func() bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(dir), "done"))
		return err == nil
	}
	err := Follow(context.Background(), dir, 0, ended, func(c Chunk) error {
		seen.Bytes += int64(len(c.Data))
		seen.Gap += c.Gap
		seen.Chunks++
		sum.Write(c.Data)
		return nil
	})
	if err != nil {
		return err
	}
	seen.Sum = fmt.Sprintf("%x", sum.Sum(nil))
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// writerProcess writes numbered lines until it is killed.
func writerProcess(dir string) error {
	w, err := OpenWriter(dir, Options{Segment: 64 << 10})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if _, err := w.Write([]byte(numbered(i))); err != nil {
			return err
		}
	}
}

func numbered(i int) string {
	return fmt.Sprintf("line %d € %s\n", i, strings.Repeat("-", i%100))
}

// filled is what became of a log on a disk that was full for a while.
type filled struct {
	Stat    Stat
	Longest time.Duration
	Closing string
}

// fullDisk writes to a disk that takes little, then byte by byte more, then all again; or never again.
func fullDisk(dir string, forEver bool) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(n uint64) error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: 1 << 40})
	}
	if err := limit(10_000); err != nil {
		return err
	}
	w, err := OpenWriter(dir, Options{Room: true})
	if err != nil {
		return err
	}
	var f filled
	write := func(s string) error {
		began := time.Now()
		n, err := w.Write([]byte(s))
		f.Longest = max(f.Longest, time.Since(began))
		if n != len(s) || err != nil {
			return fmt.Errorf("write said %d, %w", n, err)
		}
		return nil
	}
	for i := range 20_000 {
		if i > 10_000 && i < 10_300 && !forEver {
			if err := limit(10_000 + 7*uint64(i-10_000)); err != nil {
				return err
			}
		}
		if err := write("0123456789\n"); err != nil {
			return err
		}
	}
	if !forEver {
		if err := limit(1 << 40); err != nil {
			return err
		}
		if err := write("after\n"); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		f.Closing = err.Error()
	}
	f.Stat = w.Stat()
	if err := limit(1 << 40); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// eventually waits for something that another process does.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

func diskUse(t testing.TB, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		n += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
