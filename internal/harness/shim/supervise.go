package shim

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
	"assay/internal/harness/report"
)

const (
	endLimit  = 5 * time.Second       // for KILL to work
	lookEvery = 20 * time.Millisecond // for what is left of a tree that was told to end
)

// supervise carries the harness to its end and writes it down.
func (s *shim) supervise(output *os.File) error {
	read := make(chan struct{})
	go func() { defer close(read); s.read(output) }()
	s.report.Listen(s.masker, s.take, s.log.Mark)
	s.notes = newNotes(s.log)

	e := Ended{Harness: s.started.Tree.Leader, Began: s.started.At}
	if err := s.disk.WriteJSON(s.dir, shimFile, s.started); err != nil {
		e.Exit.Cause, e.Exit.Error = assay.ExitLaunchFailed, err.Error() // nobody could find it again
	} else {
		go s.listener.serve()
		e.Exit.Cause, e.Exit.Killed = s.wait()
		e.Terminated = s.terminated
	}
	s.end(&e)
	s.notes.close()
	if !drain(output, read) {
		s.log.Mark("somebody who is no process of this run holds the output open: what comes from it is not kept")
	}
	s.report.Close()
	s.events.close()
	if err := s.log.Close(); err != nil && e.Exit.Error == "" {
		e.Exit.Error = err.Error()
	}
	e.Log, e.Events = s.log.Stat(), s.events.count()
	err := s.leave(e)
	s.listener.close()
	return err
}

// end kills what is left of the tree and notes how its leader ended.
func (s *shim) end(e *Ended) {
	facts, left := s.tree.End(endLimit)
	e.Exit.Code, e.Exit.At, e.Left = facts.Code, time.Now().UTC(), left
	if facts.Signal != 0 {
		e.Exit.Signal = signalName(facts.Signal)
	}
	if len(left) > 0 {
		s.notes.add(fmt.Sprintf("processes %v cannot be ended: the kernel holds them", left))
	}
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(sig))
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
			return s.stop(assay.ExitTimeLimit, "the time limit is reached")
		case <-s.listener.orphaned:
			return s.stop(assay.ExitOrphaned, "no server came back in time")
		case <-terms: // the machine goes down, or somebody means it
			s.terminated = true
			return s.stop(assay.ExitOrphaned, "the process that watches the run was told to end")
		case cause := <-s.stops:
			return s.stop(cause, map[assay.ExitCause]string{assay.ExitCancel: "cancelled"}[cause])
		}
	}
}

// stop tells the group to end and gives it its grace. Who left the group is told once its parent is gone.
// Nothing here waits for a disk: one that hangs must keep nobody alive.
func (s *shim) stop(cause assay.ExitCause, why string) (_ assay.ExitCause, killed bool) {
	if why == "" {
		why = string(cause)
	}
	s.tree.Signal(syscall.SIGTERM)
	s.tree.Signal(syscall.SIGCONT) // one that is stopped could not take it
	s.stopping.Store(cause)
	s.notes.add(why + ": told to end")
	s.listener.changed()
	grace := time.NewTimer(s.order.Grace)
	defer grace.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-grace.C:
			s.notes.add(fmt.Sprintf("not ended after %s: killed", s.order.Grace))
			return cause, true
		case <-s.hurry:
			s.notes.add("killed without waiting")
			return cause, true
		case <-look.C:
			if s.tree.Alone() {
				return cause, false
			}
			s.tree.SignalLeavers(syscall.SIGTERM)
		}
	}
}

// After a small piece of output the next one is left to gather for a moment: a hundred thousand lines a
// second are then hundreds of pieces, not a hundred thousand.
const (
	gather  = 5 * time.Millisecond
	small   = 16 << 10
	readMax = 128 << 10
)

// read stores output until its end.
func (s *shim) read(output *os.File) {
	defer output.Close()
	buf := make([]byte, readMax)
	for {
		n, err := output.Read(buf)
		if n > 0 {
			s.active.Store(time.Now().UnixNano())
			s.log.Write(buf[:n])
			s.listener.changed()
		}
		if err != nil {
			s.log.Flush()
			s.events.add(s.watcher.Rest(time.Now()))
			return
		}
		if n < small {
			time.Sleep(gather)
		}
	}
}

// see looks at masked output as it is stored.
func (s *shim) see(masked []byte) { s.events.add(s.watcher.See(masked, time.Now())) }

// take takes what the harness reported.
func (s *shim) take(e report.Event) {
	s.active.Store(time.Now().UnixNano())
	s.events.add([]report.Event{e})
	s.listener.changed()
}
