package wrap

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/harness/report"
)

// maxComplaints bounds how many lines of the report channel are complained about.
const maxComplaints = 10

// channel makes the report channel, the same as a suite's, and returns the command's end of it. done ends
// it once what is in it was heard.
func (r *running) channel() (theirs *os.File, done func(), err error) {
	path := r.spool.path(fifoFile)
	nothing := func() {}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, nothing, fmt.Errorf("make the report channel: %w", err)
	}
	ends := make([]*os.File, 3)
	// Ours first: opening to write waits for a reader. The second keeps the channel open when the command
	// closes its own, which is the third and must block.
	for i, how := range []int{unix.O_RDONLY | unix.O_NONBLOCK, unix.O_WRONLY | unix.O_NONBLOCK, unix.O_WRONLY} {
		fd, err := unix.Open(path, how|unix.O_CLOEXEC, 0)
		if err != nil {
			for _, f := range ends[:i] {
				f.Close()
			}
			return nil, nothing, fmt.Errorf("open the report channel: %w", err)
		}
		ends[i] = os.NewFile(uintptr(fd), path)
	}
	ours, keeper := ends[0], ends[1]
	var hearing sync.WaitGroup
	hearing.Go(func() { r.hear(ours) })
	return ends[2], func() {
		_ = ours.SetReadDeadline(time.Now()) // what is in the pipe is read still
		hearing.Wait()
		keeper.Close()
		ours.Close()
	}, nil
}

// hear reads reports until the channel is closed.
func (r *running) hear(ours *os.File) {
	lines := bufio.NewReaderSize(&pipeEnd{f: ours}, report.MaxLine)
	complaints := 0
	for {
		line, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // too long: the rest of it goes too
			if _, err = lines.ReadSlice('\n'); err == nil {
				line = []byte("a line that is too long\n")
			}
		}
		if err != nil {
			return
		}
		e, err := report.Parse(mask(string(line), r.secrets), time.Now().UTC())
		if err == nil {
			r.spool.add(e)
			continue
		}
		if complaints++; complaints <= maxComplaints {
			r.log.Mark("the report channel: " + err.Error())
		}
	}
}
