package api

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, so that their deadlines follow the bubble's clock.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.accept <- there
	return here
}

// carried serves h as New serves the API, and tries talk on a connection.
func carried(t *testing.T, h http.HandlerFunc, talk func(net.Conn)) {
	s := &server{Services: Services{Log: slog.New(slog.DiscardHandler)}}
	bubble(t, s.carry(h), talk)
}

func bubble(t *testing.T, h http.Handler, talk func(net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		srv := HTTPServer(h)
		l := newPipes()
		done := make(chan error)
		go func() { done <- srv.Serve(l) }()
		conn := l.dial()
		talk(conn)
		conn.Close()
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

const start = "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// within reads c to its end and checks how long that took.
func within(t *testing.T, c net.Conn, least, most time.Duration) string {
	t.Helper()
	began := time.Now()
	raw, _ := io.ReadAll(c)
	if took := time.Since(began); took < least || took > most {
		t.Errorf("the server let go after %s, want %s to %s", took, least, most)
	}
	return string(raw)
}

func TestSlowHeadersAreCut(t *testing.T) {
	carried(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") }, func(c net.Conn) {
		send(t, c, "GET / HT")
		within(t, c, headerTime, headerTime+time.Second)
	})
}

func TestSlowBodiesAreCut(t *testing.T) {
	carried(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("a body came that was never sent")
		}
		w.WriteHeader(http.StatusRequestTimeout)
	}, func(c net.Conn) {
		send(t, c, start+"Content-Length: 100\r\n\r\n{")
		// A byte now and then does not help.
		var drip sync.WaitGroup
		drip.Go(func() {
			for range 50 {
				time.Sleep(bodyTime / 3)
				if _, err := io.WriteString(c, " "); err != nil {
					return
				}
			}
		})
		within(t, c, bodyTime, bodyTime+time.Second)
		c.Close()
		drip.Wait()
	})
}

func TestSlowBodiesOfRoutesAreCut(t *testing.T) {
	bubble(t, New(Services{}), func(c net.Conn) {
		send(t, c, strings.Replace(start, "/x", Root+"/projects", 1)+"Content-Length: 100\r\n\r\n{")
		got := within(t, c, bodyTime, bodyTime+time.Second)
		if !strings.HasPrefix(got, "HTTP/1.1 408") || !strings.Contains(got, `"code":"unavailable"`) {
			t.Errorf("%q", got)
		}
	})
}

func TestBodiesThatNobodyReadsAreCut(t *testing.T) {
	carried(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, func(c net.Conn) {
		send(t, c, start+"Content-Length: 100\r\n\r\n{")
		within(t, c, bodyTime, bodyTime+time.Second)
	})
}

func TestUploadsMayTakeLongAndNotStandStill(t *testing.T) {
	carried(t, func(w http.ResponseWriter, r *http.Request) {
		streamBody(r.Context())
		n, err := io.Copy(io.Discard, r.Body)
		if n != 11 || err == nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		w.WriteHeader(http.StatusRequestTimeout)
	}, func(c net.Conn) {
		send(t, c, start+"Content-Length: 100\r\n\r\n{")
		for range 10 {
			time.Sleep(uploadTime - time.Second)
			send(t, c, " ")
		}
		within(t, c, uploadTime, uploadTime+time.Second)
	})
}

// TestLongAnswersOutliveTheBodysDeadline: the server watches the connection by reading from it, and
// a deadline that passed there would cancel the request.
func TestLongAnswersOutliveTheBodysDeadline(t *testing.T) {
	carried(t, func(w http.ResponseWriter, r *http.Request) {
		if raw, err := io.ReadAll(r.Body); err != nil || string(raw) != "{}" {
			t.Errorf("%q, %v", raw, err)
		}
		select {
		case <-time.After(10 * bodyTime):
			_, _ = io.WriteString(w, "done")
		case <-r.Context().Done():
			t.Error("the request was cancelled")
		}
	}, func(c net.Conn) {
		send(t, c, start+"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
		if got := within(t, c, 10*bodyTime, 10*bodyTime+time.Second); !strings.HasSuffix(got, "done") {
			t.Errorf("%q", got)
		}
	})
}

func TestClientsThatDoNotReadAreCut(t *testing.T) {
	var took time.Duration
	carried(t, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		for {
			if _, err := w.Write(make([]byte, 8<<10)); err != nil {
				break
			}
		}
		took = time.Since(began)
	}, func(c net.Conn) {
		send(t, c, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
		time.Sleep(10 * writeTime)
	})
	if took < writeTime || took > 2*writeTime {
		t.Errorf("the server let go after %s", took)
	}
}

// TestStreamsMayLast: only single writes are bounded.
func TestStreamsMayLast(t *testing.T) {
	carried(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		for range 20 {
			if _, err := io.WriteString(w, "tick\n"); err != nil {
				t.Error(err)
			}
			if err := rc.Flush(); err != nil {
				t.Error(err)
			}
			time.Sleep(writeTime)
		}
	}, func(c net.Conn) {
		send(t, c, "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		n := 0
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if strings.HasSuffix(lines.Text(), "tick") {
				n++
			}
		}
		if n != 20 {
			t.Errorf("%d of 20 ticks", n)
		}
	})
}

func TestHalfAnAnswerDoesNotLookWhole(t *testing.T) {
	carried(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 64<<10))
		panic("half way")
	}, func(c net.Conn) {
		send(t, c, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Errorf("%d bytes look like all", n)
		}
	})
}
