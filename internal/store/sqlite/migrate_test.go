package sqlite

import (
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"assay/internal/assay"
)

func rawDB(t *testing.T, dir string) *sql.DB {
	t.Helper()
	c, err := connector(dir, writing)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := rawDB(t, dir)
	if _, err := db.Exec("PRAGMA user_version = 9999"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), "newer") {
		t.Errorf("error %v", err)
	}
}

// Every migration can be taken back and done again.
func TestMigrationsDownAndUp(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := rawDB(t, dir)
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d tables and indexes are left, error %v", left, err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, fileName), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]assay.Code{damaged: assay.CodeInternal, file: assay.CodeInvalid} {
		_, err := Open(t.Context(), dir)
		e, ok := err.(*assay.Error)
		if !ok || e.Code != want || e.Message == "" || e.Hint == "" {
			t.Errorf("%s: error %#v, want %s with a message and a hint", dir, err, want)
		}
	}
}
