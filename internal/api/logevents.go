package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"assay/internal/assay"
	"assay/internal/logs"
)

type logEventsInput struct {
	RunInput
	Offset int64  `query:"offset" minimum:"0" doc:"where to begin; Last-Event-ID goes before it"`
	Last   string `header:"Last-Event-ID" doc:"offset behind the last byte that was seen: 204 when nothing follows and the run has ended"`
}

func (s *server) logEventRoutes(a huma.API, tags []string) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[LogChunk](), true, "LogChunk")
	route(s, a, huma.Operation{OperationID: "follow-log", Method: http.MethodGet, Path: "/runs/{run}/log/events", Tags: tags,
		Summary:     "Follow a run's output as server-sent events",
		Description: "Events are called log, their data is a part of the output, their id the offset behind it: a client that comes back with it goes on there and misses nothing. After the last output of a run that has ended comes one event called end, and the stream ends. Comments keep the line alive.",
		Responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: map[string]*huma.MediaType{eventStream: {Schema: schema}}},
			"204": {Description: "The run has ended and all of its output was seen: do not connect again"},
		}},
		func(ctx context.Context, in *logEventsInput) (*huma.StreamResponse, error) {
			return s.logEvents(ctx, in)
		})
}

func (s *server) logEvents(ctx context.Context, in *logEventsInput) (*huma.StreamResponse, error) {
	run, dir, err := s.output(ctx, in.RunInput)
	if err != nil {
		return nil, err
	}
	offset := in.Offset
	if in.Last != "" {
		if offset, err = strconv.ParseInt(in.Last, 10, 64); err != nil || offset < 0 {
			return nil, assay.Errorf(assay.CodeInvalid, "Last-Event-ID %q is no offset", in.Last).WithHint("send the id of the last event, or none")
		}
		size, err := logs.Size(dir)
		if err != nil {
			return nil, err
		}
		if run.State.Terminal() && offset >= size.Bytes {
			return &huma.StreamResponse{Body: func(hc huma.Context) { hc.SetStatus(http.StatusNoContent) }}, nil
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", eventStream)
		w.Header().Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		out := &stream{w: w, flush: http.NewResponseController(w).Flush}
		if err := s.followLog(ctx, run, dir, offset, out); err != nil && ctx.Err() == nil {
			s.Log.DebugContext(ctx, "log stream ended", "run", run.ID, "error", err)
		}
	}}, nil
}

// followLog sends output from an offset on until the run has ended and all was sent, the client left, or
// the server shuts down.
func (s *server) followLog(ctx context.Context, run assay.Run, dir string, offset int64, out *stream) error {
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() {
		defer stop()
		out.keepAlive(ctx)
	})
	var ended atomic.Bool
	if ended.Store(run.State.Terminal()); !ended.Load() {
		watching.Go(func() {
			_ = s.hub.watch(ctx, run.ID, watcher{see: func(v RunView, _ event) (bool, error) { // the next connection tells an error
				ended.Store(v.State.Terminal())
				return true, nil
			}})
			if !ended.Load() {
				stop()
			}
		})
	}
	firstOutput(ctx, dir, ended.Load)
	err := logs.Follow(ctx, dir, offset, ended.Load, func(c logs.Chunk) error {
		offset = c.To
		return out.send("log", chunkOf(c))
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	return out.send("end", LogChunk{From: offset, To: offset, End: true})
}

// Until a run's first output it is looked for often: somebody waits for it who has just started the run.
const (
	firstEvery = 5 * time.Millisecond
	firstLimit = 5 * time.Second
)

func firstOutput(ctx context.Context, dir string, ended func() bool) {
	for begun := time.Now(); time.Since(begun) < firstLimit && !ended() && ctx.Err() == nil; {
		if c, err := logs.Read(dir, 0, 4<<10, false); err != nil || c.To > 0 || c.Gap > 0 {
			return
		}
		timer := time.NewTimer(firstEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// stream is one event stream with two writers: the one that tells, and the one that keeps it alive.
type stream struct {
	mu    sync.Mutex
	w     io.Writer
	flush func() error
	told  bool // since the last heartbeat
}

func (o *stream) send(name string, c LogChunk) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = true
	if _, err := fmt.Fprintf(o.w, "id: %d\nevent: %s\ndata: %s\n\n", c.To, name, data); err != nil {
		return err
	}
	return o.flush()
}

// keepAlive says now and then that the line lives, until ctx ends, the server shuts down or nobody listens.
func (o *stream) keepAlive(ctx context.Context) {
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-closing(ctx):
			return
		case <-beat.C:
		}
		if !o.beat() {
			return
		}
	}
}

func (o *stream) beat() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if told := o.told; told {
		o.told = false
		return true
	}
	if _, err := io.WriteString(o.w, ": alive\n\n"); err != nil {
		return false
	}
	return o.flush() == nil
}
