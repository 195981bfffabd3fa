package shim

import "assay/internal/logs"

// notes are lines of ours on their way into the log, in their order. Who adds one does not wait for the disk.
type notes struct {
	lines   chan string
	written chan struct{}
}

// mostNotes is more than a stop says.
const mostNotes = 16

func newNotes(log *logs.Writer) *notes {
	n := &notes{lines: make(chan string, mostNotes), written: make(chan struct{})}
	go func() {
		defer close(n.written)
		for line := range n.lines {
			log.Mark(line)
		}
	}()
	return n
}

func (n *notes) add(line string) {
	select {
	case n.lines <- line:
	default: // better unsaid than waited for
	}
}

// close returns once all of them are in the log.
func (n *notes) close() {
	close(n.lines)
	<-n.written
}
