package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
	"assay/internal/logs"
)

// inbox stores output that is sent from elsewhere. A sender counts in bytes that it has, the log in bytes
// that are stored: they differ where the log says that some were lost. What ties the two is the base, in a
// file beside the log: from there on a byte more here is a byte more there. So whatever is cut off at
// whatever moment, the log's own size says how much of the sender's output came.
type inbox struct {
	mu    sync.Mutex
	locks map[assay.RunID]*entry
}

type entry struct {
	mu   sync.Mutex
	uses int
}

// base is where a sender's offset and the log's are the same byte.
type base struct {
	Sent int64  `json:"sent"` // the sender's offset
	Log  int64  `json:"log"`  // the log's
	Mark string `json:"mark"` // what stands in the log right before it
}

// received is how much came so far.
type received struct {
	sent int64
	log  logs.Stat
}

const (
	baseFile = "received.json"
	lockFile = "received.lock"
)

// sentMost is how much output one report may bring.
const sentMost = 512 << 10

// take appends what is new in a piece of output, durably. Without one it says how much there is.
func (b *inbox) take(h Harnesses, run assay.RunID, piece *SentLog) (received, error) {
	if piece != nil && len(piece.Data) > sentMost {
		return received{}, assay.Errorf(assay.CodeInvalid, "log.data holds %d bytes: more than %d", len(piece.Data), sentMost).WithHint("send it in several reports")
	}
	defer b.lock(run)()
	got, err := take(h.RunDir(run), h.LogDir(run), piece)
	var known *assay.Error
	if err != nil && !errors.As(err, &known) {
		err = assay.Errorf(assay.CodeUnavailable, "the output of %s could not be stored: %w", run, err).WithHint("send it again later; what came before is kept")
	}
	return got, err
}

// lock lets one request at a time write to a run's log.
func (b *inbox) lock(run assay.RunID) (unlock func()) {
	b.mu.Lock()
	if b.locks == nil {
		b.locks = map[assay.RunID]*entry{}
	}
	e := b.locks[run]
	if e == nil {
		e = &entry{}
		b.locks[run] = e
	}
	e.uses++
	b.mu.Unlock()
	e.mu.Lock()
	return func() {
		e.mu.Unlock()
		b.mu.Lock()
		defer b.mu.Unlock()
		if e.uses--; e.uses == 0 {
			delete(b.locks, run)
		}
	}
}

func take(runDir, logDir string, piece *SentLog) (got received, err error) {
	if piece == nil || len(piece.Data) == 0 && piece.Gap == 0 {
		at, err := readBase(runDir)
		if err != nil {
			return got, err
		}
		size, err := logs.Size(logDir)
		return received{sent: at.at(size.Bytes), log: size}, err
	}
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return got, err
	}
	// Another process may serve the same data folder: it waits, or this one does.
	hold, err := os.OpenFile(filepath.Join(runDir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return got, err
	}
	defer hold.Close()
	if err := unix.Flock(int(hold.Fd()), unix.LOCK_EX); err != nil {
		return got, fmt.Errorf("lock %s: %w", hold.Name(), err)
	}
	at, err := readBase(runDir)
	if err != nil {
		return got, err
	}
	w, err := logs.OpenWriter(logDir, logs.Options{})
	if err != nil {
		return got, err
	}
	defer func() {
		if closing := w.Close(); err == nil {
			err = closing
		}
	}()
	put := func(p []byte) error {
		before := w.Stat().Bytes
		_, _ = w.Write(p) // it never fails: what was stored says whether it did
		if now := w.Stat().Bytes; now != before+int64(len(p)) {
			return fmt.Errorf("%d of %d bytes were stored: is the disk full?", now-before, len(p))
		}
		return nil
	}
	if missing := at.Log - w.Stat().Bytes; missing > 0 { // a crash right after the base was written
		if err := put([]byte(at.Mark[max(0, len(at.Mark)-int(missing)):])); err != nil {
			return got, err
		}
	}
	sent := at.at(w.Stat().Bytes)
	switch {
	case piece.Offset-piece.Gap > sent:
		return got, assay.Errorf(assay.CodeInvalid, "output came up to byte %d, and this piece begins at %d", sent, piece.Offset).
			WithHint("send from byte %d, or say with gap how much is lost", sent).With("log_sent", strconv.FormatInt(sent, 10))
	case piece.Offset > sent:
		end := w.Stat().Bytes
		mark := fmt.Sprintf("[assay: %d bytes of output were lost before they could be sent]\n", piece.Offset-sent)
		if end > 0 {
			mark = "\n" + mark
		}
		at = base{Sent: piece.Offset, Log: end + int64(len(mark)), Mark: mark}
		if err := writeBase(runDir, at); err != nil {
			return got, err
		}
		if err := put([]byte(mark)); err != nil {
			return got, err
		}
		sent = piece.Offset
	}
	if known := sent - piece.Offset; known < int64(len(piece.Data)) {
		if err := put(piece.Data[known:]); err != nil {
			return got, err
		}
	}
	got.log = w.Stat()
	got.sent = at.at(got.log.Bytes)
	return got, nil
}

func (b base) at(log int64) int64 { return b.Sent + max(0, log-b.Log) }

func readBase(dir string) (b base, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, baseFile))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	return b, err
}

// writeBase makes the base durable before the log goes on from it.
func writeBase(dir string, b base) error {
	raw, err := json.Marshal(b)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, baseFile)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}
