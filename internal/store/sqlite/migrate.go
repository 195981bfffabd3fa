package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"assay/internal/assay"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date and returns its number. The number stands in user_version
// too, which is read without goose: most opens find nothing to do. Processes that do find something
// take turns by a file lock, since switching a new file to WAL does not wait its turn by itself.
func migrate(ctx context.Context, dir string) (int64, error) {
	newest, err := newestMigration()
	if err != nil {
		return 0, err
	}
	c, err := connector(dir, writing)
	if err != nil {
		return 0, err
	}
	db := sql.OpenDB(c)
	defer db.Close()
	db.SetMaxOpenConns(1)

	if done, err := upToDate(ctx, db, newest); done || err != nil {
		return newest, err
	}
	lock, err := lockFile(ctx, filepath.Join(dir, "schema.lock"))
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	if done, err := upToDate(ctx, db, newest); done || err != nil {
		return newest, err
	}
	return newest, apply(ctx, db, newest)
}

func apply(ctx context.Context, db *sql.DB, newest int64) error {
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return translate(err)
	}
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "read migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir)
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "read migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return assay.Errorf(assay.CodeInternal, "bring the schema up to date: %w", err).
			WithHint("the data folder is as it was before; keep a copy of it and report this")
	}
	_, err = db.ExecContext(ctx, "PRAGMA user_version = "+strconv.FormatInt(newest, 10))
	return translate(err)
}

func upToDate(ctx context.Context, db *sql.DB, newest int64) (bool, error) {
	var have int64
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return false, translate(err)
	}
	if have > newest {
		return false, assay.Errorf(assay.CodeInvalid, "the data folder was written by a newer assay: its schema is %d, this program knows %d", have, newest).
			WithHint("use the newer program, or another folder with --data")
	}
	return have == newest, nil
}

func newestMigration() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		return 0, assay.Errorf(assay.CodeInternal, "the program holds no migrations: %w", err)
	}
	number, _, _ := strings.Cut(path.Base(names[len(names)-1]), "_") // Glob sorts
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, assay.Errorf(assay.CodeInternal, "read the number of a migration: %w", err)
	}
	return n, nil
}
