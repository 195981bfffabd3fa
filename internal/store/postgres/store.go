package postgres

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"assay/internal/assay"
	"assay/internal/store"
)

// Store is one database.
type Store struct {
	pool   *pgxpool.Pool
	long   chan struct{} // held while a snapshot is read
	where  string
	schema int64
}

var _ store.Store = (*Store)(nil)

// defaultConns is the size of the pool unless the URL says pool_max_conns. The owner lock and a
// migration take one connection more each.
const defaultConns = 10

// defaults are the session settings of our connections; the URL may set others. No transaction of
// ours waits for anything but the server, so that one that idles belongs to a stopped process and
// must not keep a run's row locked.
var defaults = map[string]string{
	"application_name":                    "assay",
	"statement_timeout":                   "30s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "2s",
	"timezone":                            "UTC",
	// Statements are planned once per connection, often while their tables are still empty. Every row that
	// they look for is found by an index; a plan that reads a small table whole would stay when it is big.
	"plan_cache_mode":  "force_generic_plan",
	"enable_seqscan":   "off",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
	"jit":              "off",
}

// Open connects to the database of a postgres:// URL and brings its schema up to date. Any number of
// processes may do so at once. The URL may hold pgx's pool_ parameters and PostgreSQL's settings.
func Open(ctx context.Context, databaseURL string) (*Store, error) {
	config, err := configure(databaseURL)
	if err != nil {
		return nil, err
	}
	s := &Store{where: address(config)}
	if s.schema, err = migrate(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, translate(ctx, err)
	}
	// Who reads a snapshot may use the store meanwhile: planning stores a heartbeat. Were all connections
	// held so, all would wait for one more.
	s.long = make(chan struct{}, max(1, config.MaxConns/2))
	return s, nil
}

func configure(databaseURL string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		// The parser's own text may hold the password.
		return nil, assay.Errorf(assay.CodeInvalid, "the database URL cannot be read").
			WithHint("write postgres://USER@HOST:PORT/DATABASE; a special character in a password is %%-escaped")
	}
	if plain, err := pgx.ParseConfig(databaseURL); err == nil && plain.RuntimeParams["pool_max_conns"] == "" {
		config.MaxConns = defaultConns
	}
	for key, setting := range defaults {
		if _, set := config.ConnConfig.RuntimeParams[key]; !set {
			config.ConnConfig.RuntimeParams[key] = setting
		}
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	config.ConnConfig.DialFunc = (&net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
	}).DialContext
	config.PingTimeout = 2 * time.Second
	// A goodbye over a network that is gone would take 15 s for each connection.
	config.BeforeClose = func(c *pgx.Conn) { _ = c.PgConn().Conn().SetDeadline(time.Now().Add(time.Second)) }
	return config, nil
}

// address is the database's address without user and password.
func address(config *pgxpool.Config) string {
	c := config.ConnConfig
	if c.Host != "" && c.Host[0] == '/' {
		return "postgres:" + c.Host + ":" + strconv.Itoa(int(c.Port)) + "/" + c.Database
	}
	return "postgres://" + net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) + "/" + c.Database
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
	info := store.Info{Kind: "postgres", Where: s.where, Schema: s.schema}
	err := s.read(ctx, func(ctx context.Context, c conn) error {
		_, err := c.first(ctx, "SELECT current_setting('server_version'), pg_database_size(current_database())", nil, &info.Version, &info.Bytes)
		return err
	})
	return info, err
}

// Close ends the pool's connections. Calls after it fail with CodeUnavailable.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}
