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

// How often clients are informed: of changes, and without one.
const (
	statusEvery = 200 * time.Millisecond
	beatEvery   = time.Second
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

// listener is where clients are answered. While nobody is there the orphan grace runs.
type listener struct {
	s        *shim
	socket   *net.UnixListener
	orphaned chan struct{}
	timer    *time.Timer

	mu      sync.Mutex
	clients int
	news    chan struct{} // closed by the next change
	closed  bool
}

// listen makes the socket. Clients are answered from serve on.
func listen(s *shim) (*listener, error) {
	address, done, err := socketAddress(s.dir)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	defer done()
	if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen: %w", err)
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	socket.SetUnlinkOnClose(false) // the address may be of a descriptor that is closed by then
	if err := os.Chmod(address, 0o600); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l := &listener{s: s, socket: socket, orphaned: make(chan struct{}), news: make(chan struct{})}
	var once sync.Once
	l.timer = time.AfterFunc(s.order.OrphanGrace, func() { once.Do(func() { close(l.orphaned) }) })
	return l, nil
}

func (l *listener) serve() {
	for {
		c, err := l.socket.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many descriptors: who waits is answered later
			time.Sleep(statusEvery)
			continue
		}
		l.count(1)
		narrow(c)
		go l.obey(c)
		go l.inform(c)
	}
}

// count counts clients; with the last one that leaves the orphan grace begins.
func (l *listener) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clients += n; l.clients > 0 {
		l.timer.Stop()
	} else {
		l.timer.Reset(l.s.order.OrphanGrace)
	}
}

// obey reads what a client asks until it leaves. It alone closes the connection of one who left, so that
// what was asked before is done.
func (l *listener) obey(c net.Conn) {
	defer l.count(-1)
	defer c.Close()
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Protocol != Protocol || r.Stop == "" {
			complain(fmt.Errorf("a client asks what is not understood (its protocol is %d, this one %d)", r.Protocol, Protocol))
			continue
		}
		select {
		case l.s.stops <- r.Stop:
		default: // it was told often enough
		}
		if r.Now {
			select {
			case l.s.hurry <- struct{}{}:
			default:
			}
		}
	}
}

// inform sends a client the status, at once and then with every change.
func (l *listener) inform(c net.Conn) {
	for {
		l.mu.Lock()
		news, closed := l.news, l.closed
		l.mu.Unlock()
		raw, err := json.Marshal(l.s.status())
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
			time.Sleep(statusEvery) // what comes meanwhile is told together
		case <-beat.C:
		}
		beat.Stop()
	}
}

// changed wakes those who inform.
func (l *listener) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		close(l.news)
		l.news = make(chan struct{})
	}
}

// close turns new clients away: what there is to know is in the folder. Who is connected learns of the end
// by the end of the connection, with the process.
func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.news)
		l.socket.Close()
		l.timer.Stop()
	}
}
