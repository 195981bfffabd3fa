package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Heartbeat is how often a silent event stream says that it lives.
const Heartbeat = 10 * time.Second

const eventStream = "text/event-stream"

type eventsInput struct {
	RunInput
	Last string `header:"Last-Event-ID" doc:"the last event that was seen: 204 when the run ended with it"`
}

func (s *server) eventRoutes(a huma.API) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[RunView](), true, "RunView")
	route(s, a, huma.Operation{OperationID: "watch-run", Method: http.MethodGet, Path: "/runs/{run}/events", Tags: []string{"runs"},
		Summary:     "Follow a run as server-sent events",
		Description: "The data of every event is the run as get-run shows it, without strata. The first event comes at once, one follows every change, comments keep the line alive, and the stream ends after a state that ends the run. No event is stored: a client that comes back gets the present state.",
		Responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: map[string]*huma.MediaType{eventStream: {Schema: schema}}},
			"204": {Description: "The run has ended and its last event was seen: do not connect again"},
		}},
		func(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) { return s.events(ctx, in) })
}

func (s *server) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	run, err := s.run(ctx, in.RunInput) // so that an unknown run is a problem, not an empty stream
	if err != nil {
		return nil, err
	}
	if run.State.Terminal() && in.Last != "" {
		v, err := s.view(ctx, run)
		if err != nil {
			return nil, err
		}
		if eventID(v) == in.Last {
			return &huma.StreamResponse{Body: func(hc huma.Context) { hc.SetStatus(http.StatusNoContent) }}, nil
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", eventStream)
		w.Header().Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w).Flush
		err := s.hub.watch(ctx, run.ID, watcher{
			see: func(_ RunView, e event) (bool, error) {
				if _, err := fmt.Fprintf(w, "id: %s\nevent: run\ndata: %s\n\n", e.id, e.data); err != nil {
					return false, err
				}
				return true, flush()
			},
			beat: func() error {
				if _, err := io.WriteString(w, ": alive\n\n"); err != nil {
					return err
				}
				return flush()
			},
		})
		if err != nil && ctx.Err() == nil {
			s.Log.DebugContext(ctx, "event stream ended", "run", run.ID, "error", err)
		}
	}}, nil
}
