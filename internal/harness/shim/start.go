package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/harness/channel"
	"assay/internal/harness/report"
	"assay/internal/logs"
	"assay/internal/process"
)

// launch opens everything that the harness and its clients need, and starts the harness. On an error no
// process of it is left.
func (s *shim) launch() (output *os.File, err error) {
	if s.watcher, err = report.NewWatcher(s.order.Experiment); err != nil {
		return nil, err
	}
	if s.masker, err = logs.NewMasker(s.order.Secrets); err != nil {
		return nil, err
	}
	if s.log, err = logs.OpenWriter(s.order.LogDir, logs.Options{Bound: s.order.LogBytes, Secrets: s.order.Secrets, See: s.see, Room: true, Disk: s.disk}); err != nil {
		return nil, err
	}
	if s.order.Launch > 1 {
		s.log.Mark(fmt.Sprintf("launch %d", s.order.Launch))
	}
	if s.listener, err = listen(s); err != nil {
		return nil, err
	}
	if s.events, err = openEvents(s.dir, s.disk, s.listener.changed); err != nil {
		return nil, err
	}
	s.active.Store(time.Now().UnixNano())
	keepRoom(s.dir)
	if output, err = s.startHarness(); err != nil {
		return nil, err
	}
	s.started = started{Shim: s.self, Tree: s.tree.Remains(), At: time.Now().UTC()}
	return output, nil
}

// startHarness starts it with one pipe for both outputs, so that their order is kept, and with the report
// channel on descriptor 3.
func (s *shim) startHarness() (output *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	widen(r)
	stderr, err := twin(w)
	if err != nil {
		closeAll(r, w)
		return nil, err
	}
	reports, theirs, err := channel.Open(filepath.Join(s.dir, reportFile))
	if err != nil {
		closeAll(r, w, stderr)
		return nil, err
	}
	env := append(append([]string{}, s.order.Env...), s.order.Mark, "ASSAY_RUN="+s.order.Run)
	env = append(env, reports.Env()...)
	s.tree, err = process.StartTree(process.TreeSpec{Argv: s.order.Argv, Dir: s.order.Cwd, Env: env, Stdout: w, Stderr: stderr,
		Extra: []*os.File{theirs}, Mark: s.order.Mark, Cgroup: true})
	if err != nil {
		reports.Close()
		closeAll(r)
		return nil, err
	}
	s.report = reports
	return r, nil
}

// twin is another descriptor of the same open file.
func twin(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}
