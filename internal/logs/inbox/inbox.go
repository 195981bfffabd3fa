// Package inbox stores output that is sent from elsewhere, piece by piece, in a log.
//
// A sender counts in bytes that it has, the log in bytes that are stored: they differ where the log says that
// some were lost. What ties the two is the base, a file beside the log: from there on a byte more here is a
// byte more there. The invariant: whatever is cut off at whatever moment, the log's own size says how much
// of the sender's output came, and a piece that comes twice, or overlaps one that came, is taken once.
//
// It refuses to know whose output it is and who may send it.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/durable"
	"assay/internal/logs"
)

// Folder is where one sender's output is kept.
type Folder struct {
	Dir  string // of what is known of the sender
	Log  string // of the log
	Disk durable.Disk
}

// Piece is a part of a sender's output. Its offsets are the sender's.
type Piece struct {
	Offset int64 // of the first byte
	Gap    int64 // bytes before Offset that the sender does not have any more
	Data   []byte
}

// Received is how much came so far.
type Received struct {
	Sent int64 // the sender's offset at which the next piece begins
	Log  logs.Stat
}

// Early is the error of a piece that begins behind what came: nothing of it was stored.
type Early struct{ Sent, Begins int64 }

func (e *Early) Error() string {
	return fmt.Sprintf("output came up to byte %d, and this piece begins at %d", e.Sent, e.Begins)
}

// base is where a sender's offset and the log's are the same byte.
type base struct {
	Sent int64  `json:"sent"` // the sender's offset
	Log  int64  `json:"log"`  // the log's
	Mark string `json:"mark"` // what stands in the log right before it
}

const (
	baseFile = "received.json"
	lockFile = "received.lock"
)

func (b base) at(log int64) int64 { return b.Sent + max(0, log-b.Log) }

// Received says how much came so far.
func (f Folder) Received() (Received, error) {
	at, err := f.base()
	if err != nil {
		return Received{}, err
	}
	size, err := logs.Size(f.Log)
	return Received{Sent: at.at(size.Bytes), Log: size}, err
}

// Take appends what is new in a piece, durably. One piece is taken at a time, whichever process takes it: the
// others wait until ctx ends.
func (f Folder) Take(ctx context.Context, p Piece) (got Received, err error) {
	if len(p.Data) == 0 && p.Gap == 0 {
		return f.Received()
	}
	if err := f.Disk.MakeFolder(f.Dir); err != nil {
		return got, err
	}
	release, err := f.hold(ctx)
	if err != nil {
		return got, err
	}
	defer release()
	t := taking{folder: f}
	if t.base, err = f.base(); err != nil {
		return got, err
	}
	if t.log, err = logs.OpenWriter(f.Log, logs.Options{Disk: f.Disk}); err != nil {
		return got, err
	}
	err = t.take(p)
	got = Received{Sent: t.sent(), Log: t.log.Stat()}
	if closing := t.log.Close(); err == nil {
		err = closing
	}
	return got, err
}

// askEvery is how often who waits asks for the lock.
const askEvery = 5 * time.Millisecond

// hold waits for its turn.
func (f Folder) hold(ctx context.Context) (release func(), err error) {
	lock, err := os.OpenFile(filepath.Join(f.Dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { lock.Close() }, nil
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		lock.Close()
		return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
}

func (f Folder) base() (b base, err error) {
	if err = durable.ReadJSON(f.Dir, baseFile, &b); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return b, err
}

// taking is one piece on its way into the log.
type taking struct {
	folder Folder
	log    *logs.Writer
	base   base
}

// sent is how much of the sender's output stands in the log.
func (t *taking) sent() int64 { return t.base.at(t.log.Stat().Bytes) }

func (t *taking) take(p Piece) error {
	if missing := t.base.Log - t.log.Stat().Bytes; missing > 0 { // a crash right after the base was written
		mark := t.base.Mark
		if err := t.put([]byte(mark[max(0, len(mark)-int(missing)):])); err != nil {
			return err
		}
	}
	switch sent := t.sent(); {
	case p.Offset-p.Gap > sent:
		return &Early{Sent: sent, Begins: p.Offset}
	case p.Offset > sent:
		if err := t.pass(p.Offset - sent); err != nil {
			return err
		}
	}
	known := t.sent() - p.Offset
	if known >= int64(len(p.Data)) {
		return nil
	}
	return t.put(p.Data[known:])
}

// pass goes over bytes that the sender lost: the base is durable before the log goes on from it.
func (t *taking) pass(lost int64) error {
	mark := fmt.Sprintf("[assay: %d bytes of output were lost before they could be sent]\n", lost)
	end := t.log.Stat().Bytes
	if end > 0 {
		mark = "\n" + mark
	}
	next := base{Sent: t.sent() + lost, Log: end + int64(len(mark)), Mark: mark}
	if err := t.folder.Disk.WriteJSON(t.folder.Dir, baseFile, next); err != nil {
		return err
	}
	t.base = next
	return t.put([]byte(mark))
}

// put stores all of p, or says that it could not.
func (t *taking) put(p []byte) error {
	before := t.log.Stat().Bytes
	_, _ = t.log.Write(p) // it never fails: what was stored says whether it did
	if now := t.log.Stat().Bytes; now != before+int64(len(p)) {
		return fmt.Errorf("%d of %d bytes were stored: is the disk full?", now-before, len(p))
	}
	return nil
}
