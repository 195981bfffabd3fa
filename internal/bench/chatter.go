package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// chatLine is the length of a line of a chatty harness, its number and its end included.
const chatLine = 100

// chatted is what a chatty harness leaves in its folder.
type chatted struct {
	Rate      float64       `json:"rate"`      // lines a second
	Processor time.Duration `json:"processor"` // its own
	Longest   time.Duration `json:"longest"`   // write
	Ended     time.Time     `json:"ended"`
}

// chatter is the hidden role of a harness that prints so many lines at a pace. It says what that took, and
// stays until somebody opens the FIFO of its folder, where there is one.
func chatter(_ context.Context, o options) ([]figure, error) {
	block := make([]byte, 0, o.Batch*chatLine)
	var c chatted
	began := time.Now()
	for n := 0; n < o.Items; {
		for due := min(int(time.Since(began).Seconds()*float64(o.Rate)), o.Items); n < due; {
			block = block[:0]
			for range min(o.Batch, due-n) {
				block = appendLine(block, n)
				n++
			}
			at := time.Now()
			if _, err := os.Stdout.Write(block); err != nil {
				return nil, err
			}
			c.Longest = max(c.Longest, time.Since(at))
		}
		time.Sleep(500 * time.Microsecond)
	}
	c.Ended = time.Now()
	c.Rate = float64(o.Items) / c.Ended.Sub(began).Seconds()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return nil, err
	}
	c.Processor = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	raw, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(filepath.Join(o.Dir, "new"), raw, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(o.Dir, "new"), filepath.Join(o.Dir, "chatted"))
	}
	if err != nil {
		return nil, err
	}
	if _, err = os.ReadFile(filepath.Join(o.Dir, "go")); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return nil, err
}

var filler = strings.Repeat("x", chatLine-12) + "\n"

func appendLine(b []byte, n int) []byte {
	at := len(b)
	b = append(b, "0000000000 "...)
	for i := at + 9; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return append(b, filler...)
}

// chat is one chatty harness of a measurement.
type chat struct {
	dir                string
	lines, rate, batch int
}

func (c chat) argv() ([]string, error) {
	self, err := os.Executable()
	return []string{self, "-role", "chatter", "-dir", c.dir, "-items", fmt.Sprint(c.lines), "-rate", fmt.Sprint(c.rate), "-batch", fmt.Sprint(c.batch)}, err
}

// again makes its folder ready; with stay it waits for release.
func (c chat) again(stay bool) error {
	err := os.RemoveAll(c.dir)
	if err == nil {
		err = os.MkdirAll(c.dir, 0o700)
	}
	if err == nil && stay {
		err = syscall.Mkfifo(filepath.Join(c.dir, "go"), 0o600)
	}
	return err
}

// said waits for what it took.
func (c chat) said() (said chatted, err error) {
	file := filepath.Join(c.dir, "chatted")
	err = until(5*time.Duration(c.lines/c.rate+10)*time.Second, "the chatty harness has printed all", func() (bool, error) {
		_, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return said, err
	}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &said)
	}
	return said, err
}

// release lets it end.
func (c chat) release() error {
	return until(10*time.Second, "the chatty harness waits", func() (bool, error) {
		f, err := os.OpenFile(filepath.Join(c.dir, "go"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, syscall.ENXIO) { // nobody reads it yet
			return false, nil
		}
		if err == nil {
			err = f.Close()
		}
		return err == nil, err
	})
}
