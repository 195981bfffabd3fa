package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/sqlite"

	"assay/internal/assay"
	"assay/internal/store"
)

const fileName = "assay.db"

// Store is one data folder.
type Store struct {
	dir    string
	write  *writer
	beats  *beats
	read   *readers
	schema int64
	file   os.FileInfo // of the database as it was opened

	shut  sync.Once
	shutE error
}

var _ store.Store = (*Store)(nil)

// private makes a new database readable by its owner only, whatever the folder allows: transcripts are
// in it. SQLite gives the files beside it the same mode.
func private(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return assay.Errorf(assay.CodeUnavailable, "open the database: %w", err).WithHint("the data folder must be writable; give another with --data")
	}
	return f.Close()
}

// Open opens dir/assay.db, making both when they are missing, and brings its schema up to date. Any
// number of processes may do so at once.
func Open(ctx context.Context, dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, assay.Errorf(assay.CodeInvalid, "make data folder: %w", err).WithHint("give another folder with --data")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInvalid, "find data folder: %w", err)
	}
	if err := private(filepath.Join(dir, fileName)); err != nil {
		return nil, err
	}
	// As durable as fsync, without the wait for the file's time stamps. Where it is unknown fsync stays.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, translate(err)
	}
	schema, err := migrate(ctx, dir)
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, dir, writing)
	if err != nil {
		return nil, err
	}
	file, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		return nil, errors.Join(assay.Errorf(assay.CodeUnavailable, "look at the database: %w", err), w.close())
	}
	write := &writer{conn: w}
	return &Store{
		dir:    dir,
		schema: schema,
		file:   file,
		write:  write,
		beats:  &beats{write: write},
		read:   newReaders(func(ctx context.Context) (*conn, error) { return open(ctx, dir, reading) }),
	}, nil
}

type mode int

const (
	writing mode = iota
	reading
)

func open(ctx context.Context, dir string, m mode) (*conn, error) {
	c, err := connector(dir, m)
	if err != nil {
		return nil, err
	}
	return connect(ctx, c)
}

// connector says how connections are opened. Memory is bounded by the caches: 32 MB to write, 4 MB
// for each reader; nothing is mapped, because mapped pages count as ours.
func connector(dir string, m mode) (driver.Connector, error) {
	pragmas := []string{"busy_timeout(10000)", "foreign_keys(1)", "synchronous(FULL)", "trusted_schema(0)"}
	switch m {
	case writing:
		pragmas = append(pragmas, "cache_size(-32768)", "wal_autocheckpoint(4000)", "journal_size_limit(67108864)")
	case reading:
		pragmas = append(pragmas, "cache_size(-4096)", "query_only(1)")
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.Join(dir, fileName)}).EscapedPath(), RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	c, err := sqlite.NewConnector(u.String())
	return c, translate(err)
}

func (s *Store) Projects() store.Projects   { return projects{s} }
func (s *Store) Sessions() store.Sessions   { return sessions{s} }
func (s *Store) Bodies() store.Bodies       { return bodies{s} }
func (s *Store) Imports() store.Imports     { return imports{s} }
func (s *Store) Sets() store.Sets           { return sets{s} }
func (s *Store) Labels() store.Labels       { return labels{s} }
func (s *Store) Judges() store.Judges       { return judges{s} }
func (s *Store) Runs() store.Runs           { return runs{s} }
func (s *Store) Plans() store.Plans         { return plans{s} }
func (s *Store) Items() store.Items         { return items{s} }
func (s *Store) Verdicts() store.Verdicts   { return verdicts{s} }
func (s *Store) Models() store.Models       { return models{s} }
func (s *Store) Spending() store.Spending   { return spending{s} }
func (s *Store) Suites() store.Suites       { return suites{s} }
func (s *Store) Harnesses() store.Harnesses { return harnesses{s} }
func (s *Store) Schedules() store.Schedules { return schedules{s} }
func (s *Store) Owner() store.Owner         { return owner{s} }

// Info reads what doctor shows.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	info := store.Info{Kind: "sqlite", Where: filepath.Join(s.dir, fileName), Schema: s.schema}
	err := s.read.do(ctx, func(c *conn) error {
		_, err := c.first(ctx, func(r row) error {
			info.Version, info.Bytes = r.text(0), r.int(1)
			return nil
		}, "SELECT sqlite_version(), (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())")
		return err
	})
	return info, err
}

// replaced says that the file that was opened is surely not the data folder's database any more.
func (s *Store) replaced() bool { return notAt(s.file, filepath.Join(s.dir, fileName)) }

// Close waits for the write in progress. Calls after it fail with CodeUnavailable.
func (s *Store) Close() error {
	s.shut.Do(func() { s.shutE = errors.Join(s.read.close(), s.write.close()) })
	return s.shutE
}
