package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is a running PostgreSQL that this process started.
type Server struct {
	bin     string
	dir     string
	cred    *syscall.Credential
	durable bool

	mu      sync.Mutex
	port    int
	cmd     *exec.Cmd
	exited  chan struct{}
	counter int // databases made
}

const startWithin = 60 * time.Second

// newServer makes a cluster and starts it. durable leaves fsync on.
func newServer(durable bool) (*Server, error) {
	bin, err := binDir()
	if err != nil {
		return nil, err
	}
	cred, err := account()
	if err != nil {
		return nil, err
	}
	dir, err := folder(cred)
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, cred: cred, durable: durable}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", s.data(), "-U", "assay", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir = dir
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	initdb.Env = environment()
	if out, err := initdb.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := s.start(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// environment keeps PG* variables of the developer's shell away from the server, and its messages in English.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// start runs the server on its port, or on a free one the first time. A port that somebody else took
// between our look and the server's bind is tried again.
func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for range 5 {
		port := s.port
		if port == 0 {
			if port, err = freePort(); err != nil {
				return err
			}
		}
		if err = s.startOn(port); err == nil {
			s.port = port
			return nil
		}
		if !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
	}
	return err
}

func (s *Server) startOn(port int) error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(port), "-h", "127.0.0.1", "-k", ""}
	for key, value := range s.settings() {
		args = append(args, "-c", key+"="+value)
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	cmd.Dir, cmd.Env = s.dir, environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true}
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	exited, started := make(chan struct{}), make(chan error)
	go func() { started <- startTied(cmd, exited) }()
	if err := <-started; err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	s.cmd, s.exited = cmd, exited
	ready := make(chan struct{})
	var tail []string
	go func() {
		defer close(exited)
		tail = follow(log, ready)
		_ = cmd.Wait()
	}()
	select {
	case <-ready:
		return nil
	case <-exited:
		return fmt.Errorf("postgres ended while it started:\n%s", strings.Join(tail, "\n"))
	case <-time.After(startWithin):
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		<-exited
		return errors.New("postgres was not ready in " + startWithin.String())
	}
}

func (s *Server) settings() map[string]string {
	settings := map[string]string{
		"max_connections":            "300",
		"shared_buffers":             "64MB",
		"max_wal_size":               "1GB",
		"logging_collector":          "off",
		"log_min_messages":           "log",
		"log_min_error_statement":    "panic",
		"log_checkpoints":            "off",
		"autovacuum_naptime":         "10s",
		"lc_messages":                "C",
		"wal_level":                  "minimal",
		"max_wal_senders":            "0",
		"dynamic_shared_memory_type": "mmap",
	}
	if !s.durable {
		settings["fsync"], settings["full_page_writes"] = "off", "off"
	}
	return settings
}

// follow reads the server's log to its end, which comes when every process of the server has ended,
// and returns the last lines. It closes ready when the server says that it is.
func follow(log io.Reader, ready chan<- struct{}) (tail []string) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		line := lines.Text()
		if tail = append(tail, line); len(tail) > 30 {
			tail = tail[1:]
		}
		if ready != nil && strings.Contains(line, "database system is ready to accept connections") {
			close(ready)
			ready = nil
		}
	}
	return tail
}

// stop ends the server by its pid and waits for its last process.
func (s *Server) stop(sig os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	s.cmd = nil
	return nil
}

// destroy stops the server without ceremony and removes its files.
func (s *Server) destroy() error {
	if err := s.stop(syscall.SIGQUIT); err != nil {
		return err
	}
	return os.RemoveAll(s.dir)
}

func freePort() (int, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
