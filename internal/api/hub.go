package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"assay/internal/assay"
)

// How often a watched run is read: quickly at first, because a single run ends soon, then at
// pollSlow; a run whose rows take long to add up is read less often.
const (
	pollFast = 20 * time.Millisecond
	pollSlow = 250 * time.Millisecond
)

// hub reads each watched run once for all who watch it.
type hub struct {
	read  func(context.Context, assay.RunID) (RunView, error)
	mu    sync.Mutex
	feeds map[assay.RunID]*feed
}

// feed is one run that somebody watches.
type feed struct {
	watchers int // guarded by the hub
	stop     context.CancelFunc
	poked    chan struct{}

	mu      sync.Mutex
	now     event
	view    RunView
	err     error
	changed chan struct{} // closed by the next change
}

// event is a state of a run as it goes over the wire.
type event struct {
	n    int64  // grows with every change that the feed saw
	id   string // RUN.REVISION.ENDED
	data []byte // the RunView as JSON
}

func newHub(read func(context.Context, assay.RunID) (RunView, error)) *hub {
	return &hub{read: read, feeds: map[assay.RunID]*feed{}}
}

// watcher is told of changes. Either error ends the watch.
type watcher struct {
	see  func(RunView, event) (more bool, err error)
	beat func() error // every Heartbeat without a change; may be nil
}

// watch tells w how the run stands and of every change, until see wants no more, the run has ended,
// ctx ends or the server shuts down; the last two return nil.
func (h *hub) watch(ctx context.Context, id assay.RunID, w watcher) error {
	f := h.join(id)
	defer h.leave(id, f)
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	var seen int64
	for {
		now, view, err, changed := f.state()
		if err != nil {
			return err
		}
		if now.n != seen {
			seen = now.n
			more, err := w.see(view, now)
			if err != nil || !more || view.State.Terminal() {
				return err
			}
			beat.Reset(Heartbeat)
		}
		select {
		case <-changed:
		case <-beat.C:
			if w.beat != nil {
				if err := w.beat(); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return nil
		case <-closing(ctx):
			return nil
		}
	}
}

// poke makes a watched run be read now.
func (h *hub) poke(id assay.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.feeds[id]; f != nil {
		select {
		case f.poked <- struct{}{}:
		default:
		}
	}
}

func (h *hub) join(id assay.RunID) *feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[id]
	if f == nil {
		ctx, stop := context.WithCancel(context.Background())
		f = &feed{stop: stop, poked: make(chan struct{}, 1), changed: make(chan struct{})}
		h.feeds[id] = f
		go f.poll(ctx, id, h.read)
	}
	f.watchers++
	return f
}

func (h *hub) leave(id assay.RunID, f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.watchers--; f.watchers == 0 {
		f.stop()
		delete(h.feeds, id)
	}
}

func (f *feed) state() (event, RunView, error, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.view, f.err, f.changed
}

// poll reads the run until it has ended, cannot be found, or nobody watches. A store that does not
// answer is asked again: the watchers' heartbeats go on meanwhile.
func (f *feed) poll(ctx context.Context, id assay.RunID, read func(context.Context, assay.RunID) (RunView, error)) {
	var pace pacer
	wait := pollFast
	for {
		began := time.Now()
		view, err := read(ctx, id)
		took := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pace.measure(&view, began)
			f.put(view)
			if view.State.Terminal() {
				return
			}
		case f.now.n == 0 || assay.CodeOf(err) == assay.CodeNotFound:
			f.fail(err)
			return
		}
		timer := time.NewTimer(max(wait, 10*took))
		select {
		case <-timer.C:
		case <-f.poked:
			timer.Stop()
			wait = pollFast
		case <-ctx.Done():
			timer.Stop()
			return
		}
		wait = min(2*wait, pollSlow)
	}
}

// put stores a reading and wakes the watchers if anything is new.
func (f *feed) put(v RunView) {
	data, err := json.Marshal(v)
	if err != nil {
		f.fail(assay.Errorf(assay.CodeInternal, "encode run %s: %w", v.ID, err))
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if bytes.Equal(data, f.now.data) {
		return
	}
	f.view = v
	f.now = event{n: f.now.n + 1, id: eventID(v), data: data}
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *feed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	close(f.changed)
	f.changed = make(chan struct{})
}

func eventID(v RunView) string {
	return fmt.Sprintf("%s.%d.%d", v.ID, v.Revision, v.Counts.Total-v.Counts.Pending)
}
