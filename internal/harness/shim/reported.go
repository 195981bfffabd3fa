package shim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/harness/report"
)

// Events calls f for what was reported after event n, in order. A line that is not whole yet is left for
// the next call; one that never became whole (a full disk) is passed over.
func Events(dir string, n int64, f func(report.Event) error) error {
	file, err := os.Open(filepath.Join(dir, eventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	defer file.Close()
	begin, err := seekEvent(file, n)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	lines := bufio.NewReader(io.NewSectionReader(file, begin, 1<<62))
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		var e report.Event
		if json.Unmarshal(line, &e) != nil || e.N <= n {
			continue
		}
		if err := f(e); err != nil {
			return err
		}
	}
}

// seekEvent finds a line's begin that is not after the first event behind n. Numbers grow, so the place is
// halved: a reader that comes every second reads little of a large file.
func seekEvent(file *os.File, n int64) (int64, error) {
	info, err := file.Stat()
	if err != nil || n == 0 {
		return 0, err
	}
	const near = 16 << 10
	buf := make([]byte, near)
	low, high := int64(0), info.Size()
	for high-low > 2*near {
		mid := low + (high-low)/2
		got, err := file.ReadAt(buf, mid)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		begin, number := firstWhole(buf[:got])
		if number == 0 {
			return low, nil // nothing to go by: read on from what is sure
		}
		if number <= n {
			low = mid + int64(begin)
		} else {
			high = mid
		}
	}
	return low, nil
}

// firstWhole finds the first event in a piece of the file that may begin inside a line.
func firstWhole(piece []byte) (begin int, number int64) {
	for at := bytes.IndexByte(piece, '\n') + 1; at > 0; {
		end := bytes.IndexByte(piece[at:], '\n')
		if end < 0 {
			break
		}
		var e struct {
			N int64 `json:"n"`
		}
		if json.Unmarshal(piece[at:at+end], &e) == nil && e.N > 0 {
			return at, e.N
		}
		at += end + 1
	}
	return 0, 0
}
