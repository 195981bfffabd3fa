package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

// tryEvery is how often a process that stands by tries to own.
const tryEvery = 500 * time.Millisecond

// takeOver does what a new owner does before it drives: it tidies what the last one left and
// listens on the socket.
func (n *Node) takeOver(ctx context.Context) (*socket, error) {
	now := now()
	if _, err := n.store.Imports().Interrupt(ctx, now); err != nil {
		return nil, assay.Errorf(assay.CodeOf(err), "close imports of the last owner: %w", err)
	}
	if err := n.ensureDefaultProject(ctx, now); err != nil {
		return nil, err
	}
	s, err := listenSocket(n.socket)
	if err != nil {
		return nil, err
	}
	n.owning.Store(true)
	go n.serve(n.local, s)
	n.rekeying.Add(1)
	go n.finishRekeying(context.WithoutCancel(ctx))
	return s, nil
}

// finishRekeying goes on with what the last owner left half done. Planning waits for it, the start of
// the server does not, and the end of a short command does: else only a server would ever finish it.
func (n *Node) finishRekeying(ctx context.Context) {
	defer n.rekeying.Add(-1)
	if err := api.FinishRekeying(ctx, n.store); err != nil && !n.stopping.Load() {
		n.cfg.Log.Error("recompute arms and days after a change of settings", "error", err)
	}
}

// DefaultProject is made at first use, so that a first import needs no other command before it.
const DefaultProject = "default"

func (n *Node) ensureDefaultProject(ctx context.Context, now time.Time) error {
	_, err := n.store.Projects().Get(ctx, DefaultProject)
	if assay.CodeOf(err) != assay.CodeNotFound || err == nil {
		return err
	}
	_, err = n.store.Projects().Create(ctx, DefaultProject, assay.DefaultSettings(), now)
	if assay.CodeOf(err) == assay.CodeConflict {
		return nil // another process was first
	}
	return err
}

// carry goes from lock to lock until ctx ends:
//
//	standing by --TryOwn--> owning (socket, dispatcher) --Lost--> standing by
//
// A node that may not drive owns at most once, because it does not live long.
func (n *Node) carry(ctx context.Context, own store.Ownership, s *socket) {
	defer close(n.carried)
	for {
		if own != nil {
			n.hold(ctx, own, s)
			if err := own.Release(); err != nil {
				n.cfg.Log.Warn("give the lock back", "error", err)
			}
		}
		if !n.cfg.Drive {
			return
		}
		if own, s = n.standBy(ctx); own == nil {
			return
		}
	}
}

// hold drives until ctx ends or the lock is lost. A command that only looks runs a dispatcher that
// takes nothing up: it finishes the cancels of runs that nobody drives.
func (n *Node) hold(ctx context.Context, own store.Ownership, s *socket) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	driven := make(chan struct{})
	go func() { defer close(driven); n.drive(ctx, own) }()
	removed := make(chan struct{})
	go func() { defer close(removed); n.harness.RemoveLeft(ctx) }()
	defer func() { cancel(); <-removed }()
	select {
	case <-own.Lost():
		n.owning.Store(false)
		s.Close() // its file is left: it may be the next owner's already
		n.cfg.Say(n.lostSentence())
		cancel()
		<-driven
	case <-ctx.Done():
		<-driven
		n.drain()
		s.unlink()
		// Who connected before that is served still: it may not have sent a byte yet.
		pause(context.Background(), lastGuest)
		n.drain()
		n.owning.Store(false)
		s.Close()
	}
}

func (n *Node) lostSentence() string {
	if n.cfg.Database == "" {
		return "the data folder " + n.cfg.Dir + " was removed or replaced: no new call starts here; Ctrl-C, and start again where the data is"
	}
	return "lost the lock on the database: no new call starts here; stands by until it can be had again"
}

// lastGuest is how long a connection that was made just before the socket's file went away may need
// to be noticed.
const lastGuest = 2 * time.Millisecond

// drain waits for requests of other processes and for a recomputing, as long as Close is patient.
func (n *Node) drain() {
	begun, said := time.Now(), false
	for time.Since(begun) < time.Duration(n.patience.Load()) {
		what := ""
		switch {
		case n.guests.busy(time.Since(begun)):
			what = "another command's request is still served"
		case n.rekeying.Load() > 0:
			what = "arms, days and cases are still being recomputed"
		default:
			return
		}
		if !said && time.Since(begun) > sayAfter {
			said = true
			n.cfg.Say("done, but " + what + "; waits for it (Ctrl-C cuts it off)")
		}
		pause(context.Background(), time.Millisecond)
	}
}

// drive runs the dispatcher until ctx ends. A dispatcher that ends by itself is started again as
// long as the lock is ours.
func (n *Node) drive(ctx context.Context, own store.Ownership) {
	var ticking sync.WaitGroup
	defer ticking.Wait()
	ticking.Go(func() { n.tick(ctx) })
	for {
		d := n.newDispatcher(own)
		n.dispatcher.Store(d)
		err := d.Run(ctx)
		n.dispatcher.Store(nil)
		if ctx.Err() != nil {
			return
		}
		n.cfg.Log.Error("driving stopped; starts again", "error", err)
		if !pause(ctx, time.Second) {
			return
		}
	}
}

// standBy tries to own until it does; nil means that ctx ended.
func (n *Node) standBy(ctx context.Context) (store.Ownership, *socket) {
	failing := false // said once per outage
	for pause(ctx, tryEvery) {
		own, err := n.store.Owner().TryOwn(ctx)
		if err != nil {
			if !failing && !errors.Is(err, context.Canceled) {
				n.cfg.Log.Warn("try to own; goes on trying", "error", err)
			}
			failing = true
			continue
		}
		failing = false
		if own == nil {
			if id, err := Ask(ctx, n.socket); err == nil {
				n.cfg.want(ctx, n.socket, id)
			}
			continue
		}
		s, err := n.takeOver(ctx)
		if err != nil {
			n.cfg.Log.Error("take over", "error", err)
			own.Release()
			continue
		}
		n.cfg.Log.Info("took over the database")
		return own, s
	}
	return nil, nil
}

// pause waits for d; false means that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
