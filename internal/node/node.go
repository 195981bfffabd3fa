// Package node is one process's part in a data folder or a database: it connects to the owner, or
// becomes it, serves the API and, where its command may, drives runs.
//
// It owns the lock's use, the socket and the order of starting and stopping. It refuses to know
// what a run does and what a request means. Its invariant: only the holder of the lock listens on
// the socket or runs a dispatcher, and when the lock is lost both end at once.
package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/grading"
	"assay/internal/harness"
	"assay/internal/limit"
	"assay/internal/store"
	"assay/internal/telemetry"
)

// Config says what this process is and may do.
type Config struct {
	Dir      string // data folder
	Database string // PostgreSQL URL; "" is SQLite in Dir
	Drive    bool   // takes runs up when it owns
	Yield    bool   // though it drives: hands the data over to a process that is there to serve
	Serve    bool   // is there to serve: is not content to be a client of another owner
	Command  string // e.g. "grade", for people who meet this process as the owner
	Version  string
	// Capabilities are what this machine has, for suites that need it.
	Capabilities []string

	Say func(sentence string) // tells the person at the terminal why they wait
	Log *slog.Logger
}

// Node serves one store in this process.
type Node struct {
	cfg    Config
	socket string
	store  store.Store
	since  time.Time
	found  []assay.Run // that nobody drove when this process began to own

	models  *models
	limits  *limit.Registry
	watch   *telemetry.Telemetry
	grader  *grading.Grader
	harness *harness.Driver
	engine  *engine.Engine
	api     http.Handler
	page    http.Handler // the status page before the API
	pipe    *pipe
	local   *http.Server // pipe and socket
	tcp     *http.Server // nil unless ServeTCP was called

	dispatcher atomic.Pointer[local.Dispatcher]
	owning     atomic.Bool
	stopping   atomic.Bool
	yielding   atomic.Bool  // it was asked to hand the data over, and does
	patience   atomic.Int64 // ns that Close gives to requests of others
	guests     guests
	rekeying   atomic.Int64 // recomputing of arms and days that the last owner left
	address    atomic.Pointer[string]

	stop    context.CancelFunc // asks the carrier to end
	carried chan struct{}      // closed when it has: no dispatcher, no socket, no lock
	closing sync.Once
	closed  chan struct{} // when Close is done

	followed sync.WaitGroup // reading of prices and limits
}

// open starts to serve st. own may be nil: then the node stands by.
func open(ctx context.Context, cfg Config, path string, st store.Store, own store.Ownership) (*Node, error) {
	n := &Node{cfg: cfg, socket: path, store: st, since: time.Now(), pipe: newPipe(), carried: make(chan struct{}), closed: make(chan struct{})}
	n.build()
	if err := n.models.Reload(ctx); err != nil {
		if own != nil {
			own.Release()
		}
		n.watch.Close()
		return nil, err
	}
	go n.serve(n.local, n.pipe)

	var s *socket
	if own != nil {
		var err error
		if n.found, err = n.Waiting(ctx); err == nil {
			s, err = n.takeOver(ctx)
		}
		if err != nil {
			own.Release()
			n.local.Close()
			n.watch.Close()
			return nil, err
		}
	}
	// The carrier outlives the command's context: a command that ends stops it in Close, gracefully.
	carry, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop = stop
	if cfg.Database != "" {
		n.followed.Go(func() {
			n.models.follow(carry, func(err error) { cfg.Log.Warn("read prices and limits; goes on trying", "error", err) })
		})
	}
	go n.carry(carry, own, s)
	return n, nil
}

// Waiting lists the runs that wait for a process that drives. Nobody drives an external one.
func (n *Node) Waiting(ctx context.Context) ([]assay.Run, error) {
	runs, err := n.store.Runs().Waiting(ctx, now())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(runs, func(r assay.Run) bool {
		return r.State != assay.RunQueued && r.State != assay.RunRunning || r.Kind == assay.RunExternal
	}), nil
}

// Found lists the runs that waited for a process that drives when this one began to own.
func (n *Node) Found() []assay.Run { return n.found }

// Owns says whether this process holds the lock at the moment.
func (n *Node) Owns() bool { return n.owning.Load() }

// Identity is what the node says of itself.
func (n *Node) Identity() Identity {
	id := Identity{PID: os.Getpid(), Version: n.cfg.Version, Command: n.cfg.Command, Since: n.since,
		Drives: n.cfg.Drive && n.owning.Load(), Yields: n.cfg.yields(), Stopping: n.stopping.Load()}
	if a := n.address.Load(); a != nil {
		id.Address = *a
	}
	return id
}

// Close stops driving gracefully (calls in flight get engine.StopGrace), lets requests of other
// processes end for as long as patience, gives the lock back and closes the store. Until then the
// socket answers, so that others can look on. It waits because a request may be an import of an hour
// that came to this process by chance.
func (n *Node) Close(patience time.Duration) error {
	var err error
	n.patience.Store(int64(patience)) // also of a close under way
	n.closing.Do(func() {
		defer close(n.closed)
		n.stopping.Store(true)
		n.stop()
		<-n.carried
		n.followed.Wait()
		err = n.closeServers()
	})
	return err
}

// requestGrace is how long what is still open may last at the very end. Streams end at once; their
// clients find the next owner.
const requestGrace = time.Second

func (n *Node) closeServers() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestGrace)
	defer cancel()
	for _, s := range []*http.Server{n.tcp, n.local} {
		if s == nil {
			continue
		}
		if err := s.Shutdown(ctx); err != nil {
			s.Close()
		}
	}
	n.pipe.Close()
	n.models.judges.transport.CloseIdleConnections()
	n.watch.Close()
	if err := n.store.Close(); err != nil {
		return assay.Errorf(assay.CodeInternal, "close the database: %w", err)
	}
	return nil
}

func (n *Node) serve(s *http.Server, l net.Listener) {
	if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		n.cfg.Log.Error("serve", "address", l.Addr().String(), "error", err)
	}
}
