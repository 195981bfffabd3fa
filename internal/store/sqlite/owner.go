package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type owner struct{ s *Store }

// TryOwn locks dir/owner.lock. The system frees the lock with the process, however it dies; what
// stands in the file is for people.
func (o owner) TryOwn(context.Context) (store.Ownership, error) {
	f, err := tryLock(filepath.Join(o.s.dir, "owner.lock"))
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
	return &ownership{file: f, lost: make(chan struct{})}, nil
}

type ownership struct {
	file *os.File
	lost chan struct{}
}

func (o *ownership) Lost() <-chan struct{} { return o.lost }
func (o *ownership) Grace() time.Duration  { return 0 }

func (o *ownership) Release() error {
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
