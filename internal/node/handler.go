package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/grading"
	"assay/internal/harness"
	"assay/internal/ingest"
	"assay/internal/limit"
	"assay/internal/store"
	"assay/internal/web"
)

// Door says how clients may come in over TCP.
type Door struct {
	Token    string
	Hosts    []string
	Commands bool // definitions that run commands too
}

// now is the clock of everything that is stored: UTC, to the microsecond that databases keep.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// build wires the parts together.
func (n *Node) build() {
	n.limits = limit.New(time.Now)
	n.models = newModels(n.store, n.limits)
	n.watch = n.newTelemetry()
	n.grader = grading.New(grading.Options{
		Store: n.store, Build: n.models.judges.build, Builtin: n.models.judges.builtin, Gate: engine.NewGate(),
		Limits: n.limits, Price: n.models.price, Observer: n.watch, Now: now, Log: n.cfg.Log,
	})
	n.harness = n.newHarness()
	n.engine = engine.New(n.store, n.grader, harness.Resolver(n.cfg.Capabilities...), n.wake, now)
	services := api.Services{
		Store: n.store, Engine: n.engine, Import: n.importFile, CompileJudge: n.models.judges.compile,
		Models: n.models, Judging: judging{n.models}, Harnesses: suites{n},
		Owner: n.ownerInfo, Metrics: n.watch.Handler(), Now: now, Log: n.cfg.Log,
	}
	n.api = api.New(services)
	n.page = web.New(services.Overview, n.api)
	n.local = api.HTTPServer(n.localHandler())
	n.local.ConnState = n.guests.connState
}

func (n *Node) newDispatcher(own store.Ownership) *local.Dispatcher {
	return local.New(local.Options{
		Store: n.store, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: n.grader, assay.RunSingle: n.grader, assay.RunSuite: n.harness},
		Now: now, Log: n.cfg.Log, Grace: own.Grace(), Look: !n.cfg.Drive, Silence: n.engine.Silence(),
	})
}

// wake tells the dispatcher, if there is one, that there may be work.
func (n *Node) wake() {
	if d := n.dispatcher.Load(); d != nil {
		d.Wake()
	}
}

// localHandler serves the socket and this process's own command.
func (n *Node) localHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+identityPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(n.Identity()) // a client that left is no news
	})
	mux.HandleFunc("POST "+handOverPath, func(w http.ResponseWriter, _ *http.Request) {
		n.yield()
		w.WriteHeader(http.StatusAccepted)
	})
	mux.Handle("/", n.guests.counted(n.page))
	return api.Guard(mux, api.GuardOptions{Socket: true})
}

// Listen takes a TCP address. Beyond loopback it refuses to without a token.
func Listen(addr, token string) (net.Listener, error) {
	if err := api.CheckListen(addr, token); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, assay.Errorf(assay.CodeUnavailable, "listen on %s: %w", addr, err).
			WithHint("another program has this address: --listen 127.0.0.1:0 takes a free one")
	case err != nil:
		return nil, assay.Errorf(assay.CodeInvalid, "listen on %s: %w", addr, err).
			WithHint("give a host of this machine and a port from 0 to 65535 that you may open, for instance 127.0.0.1:7171")
	}
	return l, nil
}

// ServeTCP serves the API and the page on l until Close, and returns their address.
func (n *Node) ServeTCP(l net.Listener, d Door) string {
	n.tcp = api.HTTPServer(api.Guard(n.page, api.GuardOptions{Hosts: d.Hosts, Token: d.Token, Commands: d.Commands}))
	address := "http://" + reachable(l.Addr().String())
	n.address.Store(&address)
	go n.serve(n.tcp, l)
	return address
}

// reachable is where a listener can be reached from this machine: one on every address has none of its
// own, and the guard takes no request for 0.0.0.0.
func reachable(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsUnspecified() {
		return addr
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
}

func (n *Node) ownerInfo() api.OwnerInfo {
	id := n.Identity()
	return api.OwnerInfo{PID: id.PID, Since: id.Since, Driving: id.Drives, Ticking: id.Drives && n.cfg.Serve, Version: id.Version}
}

func (n *Node) importFile(ctx context.Context, p assay.Project, file io.Reader, o assay.ImportOptions) (store.Import, error) {
	if n.cfg.Database == "" {
		o.Spool = n.cfg.Dir // there is room for sessions, or nothing helps
	}
	return ingest.Import(ctx, n.store, p, file, o, now)
}
