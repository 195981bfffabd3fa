package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"assay/internal/durable"
	"assay/internal/process"
)

// Sweep ends what a dead shim left, and lists what would not go within limit. It is called when Look says
// Dead, and may be called again. Only what is proven to be of this launch is signalled.
func Sweep(dir string, limit time.Duration) (left []int, err error) {
	var l launched
	if err := durable.ReadJSON(dir, launchFile, &l); err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	var s started
	if err := durable.ReadJSON(dir, shimFile, &s); err != nil && l.Protocol == Protocol && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	tree := s.Tree
	if tree.Mark = l.Mark; tree.Cgroup == "" {
		tree.Cgroup = l.Cgroup
	}
	return tree.End(limit), nil
}

// Kill ends a shim that does not do its work (Starting for too long, or Alive and silent), and what it
// left. Afterwards Look says Dead, or Finished where the shim was faster.
func Kill(dir string, limit time.Duration) (left []int, err error) {
	deadline := time.Now().Add(limit)
	var shim process.Identity
	for { // it writes who it is as its first act
		err := durable.ReadJSON(dir, lockFile, &shim)
		if holds, looking := held(dir); looking != nil {
			return nil, looking
		} else if !holds {
			return Sweep(dir, limit)
		}
		if err == nil && shim.PID != 0 {
			if left = (process.Remains{Leader: shim}).End(time.Until(deadline)); len(left) > 0 {
				return left, nil
			}
			// Who holds the lock of a dead shim is of its harness.
			if left, err = Sweep(dir, time.Until(deadline)); err != nil || len(left) > 0 {
				return left, err
			}
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("kill the shim: it holds %s and cannot be told from others", dir)
		}
		time.Sleep(lookEvery)
	}
}
