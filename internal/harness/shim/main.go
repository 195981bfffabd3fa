package shim

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
	"assay/internal/harness/report"
	"assay/internal/logs"
	"assay/internal/process"
)

const (
	endLimit   = 5 * time.Second        // for KILL to work
	drainLimit = 500 * time.Millisecond // for output when nobody of ours is left to write it
	lookEvery  = 20 * time.Millisecond  // for what is left of a tree that was told to end
)

// shim is the process.
type shim struct {
	dir    string
	order  Order
	log    *logs.Writer
	tree   *process.Tree
	born   born
	events *events

	active atomic.Int64 // nanoseconds since 1970
	stops  chan assay.ExitCause
	office *office

	mu       sync.Mutex
	stopping assay.ExitCause
}

// Main is the shim's process: it reads its order from standard input and runs it. The result is its exit
// status.
func Main(dir string) int {
	unix.CloseOnExec(lockDescriptor) // the harness must not hold it
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	s := &shim{dir: dir, stops: make(chan assay.ExitCause, 8)}
	if err := s.run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s shim: %v\n", time.Now().UTC().Format(time.RFC3339), err)
		return 1
	}
	return 0
}

func (s *shim) run() error {
	raw, err := io.ReadAll(os.Stdin)
	os.Stdin.Close()
	if err == nil {
		err = json.Unmarshal(raw, &s.order)
	}
	if err != nil {
		return fmt.Errorf("read the order: %w", err) // the server died while it wrote: nothing was started
	}
	if err := process.BecomeSubreaper(); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	s.log, err = logs.OpenWriter(s.order.LogDir, logs.Options{Bound: s.order.LogBytes, Secrets: s.order.Secrets})
	if err != nil {
		return s.unborn(err)
	}
	if s.order.Attempt > 1 {
		s.log.Mark(fmt.Sprintf("attempt %d", s.order.Attempt))
	}
	if s.events, err = openEvents(s.dir); err != nil {
		return s.unborn(err)
	}
	output, err := s.launch()
	if err != nil {
		return s.unborn(err)
	}
	if s.office, err = s.open(); err != nil {
		s.tree.End(endLimit)
		return s.unborn(err)
	}
	if err := writeJSON(s.dir, shimFile, s.born); err != nil {
		s.tree.End(endLimit)
		return s.unborn(err)
	}
	return s.supervise(output)
}

// unborn writes that the harness could not be launched.
func (s *shim) unborn(cause error) error {
	e := Ended{Exit: assay.Exit{Cause: assay.ExitUnborn, Code: -1, Error: cause.Error(), At: time.Now().UTC()}}
	if s.log != nil {
		s.log.Mark("could not be started: " + cause.Error())
		s.log.Close()
		e.Log = s.log.Stat()
	}
	return writeJSON(s.dir, exitFile, e)
}

// pipeSize lets a harness write on while the shim is not scheduled.
const pipeSize = 1 << 20

// launch starts the harness with one pipe for both outputs, so that their order is kept, and with the
// report channel on descriptor 3.
func (s *shim) launch() (output *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	unix.FcntlInt(r.Fd(), unix.F_SETPIPE_SZ, pipeSize) // as large as is allowed
	channel, err := s.channel()
	if err != nil {
		r.Close()
		w.Close()
		return nil, err
	}
	path := filepath.Join(s.dir, reportFile)
	env := append(append([]string{}, s.order.Env...), s.order.Mark, "ASSAY_RUN="+s.order.Run, "ASSAY_REPORT="+path, "ASSAY_REPORT_FD=3")
	twin, err := unix.Dup(int(w.Fd()))
	if err != nil {
		r.Close()
		w.Close()
		return nil, err
	}
	unix.CloseOnExec(twin)
	s.active.Store(time.Now().UnixNano())
	s.tree, err = process.StartTree(process.TreeSpec{Argv: s.order.Argv, Dir: s.order.Cwd, Env: env, Stdout: w, Stderr: os.NewFile(uintptr(twin), "stderr"),
		Extra: []*os.File{channel}, Mark: s.order.Mark, Cgroup: true})
	if err != nil {
		r.Close()
		return nil, err
	}
	self, err := process.Identify(os.Getpid())
	s.born = born{Shim: self, Tree: s.tree.Remains(), At: time.Now().UTC()}
	return r, err
}

