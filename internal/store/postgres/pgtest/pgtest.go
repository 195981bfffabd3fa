package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The servers that the tests of this binary share. They are package state because a test binary has
// no other place that every test and TestMain can see.
var shared = [2]struct {
	once   sync.Once
	server *Server
	err    error
}{}

// Main runs the tests, stops the shared servers and exits: the body of a TestMain.
func Main(m interface{ Run() int }) { os.Exit(Stopping(m).Run()) }

// Stopping wraps m so that the shared servers are stopped when its Run returns, for a TestMain that
// hands m to something else (goleak, testscript).
func Stopping(m interface{ Run() int }) interface{ Run() int } { return stopping{m} }

type stopping struct{ m interface{ Run() int } }

func (s stopping) Run() int {
	code := s.m.Run()
	for i := range shared {
		if server := shared[i].server; server != nil {
			if err := server.destroy(); err != nil {
				fmt.Fprintln(os.Stderr, "pgtest: stop postgres:", err)
				code = max(code, 1)
			}
		}
	}
	return code
}

// Database returns the URL of a fresh, empty database on the shared server, which does not fsync. It
// is dropped when the test ends.
func Database(tb testing.TB) string {
	tb.Helper()
	return sharedServer(tb, false).Database(tb)
}

// DurableDatabase is Database on a shared server that does fsync: for benchmarks.
func DurableDatabase(tb testing.TB) string {
	tb.Helper()
	return sharedServer(tb, true).Database(tb)
}

// Start gives the test a server of its own, to be stopped and restarted at will.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s, err := newServer(false)
	if err != nil {
		missing(tb, err)
	}
	tb.Cleanup(func() {
		if err := s.destroy(); err != nil {
			tb.Errorf("stop postgres: %v", err)
		}
	})
	return s
}

func sharedServer(tb testing.TB, durable bool) *Server {
	tb.Helper()
	slot := &shared[0]
	if durable {
		slot = &shared[1]
	}
	slot.once.Do(func() { slot.server, slot.err = newServer(durable) })
	if slot.err != nil {
		missing(tb, slot.err)
	}
	return slot.server
}

func missing(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatalf("no PostgreSQL: %v", err)
		return
	}
	tb.Skipf("no PostgreSQL: %v", err)
}

// Database returns the URL of a fresh, empty database on this server.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	s.mu.Lock()
	s.counter++
	name := fmt.Sprintf("t%d", s.counter)
	s.mu.Unlock()
	if err := s.admin("CREATE DATABASE " + name + " TEMPLATE template0"); err != nil {
		tb.Fatalf("make a test database: %v", err)
	}
	tb.Cleanup(func() {
		if s.running() {
			if err := s.admin("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
				tb.Errorf("drop the test database: %v", err)
			}
		}
	})
	return s.url(name)
}

// Stop ends the server as a crash would: no goodbye to clients, recovery at the next start.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if err := s.stop(syscall.SIGQUIT); err != nil {
		tb.Fatalf("stop postgres: %v", err)
	}
}

// Restart starts a stopped server on its old port.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatalf("restart postgres: %v", err)
	}
}

func (s *Server) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd != nil
}

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://assay@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

func (s *Server) admin(sql string) error { return execute(s.url("postgres"), sql) }

// As returns rawURL with an application name, so that Cut can tell one client from another.
func As(rawURL, name string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		panic(err) // our own URL
	}
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// Cut ends the server's side of every connection to the database of rawURL, or only of those with its
// application name if it has one (see As), and returns how many there were. It waits until they are
// gone, their locks with them.
func Cut(tb testing.TB, rawURL string) int {
	tb.Helper()
	config, err := pgx.ParseConfig(rawURL)
	if err != nil {
		tb.Fatalf("cut connections: %v", err)
	}
	name := config.RuntimeParams["application_name"]
	config.RuntimeParams["application_name"] = "pgtest"
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		tb.Fatalf("cut connections: %v", err)
	}
	defer conn.Close(ctx)
	var n int
	err = conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 5000))
		FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid() AND backend_type = 'client backend'
		AND ($2 = '' OR application_name = $2)`, config.Database, name).Scan(&n)
	if err != nil {
		tb.Fatalf("cut connections: %v", err)
	}
	return n
}

func execute(url, sql string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, sql)
	return err
}
