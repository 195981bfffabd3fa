package inbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/internal/durable"
	"assay/internal/logs"
)

func newFolder(t *testing.T) Folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r1")
	return Folder{Dir: dir, Log: filepath.Join(dir, "log")}
}

func (f Folder) text(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := logs.Copy(&b, f.Log); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func take(t *testing.T, f Folder, offset, gap int64, data string) Received {
	t.Helper()
	got, err := f.Take(t.Context(), Piece{Offset: offset, Gap: gap, Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPiecesAreTakenOnce(t *testing.T) {
	f := newFolder(t)
	for _, p := range []struct {
		offset, gap int64
		data        string
		sent        int64
	}{
		{0, 0, "", 0},
		{0, 0, "abc", 3},
		{0, 0, "abc", 3},
		{1, 0, "bcdef", 6},
		{6, 3, "", 6},      // what is lost came before
		{10, 4, "xyz", 13}, // four are lost
		{10, 4, "xyz", 13},
		{13, 0, "!", 14},
	} {
		if got := take(t, f, p.offset, p.gap, p.data); got.Sent != p.sent {
			t.Errorf("%+v: %+v", p, got)
		}
	}
	want := "abcdef\n[assay: 4 bytes of output were lost before they could be sent]\nxyz!"
	if got, err := f.Received(); f.text(t) != want || err != nil || got.Sent != 14 || got.Log.Bytes != int64(len(want)) {
		t.Errorf("%q %+v %v", f.text(t), got, err)
	}
	var early *Early
	if _, err := f.Take(t.Context(), Piece{Offset: 20, Gap: 1, Data: []byte("z")}); !errors.As(err, &early) || *early != (Early{14, 20}) || f.text(t) != want {
		t.Errorf("%v %q", err, f.text(t))
	}
}

// What is lost is durable before the log goes on from it, and the log with all of it before the answer.
func TestTheOrderOfAPieceBehindAGap(t *testing.T) {
	f := newFolder(t)
	take(t, f, 0, 0, "abc\n")
	var steps []string
	f.Disk = durable.Disk{
		Sync:   func(file *os.File) error { steps = append(steps, "sync "+filepath.Base(file.Name())); return nil },
		Rename: func(from, to string) error { steps = append(steps, "rename"); return os.Rename(from, to) },
	}
	take(t, f, 9, 5, "def")
	want := []string{"sync received.json.new", "rename", "sync r1", "sync 00000000000000000000-000000000000", "sync log"}
	if !slices.Equal(steps, want) {
		t.Errorf("%q, want %q", steps, want)
	}
	f.Disk.Sync = func(*os.File) error { return errors.New("the disk is broken") }
	if _, err := f.Take(t.Context(), Piece{Offset: 12, Data: []byte("ghi")}); err == nil || !strings.Contains(err.Error(), "the disk is broken") {
		t.Errorf("what is not durable is not taken: %v", err)
	}
}

// Many senders, or servers of one data folder, take turns; who waits gives up when its request ends.
func TestOnePieceAtATime(t *testing.T) {
	f := newFolder(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { take(t, f, 0, 0, "abcdefghij") })
	}
	all.Wait()
	if got := f.text(t); got != "abcdefghij" {
		t.Errorf("%q", got)
	}
	release, err := f.hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	go func() { _, err := f.Take(ctx, Piece{Offset: 10, Data: []byte("k")}); waiting <- err }()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	release()
	if got := take(t, f, 10, 0, "k"); got.Sent != 11 {
		t.Errorf("%+v", got)
	}
}
