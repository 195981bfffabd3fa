package shim

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/harness/report"
	"assay/internal/logs"
)

// maxComplaints bounds how many lines of the report channel are complained about in the log.
const maxComplaints = 10

// channel is the report channel, a FIFO with a name: a program that closes the descriptors which it does
// not know can open it again.
type channel struct {
	path   string
	ours   *os.File
	keeper *os.File // an end like the harness's: without it the channel would end with every program that closes its own
}

// openChannel makes it, and returns the end that the harness inherits too.
func openChannel(path string) (c *channel, theirs *os.File, err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("make the report channel: %w", err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, nil, fmt.Errorf("make the report channel: %w", err)
	}
	c = &channel{path: path}
	for _, end := range []struct {
		file **os.File
		how  int
	}{
		{&c.ours, unix.O_RDONLY | unix.O_NONBLOCK}, // first: opening to write waits for a reader
		{&c.keeper, unix.O_WRONLY | unix.O_NONBLOCK},
		{&theirs, unix.O_WRONLY}, // not by os.OpenFile, which would leave the harness an end that does not block
	} {
		fd, err := unix.Open(path, end.how|unix.O_CLOEXEC, 0)
		if err != nil {
			c.abandon()
			return nil, nil, fmt.Errorf("open the report channel: %w", err)
		}
		*end.file = os.NewFile(uintptr(fd), path)
	}
	return c, theirs, nil
}

// abandon closes a channel that nobody reads.
func (c *channel) abandon() {
	c.ours.Close()
	c.keeper.Close()
	os.Remove(c.path)
}

// close ends the channel once what is in it was heard.
func (c *channel) close(heard <-chan struct{}) {
	c.keeper.Close()
	drain(c.ours, heard)
	c.ours.Close()
}

// hear takes reports until the channel ends. What is no report is complained about and has no effect.
func (s *shim) hear() {
	lines := bufio.NewReaderSize(s.report.ours, report.MaxLine)
	secrets, err := logs.NewMasker(s.order.Secrets) // the log was opened with the same
	if err != nil {
		return
	}
	complaints := 0
	complain := func(why string) {
		if complaints++; complaints <= maxComplaints {
			s.log.Mark("report channel: " + why)
		}
	}
	long := false
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = true
			continue
		}
		if long {
			complain(fmt.Sprintf("a line is longer than %d bytes", report.MaxLine))
		} else if len(bytes.TrimSpace(line)) > 0 {
			if err := s.take(string(line), secrets); err != nil {
				complain(err.Error())
			}
		}
		if err != nil {
			return
		}
		long = false
	}
}

// take takes one line.
func (s *shim) take(line string, secrets *logs.Masker) error {
	now := time.Now()
	s.active.Store(now.UnixNano())
	defer s.office.changed()
	e, err := report.Parse(secrets.Text(line), now.UTC())
	if err != nil {
		return err
	}
	s.events.add([]report.Event{e})
	return nil
}
