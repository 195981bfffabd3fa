package api_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/store"
)

// events opens a run's stream and returns its lines.
func events(t *testing.T, w *world, id assay.RunID, last string) (*http.Response, *bufio.Scanner) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+w.address+"/api/v1/runs/"+id.String()+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return resp, lines
}

func TestEvents(t *testing.T) {
	w := stocked(t, 10)
	g, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	<-w.judge.asked
	resp, lines := events(t, w, g.ID, "")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	var ids []string
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			if ids = append(ids, id); len(ids) == 1 {
				w.judge.open() // the first event came while nothing happened
			}
			if !strings.HasPrefix(id, g.ID.String()+".") {
				t.Errorf("id %q", id)
			}
		}
	}
	if len(ids) < 2 || lines.Err() != nil {
		t.Fatalf("ids %v, %v", ids, lines.Err())
	}
	// It has ended, and the last event was seen: 204 keeps a browser from connecting for ever.
	if resp, _ = events(t, w, g.ID, ids[len(ids)-1]); resp.StatusCode != http.StatusNoContent {
		t.Error(resp.Status)
	}
	resp, lines = events(t, w, g.ID, ids[0])
	n := 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") {
			n++
		}
	}
	if resp.StatusCode != http.StatusOK || n != 1 {
		t.Errorf("a client that missed the end got %s and %d events", resp.Status, n)
	}
	if resp, _ = events(t, w, 99, ""); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}

func TestManyWatch(t *testing.T) {
	w := stocked(t, 10)
	g, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var first sync.WaitGroup
	first.Add(30)
	for range 30 {
		all.Go(func() {
			var once sync.Once
			v, err := w.tcp.Watch(t.Context(), g.ID, func(api.RunView) bool { once.Do(first.Done); return true })
			if err != nil || v.State != assay.RunCompleted || v.Counts.Graded != 10 {
				t.Errorf("%s %+v, %v", v.State, v.Counts, err)
			}
		})
	}
	first.Wait()
	w.judge.open()
	all.Wait()
}

// between is a proxy that does to event streams what is asked.
func between(t *testing.T, w *world, spoil func(http.ResponseWriter, *http.Request, http.Handler)) *client.Client {
	t.Helper()
	target, err := url.Parse("http://" + w.address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
	}
	_, address := serve(t, "tcp", "127.0.0.1:0", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			spoil(rw, r, proxy)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	c, err := client.Server("http://"+address, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// cut ends a stream after its first event.
type cut struct {
	http.ResponseWriter
	stop context.CancelFunc
}

func (c cut) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c cut) Write(b []byte) (int, error) {
	defer c.stop()
	return c.ResponseWriter.Write(b)
}

func TestWatchReconnects(t *testing.T) {
	w := stocked(t, 4)
	g, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	var streams atomic.Int64
	c := between(t, w, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		switch n := streams.Add(1); {
		case n == 2:
			rw.WriteHeader(http.StatusBadGateway)
		case n < 4:
			ctx, stop := context.WithCancel(r.Context())
			defer func() {
				if v := recover(); v != nil && v != http.ErrAbortHandler {
					panic(v)
				}
			}()
			next.ServeHTTP(cut{rw, stop}, r.WithContext(ctx))
		default:
			w.judge.open()
			next.ServeHTTP(rw, r)
		}
	})
	v, err := c.Watch(t.Context(), g.ID, func(api.RunView) bool { return true })
	if err != nil || v.State != assay.RunCompleted || streams.Load() < 4 {
		t.Errorf("%s after %d streams, %v", v.State, streams.Load(), err)
	}
}

func TestWatchWhereStreamsDoNotGetThrough(t *testing.T) {
	w := stocked(t, 4)
	g, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	c := between(t, w, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(rw, "<p>no streams here")
	})
	v, err := c.Watch(t.Context(), g.ID, func(api.RunView) bool { w.judge.open(); return true })
	if err != nil || v.State != assay.RunCompleted {
		t.Errorf("%s, %v", v.State, err)
	}
}

func TestWatchEndsWithItsContextAndItsCaller(t *testing.T) {
	w := stocked(t, 4)
	g, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := w.tcp.Watch(ctx, g.ID, func(api.RunView) bool { cancel(); return true }); err != context.Canceled {
		t.Error(err)
	}
	if v, err := w.tcp.Watch(t.Context(), g.ID, func(api.RunView) bool { return false }); err != nil || v.ID != g.ID {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestShutdownEndsStreams(t *testing.T) {
	w := stocked(t, 4)
	g, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	_, lines := events(t, w, g.ID, "")
	lines.Scan()
	<-w.judge.asked
	waits := make(chan error, 1)
	go func() {
		_, err := w.tcp.GradeSession(t.Context(), "default", single(), "")
		waits <- err
	}()
	waitFor(t, func() bool {
		runs, _, err := w.store.Runs().List(t.Context(), store.RunQuery{Kind: assay.RunSingle}, store.Page{Limit: 1})
		return err == nil && len(runs) == 1
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Errorf("the server waits for its streams: %v", err)
	}
	for lines.Scan() {
	}
	if e := holds(t, <-waits, assay.CodeUnavailable); e.Details["run"] == "" {
		t.Errorf("%+v", e)
	}
}
