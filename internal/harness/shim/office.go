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

// office is where clients are heard. While nobody is there the orphan grace runs.
type office struct {
	s        *shim
	listener net.Listener
	orphaned chan struct{}
	timer    *time.Timer

	mu      sync.Mutex
	clients int
	news    chan struct{} // closed by the next change
	closed  bool
}

func (s *shim) open() (*office, error) {
	address, done, err := socketAddress(s.dir)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(address, 0o600); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	o := &office{s: s, listener: l, orphaned: make(chan struct{}), news: make(chan struct{})}
	var once sync.Once
	o.timer = time.AfterFunc(s.order.OrphanGrace, func() { once.Do(func() { close(o.orphaned) }) })
	go o.serve()
	return o, nil
}

func (o *office) serve() {
	for {
		c, err := o.listener.Accept()
		if err != nil {
			return
		}
		o.arrive(1)
		go o.hear(c)
		go o.tell(c)
	}
}

// arrive counts clients; with the last one the orphan grace begins.
func (o *office) arrive(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.clients += n; o.clients > 0 {
		o.timer.Stop()
	} else {
		o.timer.Reset(o.s.order.OrphanGrace)
	}
}

// hear reads what a client asks until it leaves.
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
		}
	}
}

// tell sends a client the status, at once and then with every change.
func (o *office) tell(c net.Conn) {
	defer c.Close()
	for {
		o.mu.Lock()
		news, closed := o.news, o.closed
		o.mu.Unlock()
		raw, err := json.Marshal(o.s.status())
		if err != nil || closed {
			return
		}
		c.SetWriteDeadline(time.Now().Add(10 * beatEvery))
		if _, err := c.Write(append(raw, '\n')); err != nil {
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

// close sends everybody away: what there is to know is in the folder.
func (o *office) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	close(o.news)
	o.listener.Close()
}
