package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

const lockName = "owner.lock"

type owner struct{ s *Store }

// TryOwn locks dir/owner.lock. The system frees the lock with the process, however it dies; what
// stands in the file is for people.
func (o owner) TryOwn(context.Context) (store.Ownership, error) {
	if o.s.replaced() {
		return nil, assay.Errorf(assay.CodeUnavailable, "the data folder %s was removed or replaced while it was in use", o.s.dir).
			WithHint("this process still has the old files: end it, and start again where the data is")
	}
	f, err := tryLock(filepath.Join(o.s.dir, lockName))
	if f == nil || err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		_ = f.Close()
		return nil, assay.Errorf(assay.CodeUnavailable, "write the owner lock: %w", err)
	}
	own := &ownership{file: f, lost: make(chan struct{}), released: make(chan struct{}), ended: make(chan struct{})}
	go own.watch(o.s)
	return own, nil
}

type ownership struct {
	file     *os.File
	lost     chan struct{}
	once     sync.Once
	released chan struct{}
	ended    chan struct{} // closed when watch has returned
}

// watchEvery is how often an owner looks whether its files are still those of the data folder.
const watchEvery = 250 * time.Millisecond

// watch ends the ownership of a folder that was removed or replaced: what is written then can be read
// by nobody, and a second owner may work in the new folder.
func (o *ownership) watch(s *Store) {
	defer close(o.ended)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-o.released:
			return
		case <-tick.C:
		}
		if s.replaced() || another(o.file, filepath.Join(s.dir, lockName)) {
			close(o.lost)
			return
		}
	}
}

// another says whether path is surely not f any more.
func another(f *os.File, path string) bool {
	mine, err := f.Stat()
	return err == nil && notAt(mine, path)
}

// notAt says whether path surely names no file or another one; what cannot be looked at may be the same.
func notAt(file os.FileInfo, path string) bool {
	now, err := os.Stat(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	return !os.SameFile(file, now)
}

func (o *ownership) Lost() <-chan struct{} { return o.lost }
func (o *ownership) Grace() time.Duration  { return 0 }

func (o *ownership) Release() error {
	o.once.Do(func() { close(o.released) })
	<-o.ended
	if err := o.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return assay.Errorf(assay.CodeInternal, "release the owner lock: %w", err)
	}
	return nil
}

// tryLock returns nil, nil when another open file holds the lock, of this process or another.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, assay.Errorf(assay.CodeUnavailable, "open lock: %w", err).WithHint("look at the permissions of the data folder")
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, f.Close()
	}
	_ = f.Close()
	return nil, assay.Errorf(assay.CodeUnavailable, "lock %s: %w", path, err).WithHint("the data folder must be on a file system that knows flock")
}

// lockFile waits for the lock.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if f, err := tryLock(path); f != nil || err != nil {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
