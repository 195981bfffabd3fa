package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"
)

// How often clients hear of the harness: of changes, and without one.
const (
	tellEvery = 200 * time.Millisecond
	beatEvery = time.Second
)

// patience is how long a client may take for one status. One that is stopped, not dead, must not keep the
// harness from being an orphan.
const patience = 10 * time.Second

// narrow lets few statuses wait in the kernel: of one who is stopped it would take minutes' worth, and for as
// long the harness would be no orphan.
func narrow(c net.Conn) {
	if u, ok := c.(*net.UnixConn); ok {
		_ = u.SetWriteBuffer(2 << 10) // else it is only noticed later
	}
}

// office is where clients are heard. While nobody is there the orphan grace runs.
type office struct {
	s        *shim
	listener *net.UnixListener
	orphaned chan struct{}
	timer    *time.Timer

	mu      sync.Mutex
	clients int
	news    chan struct{} // closed by the next change
	closed  bool
}

// openOffice makes the socket. Clients are answered from serve on.
func openOffice(s *shim) (*office, error) {
	address, done, err := socketAddress(s.dir)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	defer done()
	if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l.SetUnlinkOnClose(false) // the address may be of a descriptor that is closed by then
	if err := os.Chmod(address, 0o600); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	o := &office{s: s, listener: l, orphaned: make(chan struct{}), news: make(chan struct{})}
	var once sync.Once
	o.timer = time.AfterFunc(s.order.OrphanGrace, func() { once.Do(func() { close(o.orphaned) }) })
	return o, nil
}

func (o *office) serve() {
	for {
		c, err := o.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many descriptors: who waits is answered later
			time.Sleep(tellEvery)
			continue
		}
		o.arrive(1)
		narrow(c)
		go o.hear(c)
		go o.tell(c)
	}
}

// arrive counts clients; with the last one that leaves the orphan grace begins.
func (o *office) arrive(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.clients += n; o.clients > 0 {
		o.timer.Stop()
	} else {
		o.timer.Reset(o.s.order.OrphanGrace)
	}
}

// hear reads what a client asks until it leaves. It alone closes the connection of one who left, so that
// what was asked before is heard.
func (o *office) hear(c net.Conn) {
	defer o.arrive(-1)
	defer c.Close()
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Stop != "" {
			select {
			case o.s.stops <- r.Stop:
			default: // it was told often enough
			}
			if r.Now {
				select {
				case o.s.hurry <- struct{}{}:
				default:
				}
			}
		}
	}
}

// tell sends a client the status, at once and then with every change.
func (o *office) tell(c net.Conn) {
	for {
		o.mu.Lock()
		news, closed := o.news, o.closed
		o.mu.Unlock()
		raw, err := json.Marshal(o.s.status())
		if err != nil || closed {
			return
		}
		c.SetWriteDeadline(time.Now().Add(patience))
		if _, err := c.Write(append(raw, '\n')); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.Close()
			}
			return
		}
		beat := time.NewTimer(beatEvery)
		select {
		case <-news:
			time.Sleep(tellEvery) // what comes meanwhile is told together
		case <-beat.C:
		}
		beat.Stop()
	}
}

// changed wakes those who tell.
func (o *office) changed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		close(o.news)
		o.news = make(chan struct{})
	}
}

// close turns new clients away: what there is to know is in the folder. Who is connected learns of the end
// by the end of the connection, with the process.
func (o *office) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		close(o.news)
		o.listener.Close()
		o.timer.Stop()
	}
}