// supervise carries the harness to its end and writes it down.
func (s *shim) supervise(output *os.File) error {
	watcher, err := report.NewWatcher(s.order.Experiment)
	if err != nil {
		s.log.Mark(err.Error())
		watcher, _ = report.NewWatcher(nil)
	}
	drained := make(chan struct{})
	go func() { defer close(drained); s.read(output, watcher) }()

	cause, killed := s.wait()
	facts, left := s.tree.End(endLimit)
	select {
	case <-drained:
	case <-time.After(drainLimit):
		output.SetReadDeadline(time.Now()) // somebody who got away holds it open
		<-drained
	}
	s.events.close()
	e := Ended{Exit: assay.Exit{Cause: cause, Code: facts.Code, Killed: killed, At: time.Now().UTC()}, Left: left}
	if facts.Signal != 0 {
		e.Exit.Signal = unix.SignalName(facts.Signal)
	}
	if err := s.log.Close(); err != nil {
		e.Exit.Error = err.Error()
	}
	e.Log, e.Events = s.log.Stat(), s.events.n.Load()
	err = writeJSON(s.dir, exitFile, e)
	s.office.close()
	return err
}

// wait returns when the leader has exited and, where it was told to end, its tree is gone or its grace
// over.
func (s *shim) wait() (cause assay.ExitCause, killed bool) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	var limit <-chan time.Time
	if s.order.TimeLimit > 0 {
		t := time.NewTimer(s.order.TimeLimit)
		defer t.Stop()
		limit = t.C
	}
	for {
		select {
		case <-s.tree.Exited():
			return assay.ExitItself, false
		case <-children:
			s.tree.ReapAdopted()
		case <-limit:
			return s.stop(assay.ExitLimit)
		case <-s.office.orphaned:
			return s.stop(assay.ExitOrphaned)
		case <-terms: // the machine goes down, or somebody means it
			return s.stop(assay.ExitOrphaned)
		case cause := <-s.stops:
			return s.stop(cause)
		}
	}
}

// stop tells the group to end and gives it its grace.
func (s *shim) stop(cause assay.ExitCause) (assay.ExitCause, bool) {
	s.mu.Lock()
	s.stopping = cause
	s.mu.Unlock()
	s.log.Mark(map[assay.ExitCause]string{
		assay.ExitLimit:    "the time limit is reached: told to end",
		assay.ExitCancel:   "cancelled: told to end",
		assay.ExitOrphaned: "no server came back in time: told to end",
	}[cause])
	s.office.changed()
	s.tree.Signal(syscall.SIGTERM)
	grace := time.NewTimer(s.order.Grace)
	defer grace.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-grace.C:
			return cause, true
		case <-look.C:
			s.tree.ReapAdopted()
			select {
			case <-s.tree.Exited():
				if len(s.tree.Remains().Alive()) == 0 {
					return cause, false
				}
			default:
			}
		}
	}
}

// read stores output until its end.
func (s *shim) read(output *os.File, watcher *report.Watcher) {
	defer output.Close()
	buf := make([]byte, 256<<10)
	var masked []byte
	mask, _ := logs.NewMasker(s.order.Secrets) // the log's own cannot be asked what it made of a piece
	for {
		n, err := output.Read(buf)
		if n > 0 {
			now := time.Now()
			s.active.Store(now.UnixNano())
			s.log.Write(buf[:n])
			masked = mask.Append(masked[:0], buf[:n])
			s.events.add(watcher.See(masked, now))
			s.office.changed()
		}
		if err != nil {
			s.events.add(watcher.See(mask.Rest(nil), time.Now()))
			s.events.add(watcher.Rest(time.Now()))
			return
		}
	}
}

func (s *shim) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{Stopping: s.stopping, Shim: s.born.Shim, Harness: s.born.Tree.Leader, ActiveAt: time.Unix(0, s.active.Load()).UTC(),
		Log: s.log.Stat(), Events: s.events.n.Load(), At: time.Now().UTC()}
}
