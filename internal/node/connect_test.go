package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Stopping(m)) }

// said collects what a person would read.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) say(line string) { s.mu.Lock(); s.lines = append(s.lines, line); s.mu.Unlock() }
func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func config(dir, command string, drive bool) (Config, *said) {
	s := new(said)
	return Config{Dir: dir, Drive: drive, Command: command, Version: "test", Say: s.say, Log: slog.New(slog.DiscardHandler)}, s
}

func connected(t *testing.T, cfg Config) *Link {
	t.Helper()
	l, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(time.Second) })
	return l
}

func ask(t *testing.T, l *Link) {
	t.Helper()
	c := client.New("http://assay", &http.Client{Transport: l})
	if _, err := c.Project(t.Context(), DefaultProject); err != nil {
		t.Errorf("ask: %v", err)
	}
}

func TestTheFirstOwnsAndTheOthersAreItsClients(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	cfg, _ := config(dir, "serve", true)
	first := connected(t, cfg)
	if first.Node() == nil || !first.Owner().Drives {
		t.Fatalf("the first is %+v", first.Owner())
	}
	cfg, _ = config(dir, "runs", false)
	looker := connected(t, cfg)
	cfg, _ = config(dir, "grade", true)
	driver := connected(t, cfg)
	for _, l := range []*Link{looker, driver} {
		if l.Node() != nil || l.Owner().Command != "serve" || l.Owner().PID != os.Getpid() {
			t.Errorf("owner is %+v", l.Owner())
		}
		ask(t, l)
	}
	ask(t, first)
}

func TestServeIsNotContentToBeAClient(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	cfg, _ := config(dir, "grade", true)
	connected(t, cfg)
	cfg, _ = config(dir, "serve", true)
	cfg.Serve = true
	_, err := Connect(t.Context(), cfg)
	if assay.CodeOf(err) != assay.CodeConflict || !strings.Contains(err.Error(), "`assay grade` (pid") {
		t.Errorf("got %v", err)
	}
}

func TestADriverWaitsForAnOwnerThatOnlyLooks(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	cfg, _ := config(dir, "import", false)
	looker := connected(t, cfg)
	looker.Node().guests.add(1) // its import
	cfg, words := config(dir, "grade", true)
	driver := make(chan *Link, 1)
	go func() {
		l, err := Connect(t.Context(), cfg)
		if err != nil {
			t.Error(err)
		}
		driver <- l
	}()
	eventually(t, "why it waits", func() bool { return strings.Contains(words.text(), "waits for `assay import` (pid") })
	looker.Node().guests.add(-1)
	l := <-driver
	defer l.Close(time.Second)
	if l.Node() == nil || !l.Owner().Drives {
		t.Errorf("the driver does not own: %+v", l.Owner())
	}
}

func TestAClientBecomesTheOwnerWhenTheOwnerEnds(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	cfg, _ := config(dir, "grade", true)
	first := connected(t, cfg)
	cfg, words := config(dir, "watch", true)
	watcher := connected(t, cfg)
	ask(t, watcher)
	if err := first.Close(time.Second); err != nil {
		t.Fatal(err)
	}
	ask(t, watcher)
	if watcher.Node() == nil || !strings.Contains(words.text(), "`assay grade` (pid") {
		t.Errorf("%+v, said %q", watcher.Owner(), words.text())
	}
}

// Many short commands at once: whoever owns for the moment may be gone at any time.
func TestShortCommandsAtOnceAllGetTheirAnswer(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			cfg, _ := config(dir, fmt.Sprintf("runs-%d", i), false)
			l, err := Connect(t.Context(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			ask(t, l)
			ask(t, l)
			if err := l.Close(time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestCloseWaitsForTheRequestsOfOthers(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	cfg, _ := config(dir, "runs", false)
	owner := connected(t, cfg)
	n := owner.Node()
	n.guests.add(1)
	closed := make(chan error, 1)
	go func() { closed <- owner.Close(time.Minute) }()
	eventually(t, "the owner to stop", func() bool { return n.Identity().Stopping })
	cfg, _ = config(dir, "sessions", false)
	ask(t, connected(t, cfg)) // still served meanwhile
	select {
	case <-closed:
		t.Fatal("closed under a request")
	default:
	}
	n.guests.add(-1)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestALockThatNobodyAnswersForIsNamed(t *testing.T) {
	dir := shortDir(t)
	f, err := os.OpenFile(filepath.Join(dir, "owner.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, 4711)
	cfg, _ := config(dir, "runs", false)
	c := &connecting{cfg: cfg, socket: filepath.Join(dir, "assay.sock"), patience: 50 * time.Millisecond, answered: time.Now()}
	_, err = c.run(t.Context())
	if assay.CodeOf(err) != assay.CodeUnavailable || !strings.Contains(err.Error(), "pid 4711") {
		t.Errorf("got %v", err)
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	dir := filepath.Join(shortDir(t), "data")
	cfg, _ := config(dir, "import", false)
	n := connected(t, cfg).Node()
	n.guests.add(1) // its import
	defer n.guests.add(-1)
	cfg, words := config(dir, "grade", true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := Connect(ctx, cfg); done <- err }()
	eventually(t, "the wait", func() bool { return words.text() != "" })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// eventually polls, because what it waits for happens in a loop of its own.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		pause(t.Context(), 5*time.Millisecond)
	}
}

// TestConnectWhereNothingOpens: what cannot be opened is an error that says where, not a crash.
func TestConnectWhereNothingOpens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"a file in place of the folder": {Dir: file},
		"a folder below a file":         {Dir: filepath.Join(file, "below")},
		"no database there":             {Dir: t.TempDir(), Database: "postgres://nobody@127.0.0.1:1/nothing"},
		"no database address":           {Dir: t.TempDir(), Database: "garbage"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Log, cfg.Say = slog.New(slog.DiscardHandler), func(string) {}
			l, err := Connect(t.Context(), cfg)
			if err == nil {
				l.Close(time.Second)
				t.Fatal("connected to nothing")
			}
			if e := new(assay.Error); !errors.As(err, &e) {
				t.Errorf("%v is no error of ours", err)
			}
		})
	}
}
