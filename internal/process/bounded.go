package process

import (
	"io"
	"sync"
)

// bounded keeps the first bytes of a stream, or the last ones, and reads the rest away so that the
// writer never blocks.
type bounded struct {
	most    int
	tail    bool
	mu      sync.Mutex
	kept    []byte
	dropped int64
}

func (b *bounded) readFrom(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		b.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (b *bounded) add(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.tail {
		take := min(len(p), b.most-len(b.kept))
		b.kept = append(b.kept, p[:take]...)
		b.dropped += int64(len(p) - take)
		return
	}
	b.kept = append(b.kept, p...)
	if over := len(b.kept) - b.most; over > 0 {
		b.dropped += int64(over)
		b.kept = append(b.kept[:0], b.kept[over:]...)
	}
}

func (b *bounded) bytes() (kept []byte, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept, b.dropped
}
