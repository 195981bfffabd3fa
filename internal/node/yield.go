package node

import (
	"context"
	"net/http"
	"time"
)

// Who only looks must not keep others from driving. An owner that yields, a command that looks or one
// that drives for want of somebody else, is asked for the data on its socket by a process that needs it:
//
//	wants: Ask ──▶ yields ──▶ POST /owner/hand-over ──▶ waits for the lock, as for any owner that ends
//	owns:  answers, closes its node gracefully, leaves the lock alone for heldPatience, and goes on as a
//	       client of whoever has it then; it owns again where nobody has
//
// One that drives is asked by a process that is there to serve only: another command that drives is content
// to be its client.

// handOverPath is served on the socket and inside the process, never on TCP.
const handOverPath = "/owner/hand-over"

// yieldPatience is how long requests of others, an import of this command's own among them, may still last.
const yieldPatience = 24 * time.Hour

// yields says whether this process hands the data over when it is asked to.
func (c Config) yields() bool { return !c.Drive || c.Yield }

// yield hands the data over; its Link finds who took it.
func (n *Node) yield() {
	if !n.cfg.yields() || !n.yielding.CompareAndSwap(false, true) {
		return
	}
	go func() {
		if err := n.Close(yieldPatience); err != nil {
			n.cfg.Log.Warn("hand the data over", "error", err)
		}
	}()
}

// yielded waits until the data is handed over.
func (n *Node) yielded(ctx context.Context) error {
	select {
	case <-n.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// want asks an owner for the data where it yields to what this process is. Whether it does shows at its lock.
func (c Config) want(ctx context.Context, socket string, id Identity) {
	if id.Yields && !id.Stopping && c.Drive && (c.Serve || !id.Drives) {
		handOver(ctx, socket)
	}
}

// handOver is safe to repeat. An owner that does not answer has no data to hand over.
func handOver(ctx context.Context, socket string) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	tr := socketTransport(socket)
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://assay"+handOverPath, http.NoBody)
	if err != nil {
		return
	}
	if resp, err := tr.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
	}
}
