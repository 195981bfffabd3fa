package node

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/store/postgres/pgtest"
)

// onEachOwner runs f on a data folder and on a database.
func onEachOwner(t *testing.T, f func(t *testing.T, config func(command string, drive bool) (Config, *said))) {
	for name, database := range map[string]func() string{
		"sqlite": func() string { return "" }, "postgres": func() string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, url := filepath.Join(shortDir(t), "data"), database()
			f(t, func(command string, drive bool) (Config, *said) {
				cfg, words := config(dir, command, drive)
				cfg.Database = url
				return cfg, words
			})
		})
	}
}

// A command that follows a run drives it for want of somebody else: whoever is there to serve gets the data,
// and the command goes on as its client, and drives again when that one ends.
func TestWhoDrivesForWantOfOthersYieldsToAServer(t *testing.T) {
	onEachOwner(t, func(t *testing.T, config func(string, bool) (Config, *said)) {
		cfg, words := config("watch", true)
		cfg.Yield = true
		watcher := connected(t, cfg)
		cfg, _ = config("suite run", true)
		if other := connected(t, cfg); other.Owner().Command != "watch" {
			t.Fatalf("another command that drives is no client: %+v", other.Owner())
		}
		cfg, _ = config("serve", true)
		cfg.Serve = true
		server := connected(t, cfg)
		eventually(t, "the server to own", func() bool { return server.Node().Owns() })
		ask(t, watcher)
		if watcher.Node() != nil || watcher.Owner().Command != "serve" || !strings.Contains(words.text(), "`assay serve` (pid") {
			t.Errorf("it goes on with %+v, said %q", watcher.Owner(), words.text())
		}
		if err := server.Close(time.Second); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the watcher to own again", func() bool { ask(t, watcher); n := watcher.Node(); return n != nil && n.Owns() })
	})
}

// What a command that only looks does at the moment is done before it hands the data over, and what it does
// next goes to whoever drives.
func TestALookYieldsToADriver(t *testing.T) {
	onEachOwner(t, func(t *testing.T, config func(string, bool) (Config, *said)) {
		cfg, _ := config("logs", false)
		looker := connected(t, cfg)
		if !looker.Node().Owns() {
			t.Fatal("it does not own")
		}
		cfg, _ = config("grade", true)
		driver := connected(t, cfg)
		eventually(t, "the driver to own", func() bool { return driver.Node() != nil && driver.Node().Owns() })
		ask(t, looker)
		if looker.Node() != nil || looker.Owner().Command != "grade" {
			t.Errorf("it goes on with %+v", looker.Owner())
		}
	})
}

// Who asked for the data may end before it takes it.
func TestDataThatNobodyTookIsTakenBack(t *testing.T) {
	cfg, words := config(filepath.Join(shortDir(t), "data"), "watch", true)
	cfg.Yield = true
	watcher := connected(t, cfg)
	watcher.polite = 50 * time.Millisecond
	old := watcher.Node()
	handOver(t.Context(), old.socket)
	handOver(t.Context(), old.socket) // and again
	eventually(t, "it is handed over", func() bool { return !old.Owns() })
	ask(t, watcher)
	if n := watcher.Node(); n == nil || n == old || !n.Owns() || !strings.Contains(words.text(), "this process goes on") {
		t.Errorf("%+v, said %q", watcher.Owner(), words.text())
	}
}

// A process that stands by may find an owner that only looks when that one does not answer yet.
func TestWhoStandsByAsksAnOwnerThatOnlyLooks(t *testing.T) {
	dir, url := filepath.Join(shortDir(t), "data"), pgtest.Database(t)
	cfg, _ := config(dir, "watch", true)
	cfg.Database = url
	socket, err := SocketPath(dir, url)
	if err != nil {
		t.Fatal(err)
	}
	st, err := OpenStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	looks, _ := config(dir, "logs", false)
	looks.Database = url
	looker := connected(t, looks)
	driver, err := open(t.Context(), cfg, socket, st, nil) // as where the lock was held and nobody answered
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close(time.Second)
	eventually(t, "the driver to own", driver.Owns)
	ask(t, looker)
	if looker.Node() != nil || looker.Owner().Command != "watch" {
		t.Errorf("it goes on with %+v", looker.Owner())
	}
}
