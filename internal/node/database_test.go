package node

import (
	"strings"
	"testing"
	"time"

	"assay/internal/store/postgres/pgtest"
)

func databaseConfig(url, command string, drive bool) (Config, *said) {
	cfg, words := config("", command, drive)
	cfg.Database = url
	return cfg, words
}

func TestOnOneMachineADatabaseHasOneOwnerAndClients(t *testing.T) {
	url := pgtest.Database(t)
	t.Setenv("TMPDIR", shortDir(t))
	cfg, _ := databaseConfig(url, "serve", true)
	cfg.Serve = true
	first := connected(t, cfg)
	cfg, _ = databaseConfig(url, "grade", true)
	second := connected(t, cfg)
	if first.Node() == nil || !first.Owner().Drives || second.Node() != nil {
		t.Errorf("first %+v, second %+v", first.Owner(), second.Owner())
	}
	ask(t, second)
}

func TestElsewhereAProcessStandsByAndTakesOver(t *testing.T) {
	url := pgtest.Database(t)
	t.Setenv("TMPDIR", shortDir(t))
	cfg, _ := databaseConfig(url, "serve", true)
	first := connected(t, cfg)
	t.Setenv("TMPDIR", shortDir(t)) // another machine: the socket is out of reach
	cfg, _ = databaseConfig(url, "serve", true)
	cfg.Serve = true
	second := connected(t, cfg)
	cfg, _ = databaseConfig(url, "runs", false)
	looker := connected(t, cfg)
	if second.Node() == nil || second.Node().Owns() || looker.Node() == nil || looker.Node().Owns() {
		t.Fatalf("second %+v, looker %+v", second.Owner(), looker.Owner())
	}
	ask(t, second)
	ask(t, looker)
	ended := time.Now()
	if err := first.Close(time.Second); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the one that stood by", func() bool { return second.Owner().Drives })
	if took := time.Since(ended); took > 3*time.Second {
		t.Errorf("took over after %s", took)
	}
	if looker.Node().Owns() {
		t.Error("a command that looks took over")
	}
}

func TestALostLockStopsDrivingAndIsWonBack(t *testing.T) {
	url := pgtest.As(pgtest.Database(t), "owner-under-test")
	t.Setenv("TMPDIR", shortDir(t))
	cfg, words := databaseConfig(url, "serve", true)
	l := connected(t, cfg)
	if n := pgtest.Cut(t, url); n == 0 {
		t.Fatal("nothing was cut")
	}
	eventually(t, "the loss", func() bool { return strings.Contains(words.text(), "lost the lock") })
	eventually(t, "the lock again", func() bool { return l.Owner().Drives })
	ask(t, l)
	cfg, _ = databaseConfig(url, "runs", false)
	if client := connected(t, cfg); client.Node() != nil {
		t.Error("the socket is not served again")
	}
}
