package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// Patience bounds how long Watch goes on while nobody answers; between two tries it waits a little.
const (
	watchPatience = 10 * time.Second
	watchPause    = 250 * time.Millisecond
	watchPoll     = 500 * time.Millisecond
)

// Watch calls see with the run as it is now and after every change, until it ends, until see returns
// false, or until ctx ends; it returns the run as it was last seen. It reconnects when the stream
// breaks, asks again and again where streams do not get through, and gives up with CodeUnavailable
// when nobody answered for some seconds.
func (c *Client) Watch(ctx context.Context, id assay.RunID, see func(api.RunView) bool) (last api.RunView, err error) {
	heard := time.Now()
	for {
		done, err := c.stream(ctx, id, func(v api.RunView) bool {
			last, heard = v, time.Now()
			return see(v)
		})
		switch {
		case done:
			return last, nil
		case ctx.Err() != nil:
			return last, context.Cause(ctx)
		case errors.Is(err, errNoStream):
			return c.poll(ctx, id, last, see)
		case err != nil && assay.CodeOf(err) != assay.CodeUnavailable:
			return last, err
		case err != nil && time.Since(heard) > watchPatience:
			return last, err
		}
		if err := pause(ctx, watchPause); err != nil {
			return last, err
		}
	}
}

// errNoStream says that what answered is not an event stream.
var errNoStream = errors.New("no event stream")

// stream reads one connection's events. done says that there is nothing more to see.
func (c *Client) stream(ctx context.Context, id assay.RunID, see func(api.RunView) bool) (done bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	req, err := c.request(ctx, http.MethodGet, run(id, "events"), nil, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.open(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return false, errNoStream
	}
	// A stream that is silent past the server's heartbeat is dead, whatever the connection says.
	alarm := time.AfterFunc(silence, stop)
	defer alarm.Stop()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		alarm.Reset(silence)
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var v api.RunView
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			return false, c.broken(req, err)
		}
		if !see(v) || v.State.Terminal() {
			return true, nil
		}
	}
	return false, nil
}

// silence is more than two heartbeats of the server.
const silence = 3 * api.Heartbeat

// poll is Watch where only plain answers get through.
func (c *Client) poll(ctx context.Context, id assay.RunID, last api.RunView, see func(api.RunView) bool) (api.RunView, error) {
	heard := time.Now()
	for {
		v, err := c.Run(ctx, id)
		switch {
		case err == nil:
			last, heard = v, time.Now()
			if !see(v) || v.State.Terminal() {
				return last, nil
			}
		case assay.CodeOf(err) != assay.CodeUnavailable || time.Since(heard) > watchPatience:
			return last, err
		}
		if err := pause(ctx, watchPoll); err != nil {
			return last, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
