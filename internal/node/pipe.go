package node

import (
	"bufio"
	"context"
	"net"
	"sync"
)

// pipe is a listener inside the process: a node's own command talks to its own server in the same
// words as a client from outside, whether or not the node owns a socket at the moment.
type pipe struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipe() *pipe { return &pipe{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return buffered(c), nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Dial has the shape that http.Transport wants.
func (p *pipe) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.done: // as of a socket where nobody listens
		return nil, &net.OpError{Op: "dial", Net: pipeAddr{}.Network(), Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipe) Addr() net.Addr { return pipeAddr{} }

// buffer is what one read or write of a local connection moves: files are imported through it.
const buffer = 64 << 10

// bufferedConn reads much at a time, because http.Server reads 4 kB.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func buffered(c net.Conn) net.Conn { return &bufferedConn{c, bufio.NewReaderSize(c, buffer)} }

func (c *bufferedConn) Read(b []byte) (int, error) { return c.r.Read(b) }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "this process" }
