package otlp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// Bounds of what waits in memory: up to maxWaiting bytes in all; beyond that, in files, of which
// one at a time is read, so that memory holds about the larger of maxWaiting and a 64th of the input.
const (
	buckets    = 64
	maxWaiting = 32 << 20
)

// spill keeps records by the hash of their key until all have come. Records with one key come back
// together, in the order in which they came.
type spill struct {
	dir   string
	max   int
	size  int
	held  [buckets][][]byte
	files [buckets]*os.File
}

func newSpill(dir string, max int) *spill { return &spill{dir: dir, max: max} }

func (s *spill) add(key string, record []byte) error {
	h := fnv.New32a()
	h.Write([]byte(key))
	n := h.Sum32() % buckets
	s.held[n] = append(s.held[n], record)
	if s.size += len(record); s.size <= s.max {
		return nil
	}
	for n := range s.held {
		if err := s.flush(n); err != nil {
			return fmt.Errorf("keep spans in a temporary file: %w", err)
		}
	}
	s.size = 0
	return nil
}

func (s *spill) flush(n int) (err error) {
	if len(s.held[n]) == 0 {
		return nil
	}
	if s.files[n] == nil {
		if s.files[n], err = os.CreateTemp(s.dir, "assay-spans-*"); err != nil {
			return err
		}
		_ = os.Remove(s.files[n].Name()) // it goes with the process
	}
	w := bufio.NewWriterSize(s.files[n], 64<<10)
	for _, r := range s.held[n] {
		_, _ = w.Write(binary.AppendUvarint(nil, uint64(len(r))))
		_, _ = w.Write(r)
	}
	s.held[n] = nil
	return w.Flush()
}

// take returns the records of bucket n and forgets them.
func (s *spill) take(n int) (records [][]byte, err error) {
	defer func() { s.held[n] = nil }()
	f := s.files[n]
	if f == nil {
		return s.held[n], nil
	}
	s.files[n] = nil
	defer f.Close()
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		size, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return append(records, s.held[n]...), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read spans back: %w", err)
		}
		record := make([]byte, size)
		if _, err := io.ReadFull(r, record); err != nil {
			return nil, fmt.Errorf("read spans back: %w", err)
		}
		records = append(records, record)
	}
}

func (s *spill) close() {
	for n, f := range s.files {
		if f != nil {
			_ = f.Close()
			s.files[n] = nil
		}
	}
}
