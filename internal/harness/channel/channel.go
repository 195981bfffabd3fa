// Package channel is the report channel between a harness and who watches it: a FIFO with a name, so that a
// program which closes the descriptors that it does not know can open it again.
//
// It owns the FIFO and the reading of its lines. Its invariant: nothing that a harness does there ends the
// channel, holds the reader up or reaches anybody unmasked.
package channel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/harness/pipe"
	"assay/internal/harness/report"
	"assay/internal/logs"
)

// Channel is the reader's side.
type Channel struct {
	path    string
	ours    *os.File
	keeper  *os.File // an end like the harness's: without it the channel would end with every program that closes its own
	reading sync.WaitGroup
}

// Open makes the FIFO, and returns the end that the harness inherits too.
func Open(path string) (c *Channel, theirs *os.File, err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("make the report channel: %w", err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, nil, fmt.Errorf("make the report channel: %w", err)
	}
	c = &Channel{path: path}
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
			c.Close()
			return nil, nil, fmt.Errorf("open the report channel: %w", err)
		}
		*end.file = os.NewFile(uintptr(fd), path)
	}
	return c, theirs, nil
}

// Env are the variables by which a harness finds the channel, whose end it has at descriptor 3.
func (c *Channel) Env() []string { return []string{"ASSAY_REPORT=" + c.path, "ASSAY_REPORT_FD=3"} }

// maxComplaints bounds how many lines are complained about.
const maxComplaints = 10

// Listen gives to take what is reported, and to complain what is wrong with a line that is no report, until
// Close. Both are called by one goroutine.
func (c *Channel) Listen(secrets *logs.Masker, take func(report.Event), complain func(string)) {
	complaints := 0
	c.reading.Go(func() {
		c.read(func(line string, err error) {
			var e report.Event
			if err == nil {
				e, err = report.Parse(secrets.Text(line), time.Now().UTC())
			}
			if err == nil {
				take(e)
			} else if complaints++; complaints <= maxComplaints {
				complain("report channel: " + err.Error())
			}
		})
	})
}

// read gives every line that is not empty, or what is wrong with it.
func (c *Channel) read(f func(line string, err error)) {
	lines := bufio.NewReaderSize(pipe.NewReader(c.ours), report.MaxLine)
	long := false
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = true
			continue
		}
		if long {
			f("", fmt.Errorf("a line is longer than %d bytes", report.MaxLine))
		} else if len(bytes.TrimSpace(line)) > 0 {
			f(string(line), nil)
		}
		if err != nil {
			return
		}
		long = false
	}
}

// Close ends the channel once what is in it was taken. Who holds it open still is not waited for.
func (c *Channel) Close() {
	c.keeper.Close()
	_ = c.ours.SetReadDeadline(time.Now())
	c.reading.Wait()
	c.ours.Close()
	os.Remove(c.path) // or who opens it would wait for ever
}
