package client

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// Log reads a part of a run's output, at most limit bytes from offset on; 0 is the server's default.
func (c *Client) Log(ctx context.Context, id assay.RunID, offset int64, limit int) (out api.LogChunk, err error) {
	v := url.Values{}
	v.Set("offset", strconv.FormatInt(offset, 10))
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	return out, c.do(ctx, call{method: http.MethodGet, path: run(id, "log"), query: v}, &out)
}

// LogTail reads the last lines of a run's output, as much of them as one answer holds.
func (c *Client) LogTail(ctx context.Context, id assay.RunID, lines int) (out api.LogChunk, err error) {
	v := url.Values{}
	v.Set("tail", strconv.Itoa(lines))
	v.Set("limit", strconv.Itoa(1<<20))
	return out, c.do(ctx, call{method: http.MethodGet, path: run(id, "log"), query: v}, &out)
}

// RawLog writes all that is stored of a run's output to w, byte for byte.
func (c *Client) RawLog(ctx context.Context, id assay.RunID, w io.Writer) error {
	req, err := c.request(ctx, http.MethodGet, run(id, "log", "raw"), nil, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/octet-stream")
	resp, err := c.open(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 256<<10)
	for {
		n, err := resp.Body.Read(buf)
		if _, writing := w.Write(buf[:n]); writing != nil {
			return writing
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return c.broken(req, err)
		}
	}
}

// SearchLog finds lines of a run's output from an offset on.
func (c *Client) SearchLog(ctx context.Context, id assay.RunID, text string, from int64, limit int) (out api.LogHits, err error) {
	v := url.Values{}
	v.Set("q", text)
	v.Set("from", strconv.FormatInt(from, 10))
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	return out, c.do(ctx, call{method: http.MethodGet, path: run(id, "log", "search"), query: v}, &out)
}

// FollowLog calls see with a run's output from an offset on and with what comes, until the run has ended
// and all was told, see fails, or ctx ends. Where the stream breaks it goes on where it stopped, without a
// byte twice or missing, and gives up with CodeUnavailable when nobody answered for some seconds.
func (c *Client) FollowLog(ctx context.Context, id assay.RunID, offset int64, see func(api.LogChunk) error) error {
	f := &logFollower{c: c, id: id, offset: offset, see: see, heard: time.Now()}
	for {
		done, err := f.stream(ctx)
		switch {
		case f.failed != nil:
			return f.failed
		case done:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (assay.CodeOf(err) != assay.CodeUnavailable || time.Since(f.heard) > watchPatience):
			return err
		}
		if err := pause(ctx, watchPause); err != nil {
			return err
		}
	}
}

// logFollower is one FollowLog.
type logFollower struct {
	c      *Client
	id     assay.RunID
	offset int64
	see    func(api.LogChunk) error
	heard  time.Time
	failed error // of see
}

// longestEvent is more than the largest part of output takes as JSON.
const longestEvent = 8 << 20

// stream reads one connection's events. done says that the run has ended and all was seen.
func (f *logFollower) stream(ctx context.Context) (done bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	v := url.Values{"offset": {strconv.FormatInt(f.offset, 10)}}
	req, err := f.c.request(ctx, http.MethodGet, run(f.id, "log", "events"), v, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := f.c.open(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	// A stream that is silent past the server's heartbeat is dead, whatever the connection says.
	alarm := time.AfterFunc(silence, stop)
	defer alarm.Stop()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), longestEvent)
	for lines.Scan() {
		alarm.Reset(silence)
		f.heard = time.Now()
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var chunk api.LogChunk
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return false, f.c.broken(req, err)
		}
		if chunk.End {
			return true, nil
		}
		if f.failed = f.see(chunk); f.failed != nil {
			return false, nil
		}
		f.offset = chunk.To
	}
	return false, nil
}
