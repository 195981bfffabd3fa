package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/harness/report"
)

// maxComplaints bounds how many lines of the report channel are complained about in the log.
const maxComplaints = 10

// channel makes the report channel, reads it, and returns the end that the harness inherits. It is a FIFO
// with a name: a program that closes the descriptors it does not know can open it again.
func (s *shim) channel() (theirs *os.File, err error) {
	path := filepath.Join(s.dir, reportFile)
	if err := unix.Mkfifo(path, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the report channel: %w", err)
	}
	// Opened for both it never ends by itself, and opening does not wait for a writer.
	ours, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the report channel: %w", err)
	}
	if theirs, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		ours.Close()
		return nil, fmt.Errorf("open the report channel: %w", err)
	}
	s.events.source = ours
	s.events.reading.Go(func() { s.hear(ours) })
	return theirs, nil
}

// hear reads reports until the channel is closed.
func (s *shim) hear(ours *os.File) {
	lines := bufio.NewReaderSize(ours, report.MaxLine)
	complaints := 0
	for {
		line, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // too long: the rest of it goes too
			line, err = nil, nil
			if _, err = lines.ReadSlice('\n'); err == nil {
				line = []byte("a line that is too long\n")
			}
		}
		if err != nil {
			return
		}
		now := time.Now()
		s.active.Store(now.UnixNano())
		e, err := report.Parse(string(line), now.UTC())
		if err == nil {
			s.events.add([]report.Event{e})
		} else if complaints++; complaints <= maxComplaints {
			s.log.Mark("the report channel: " + err.Error())
		}
		if s.office != nil {
			s.office.changed()
		}
	}
}

// events is the file of what was reported.
type events struct {
	mu      sync.Mutex
	file    *os.File
	n       atomic.Int64
	source  *os.File
	reading sync.WaitGroup
}

func openEvents(dir string) (*events, error) {
	f, err := os.OpenFile(filepath.Join(dir, eventsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open events: %w", err)
	}
	return &events{file: f}, nil
}

// add appends events, each whole or not at all.
func (e *events) add(list []report.Event) {
	if len(list) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range list {
		event.N = e.n.Load() + 1
		raw, err := json.Marshal(event)
		if err != nil {
			continue
		}
		if _, err := e.file.Write(append(raw, '\n')); err == nil {
			e.n.Store(event.N)
		}
	}
}

// close takes what is still in the channel and makes all of it durable.
func (e *events) close() {
	if e.source != nil {
		e.source.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		e.reading.Wait()
		e.source.Close()
	}
	e.file.Sync()
	e.file.Close()
}
