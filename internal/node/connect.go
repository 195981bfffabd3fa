package node

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres"
	"assay/internal/store/sqlite"
)

const (
	// askEvery is how often a process that waits for the owner looks again.
	askEvery = 25 * time.Millisecond
	// sayAfter is how long it waits before it says why.
	sayAfter = time.Second
	// heldPatience is how long a lock may be held without anybody answering on the socket: longer than
	// an owner needs to begin or to end.
	heldPatience = 5 * time.Second
)

// OpenStore opens the database that cfg names. With an error the store is nil: not an interface that
// holds a nil pointer.
func OpenStore(ctx context.Context, cfg Config) (store.Store, error) {
	if cfg.Database != "" {
		return opened(postgres.Open(ctx, cfg.Database))
	}
	return opened(sqlite.Open(ctx, cfg.Dir))
}

func opened(s store.Store, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Connect finds the owner of a data folder or database, or becomes it.
//
// A command that drives is not content with an owner that does not, or that is about to end: it asks
// for the data and waits for its turn. Where a database is owned from another machine, the node stands by.
func Connect(ctx context.Context, cfg Config) (*Link, error) {
	w, err := connect(ctx, cfg, 0)
	if err != nil {
		return nil, err
	}
	return &Link{cfg: cfg, polite: heldPatience, way: w}, nil
}

// connect leaves the data to others for as long as polite.
func connect(ctx context.Context, cfg Config, polite time.Duration) (*way, error) {
	socket, err := SocketPath(cfg.Dir, cfg.Database)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c := &connecting{cfg: cfg, socket: socket, patience: heldPatience, begun: now, answered: now, polite: now.Add(polite)}
	return c.run(ctx)
}

func (c *connecting) run(ctx context.Context) (*way, error) {
	defer c.close()
	for {
		if w, err := c.try(ctx); w != nil || err != nil {
			return w, err
		}
		if !pause(ctx, askEvery) {
			return nil, ctx.Err()
		}
	}
}

// connecting is one Connect under way.
type connecting struct {
	cfg      Config
	socket   string
	store    store.Store // opened when nobody answered, kept between tries
	patience time.Duration
	begun    time.Time
	answered time.Time // when an owner answered last, or the beginning
	polite   time.Time // until then it leaves the data to the process that it handed it over to
	said     bool
}

// close ends a store that was not handed over to a node.
func (c *connecting) close() {
	if c.store != nil {
		c.store.Close()
	}
}

// try returns nil, nil to be called again.
func (c *connecting) try(ctx context.Context) (*way, error) {
	id, err := Ask(ctx, c.socket)
	settled := err == nil && id.Drives && !id.Stopping
	if err == nil {
		c.cfg.want(ctx, c.socket, id)
	}
	switch {
	case err != nil && time.Now().Before(c.polite):
		return nil, nil
	case err != nil, c.cfg.Serve && c.cfg.Database != "":
	case c.cfg.Serve && settled && !id.Yields:
		return nil, servedError(c.cfg, id)
	case c.cfg.Serve && settled:
		c.answered = time.Now()
		return nil, nil
	case !c.cfg.Drive, settled:
		return &way{transport: socketTransport(c.socket), owner: id}, nil
	default:
		c.answered = time.Now()
		c.sayWaiting(id)
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if c.store == nil {
		if c.store, err = OpenStore(ctx, c.cfg); err != nil {
			return nil, err
		}
	}
	own, err := c.store.Owner().TryOwn(ctx)
	switch {
	case err != nil:
		return nil, err
	case own != nil, c.cfg.Database != "":
		return c.become(ctx, own)
	case time.Since(c.answered) > c.patience:
		return nil, heldError(c.cfg, c.socket)
	}
	return nil, nil
}

func (c *connecting) become(ctx context.Context, own store.Ownership) (*way, error) {
	n, err := open(ctx, c.cfg, c.socket, c.store, own)
	if err != nil {
		return nil, err
	}
	c.store = nil
	return &way{transport: localTransport(n.pipe.Dial), node: n}, nil
}

func (c *connecting) sayWaiting(id Identity) {
	if c.said || time.Since(c.begun) < sayAfter {
		return
	}
	c.said = true
	if id.Stopping {
		c.cfg.Say("waits for " + id.String() + " to stop, then takes its runs up")
		return
	}
	c.cfg.Say("waits for " + id.String() + ", which takes no runs up, to end; then goes on here")
}

func servedError(cfg Config, id Identity) error {
	e := assay.Errorf(assay.CodeConflict, "data folder %s is owned by %s", cfg.Dir, id).With("pid", strconv.Itoa(id.PID))
	if id.Address != "" {
		return e.With("address", id.Address).WithHint("it serves %s already", id.Address)
	}
	return e.WithHint("wait until it ends, or stop it: what it runs goes on here")
}

func heldError(cfg Config, socket string) error {
	e := assay.Errorf(assay.CodeUnavailable, "data folder %s is held by a process that does not answer on %s", cfg.Dir, socket)
	if pid := holder(cfg.Dir); pid != "" {
		e = assay.Errorf(assay.CodeUnavailable, "data folder %s is held by the process with pid %s, which does not answer on %s", cfg.Dir, pid, socket).With("pid", pid)
	}
	return e.WithHint("it may be stopped (Ctrl-Z), or belong to another user or container; end it and try again")
}

// holder is the pid that the holder of a folder's lock left in it for people, or "".
func holder(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "owner.lock"))
	if err != nil {
		return ""
	}
	pid := strings.TrimSpace(string(raw))
	if _, err := strconv.Atoi(pid); err != nil {
		return ""
	}
	return pid
}
