package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// As the role "orphan" the test binary starts a server, prints its address and waits to be killed.
func TestMain(m *testing.M) {
	if os.Getenv("PGTEST_ROLE") == "orphan" {
		s, err := newServer(false)
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(s.url("postgres"), s.dir)
		select {}
	}
	Main(m)
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestDatabasesAreFreshAndApart(t *testing.T) {
	a, b := Database(t), Database(t)
	if a == b {
		t.Fatalf("both are %s", a)
	}
	if _, err := connect(t, a).Exec(t.Context(), "CREATE TABLE x (i int)"); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, b).Exec(t.Context(), "SELECT * FROM x"); err == nil {
		t.Fatal("a table of one database is seen in the other")
	}
}

func TestCutEndsOnlyTheNamedClient(t *testing.T) {
	db := Database(t)
	first, second := connect(t, As(db, "first")), connect(t, As(db, "second"))
	if n := Cut(t, As(db, "first")); n != 1 {
		t.Fatalf("cut %d connections, want 1", n)
	}
	if err := first.Ping(t.Context()); err == nil {
		t.Error("the cut client still answers")
	}
	if err := second.Ping(t.Context()); err != nil {
		t.Errorf("the other client was cut too: %v", err)
	}
}

func TestServerStopsAndRestartsOnItsPort(t *testing.T) {
	s := Start(t)
	db := s.Database(t)
	if _, err := connect(t, db).Exec(t.Context(), "CREATE TABLE x (i int)"); err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	if conn, err := pgx.Connect(t.Context(), db); err == nil {
		_ = conn.Close(t.Context())
		t.Fatal("a stopped server answers")
	}
	s.Restart(t)
	if _, err := connect(t, db).Exec(t.Context(), "INSERT INTO x VALUES (1)"); err != nil {
		t.Fatal(err)
	}
}

func TestDurableServerSyncs(t *testing.T) {
	for want, db := range map[string]string{"off": Database(t), "on": DurableDatabase(t)} {
		var got string
		if err := connect(t, db).QueryRow(t.Context(), "SHOW fsync").Scan(&got); err != nil || got != want {
			t.Errorf("fsync is %q, want %q (%v)", got, want, err)
		}
	}
}

func TestServerDiesWithItsProcess(t *testing.T) {
	Database(t) // skips where there is no PostgreSQL
	if !tied {
		t.Skip("this system does not tie a child's life to its parent's")
	}
	orphan := exec.Command(os.Args[0])
	orphan.Env = append(os.Environ(), "PGTEST_ROLE=orphan")
	out, err := orphan.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	var where, dir string
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &where, &dir)
	}
	_ = orphan.Process.Kill()
	_ = orphan.Wait()
	if err != nil {
		t.Fatalf("the orphan said %q: %v", line, err)
	}
	t.Cleanup(func() {
		sweep(filepath.Dir(dir))
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder of a dead process stays: %v", err)
		}
	})
	u, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	tick, deadline := time.NewTicker(20*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			return
		}
		_ = conn.Close()
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the server outlives the process that started it")
		}
	}
}

// missed records how a test ended.
type missed struct {
	testing.TB
	how string
}

func (m *missed) Helper()               {}
func (m *missed) Skipf(string, ...any)  { m.how = "skipped" }
func (m *missed) Fatalf(string, ...any) { m.how = "failed" }

func TestMissingServerSkipsAndFailsInCI(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped", "true": "failed"} {
		t.Setenv("CI", ci)
		m := &missed{TB: t}
		if missing(m, errors.New("none")); m.how != want {
			t.Errorf("CI=%q: %s, want %s", ci, m.how, want)
		}
	}
}
