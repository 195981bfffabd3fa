package postgres

import (
	"context"
	"embed"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"assay/internal/assay"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date and returns its number. Processes take turns by an advisory
// lock; most find nothing to do and do not take it.
func migrate(ctx context.Context, config *pgx.ConnConfig) (int64, error) {
	newest, err := newestMigration()
	if err != nil {
		return 0, err
	}
	config = config.Copy()
	// A migration may take its time, and a process that waits for its turn waits for all of it.
	for _, key := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[key] = "0"
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return 0, translate(ctx, err)
	}
	defer closeConn(c)
	if done, err := upToDate(ctx, c, newest); done || err != nil {
		return newest, err
	}
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock("+lockKey("schema")+")"); err != nil {
		return 0, translate(ctx, err)
	}
	if done, err := upToDate(ctx, c, newest); done || err != nil {
		return newest, err
	}
	return newest, apply(ctx, config)
}

// lockKey is the advisory lock of a name. Its number depends on the schema in use, so that two
// installations can share a database.
func lockKey(name string) string {
	return "hashtextextended('assay " + name + " ' || coalesce(current_schema(), ''), 0)"
}

// upToDate reads goose's own table, which is missing in a new database.
func upToDate(ctx context.Context, c *pgx.Conn, newest int64) (bool, error) {
	var there bool
	if err := c.QueryRow(ctx, "SELECT to_regclass('goose_db_version') IS NOT NULL").Scan(&there); err != nil || !there {
		return false, translate(ctx, err)
	}
	var have int64
	if err := c.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&have); err != nil {
		return false, translate(ctx, err)
	}
	if have > newest {
		return false, assay.Errorf(assay.CodeInvalid, "the database was written by a newer assay: its schema is %d, this program knows %d", have, newest).
			WithHint("use the newer program, or another database")
	}
	return have == newest, nil
}

func apply(ctx context.Context, config *pgx.ConnConfig) error {
	db := stdlib.OpenDB(*config)
	defer db.Close()
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "read migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, dir)
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "read migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		if disconnected(err) {
			return translate(ctx, err)
		}
		return assay.Errorf(assay.CodeInternal, "bring the schema up to date: %w", err).
			WithHint("the database is as it was before; the user of the database URL needs the right to make tables")
	}
	return nil
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

// closeConn says goodbye, for at most a second: the answer changes nothing.
func closeConn(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}
