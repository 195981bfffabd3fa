package shim

import (
	"os"
	"time"
)

// When nobody of the tree is left, what is still in a pipe is read; who holds it open after that is no
// process of ours.
const (
	drainQuiet = 50 * time.Millisecond // empty for so long
	drainMost  = time.Second
)

// drain waits until the reader of f has seen its end. Where somebody holds f open it ends the reader, and
// says false.
func drain(f *os.File, done <-chan struct{}) bool {
	most := time.NewTimer(drainMost)
	defer most.Stop()
	look := time.NewTicker(drainQuiet / 10)
	defer look.Stop()
	filled := time.Now()
	for {
		select {
		case <-done:
			return true
		case <-most.C:
		case now := <-look.C:
			if queued(f) > 0 {
				filled = now
			}
			if now.Sub(filled) < drainQuiet {
				continue
			}
		}
		f.SetReadDeadline(time.Now())
		<-done
		return false
	}
}
