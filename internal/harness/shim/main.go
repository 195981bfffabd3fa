package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/harness/channel"
	"assay/internal/harness/report"
	"assay/internal/logs"
	"assay/internal/process"
)

// shim is the process. What is not guarded is set before the first goroutine that reads it starts.
type shim struct {
	dir        string
	disk       durable.Disk
	order      Order
	self       process.Identity
	log        *logs.Writer
	notes      *notes
	watcher    *report.Watcher
	masker     *logs.Masker
	events     *events
	listener   *listener
	report     *channel.Channel
	tree       *process.Tree
	started    started
	terminated bool // it was this process that was told to end; supervise's

	active atomic.Int64 // nanoseconds since 1970
	stops  chan assay.ExitCause
	hurry  chan struct{} // the stop is to wait for nothing

	stopping atomic.Value // assay.ExitCause
}

// Main is the shim's process: it reads its order from standard input and runs it. The result is its exit
// status.
func Main(dir string) int { return mainOn(durable.Disk{}, dir) }

func mainOn(disk durable.Disk, dir string) int {
	if err := checkLock(dir); err != nil {
		fmt.Fprintf(os.Stderr, "assay shim is started by assay itself, to stand between it and a harness (%v)\n", err)
		return 2
	}
	// Taken, not ignored: a harness would inherit that they are ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
	s := &shim{dir: dir, disk: disk, stops: make(chan assay.ExitCause, 8), hurry: make(chan struct{}, 1)}
	if err := s.run(); err != nil {
		complain(err)
		return 1
	}
	return 0
}

// complain leaves a line in shim.log.
func complain(err error) {
	fmt.Fprintf(os.Stderr, "%s shim: %v\n", time.Now().UTC().Format(time.RFC3339), err)
}

// checkLock makes sure that this process holds the lock of its folder and that no child will. The
// descriptor is left without an os.File, which the garbage collector would close one day.
func checkLock(dir string) error {
	var ours, named unix.Stat_t
	if err := unix.Fstat(lockDescriptor, &ours); err != nil {
		return errors.New("it was given no lock")
	}
	if err := unix.Stat(filepath.Join(dir, lockFile), &named); err != nil {
		return err
	}
	if ours.Dev != named.Dev || ours.Ino != named.Ino {
		return errors.New("it was given another lock than that of its folder")
	}
	unix.CloseOnExec(lockDescriptor)
	return unix.Flock(lockDescriptor, unix.LOCK_EX|unix.LOCK_NB)
}

func (s *shim) run() (err error) {
	if s.self, err = process.Identify(os.Getpid()); err != nil {
		return err
	}
	who, err := json.Marshal(s.self)
	if err != nil {
		return err
	}
	if _, err := unix.Pwrite(lockDescriptor, who, 0); err != nil {
		return fmt.Errorf("say who holds the lock: %w", err)
	}
	raw, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = json.Unmarshal(raw, &s.order)
	}
	if err != nil {
		return fmt.Errorf("read the order: %w", err) // the server died while it wrote: nothing was started
	}
	if s.order.Protocol != Protocol {
		return s.fail(fmt.Errorf("the program was exchanged while the server ran: the server speaks protocol %d with its shims, this program %d; start the server again", s.order.Protocol, Protocol))
	}
	// Where there are no subreapers only the group is ended (docs/SUITES.md).
	if err := process.BecomeSubreaper(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return s.fail(fmt.Errorf("become the parent of orphans: %w", err))
	}
	output, err := s.launch()
	if err != nil {
		return s.fail(err)
	}
	return s.supervise(output)
}

// fail writes that the harness could not be launched.
func (s *shim) fail(cause error) error {
	why := cause.Error()
	if m, err := logs.NewMasker(s.order.Secrets); err == nil {
		why = m.Text(why)
	}
	e := Ended{Exit: assay.Exit{Cause: assay.ExitLaunchFailed, Code: -1, Error: why, At: time.Now().UTC()}}
	if s.log != nil {
		s.log.Mark("could not be started: " + why)
		s.log.Close()
		e.Log = s.log.Stat()
	}
	return s.leave(e)
}

// exitTries is how often exit.json is tried, once a second: a full disk may get room again, and without
// the file the run is lost.
const exitTries = 60

// leave writes exit.json, the last that a shim does.
func (s *shim) leave(e Ended) (err error) {
	for range exitTries {
		if err = s.disk.WriteJSON(s.dir, exitFile, e); err == nil {
			os.Remove(filepath.Join(s.dir, socketFile)) // whoever comes now reads the file
			return nil
		}
		complain(err)
		time.Sleep(time.Second)
	}
	return err
}

func (s *shim) status() Status {
	stopping, _ := s.stopping.Load().(assay.ExitCause)
	return Status{Protocol: Protocol, Stopping: stopping, Shim: s.started.Shim, Harness: s.started.Tree.Leader, Began: s.started.At, ActiveAt: time.Unix(0, s.active.Load()).UTC(),
		Log: s.log.Stat(), Events: s.events.count(), At: time.Now().UTC()}
}
