// Package llmtest is a scripted server that speaks Chat Completions, Responses and Messages over real
// HTTP, each on its real path, with the failures that real servers have. Tests and end-to-end runs use
// it in place of a model.
//
// It owns the server side of the protocols, what each provider says when it fails (Faults), and the record of what arrived. It refuses to know verdict
// rules: a script decides, per request, what is answered. Its invariant: every request is recorded
// with when it arrived and when it was done, whatever became of it.
package llmtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Script decides what one request gets. It is called concurrently.
type Script func(*Request) Step

// Server is a running endpoint. Its methods are safe for concurrent use.
type Server struct {
	BaseURL string // for a judge's base_url; ends in /v1

	http     *http.Server
	closing  context.CancelFunc
	done     chan struct{}
	script   atomic.Pointer[Script]
	latency  atomic.Int64
	inFlight atomic.Int64
	most     atomic.Int64
	count    atomic.Int64

	mu      sync.Mutex
	records []Record
}

// Record is one request that arrived.
type Record struct {
	N        int64 // from 1, in order of arrival
	Arrived  time.Time
	Finished time.Time // zero while it is in flight
	InFlight int64     // with this one, at arrival
	Token    string    // of the question: equal for the attempts of one item
	Repeated bool      // it asks again after an unreadable answer
	Status   int       // that was sent; 0 for a hang or a cut connection
}

// Start listens on loopback. The caller closes the server.
func Start(script Script) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{BaseURL: "http://" + listener.Addr().String() + "/v1", closing: cancel, done: make(chan struct{})}
	s.SetScript(script)
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // ErrServerClosed
	}()
	return s, nil
}

// TB is the part of testing.TB that New needs.
type TB interface {
	Helper()
	Fatal(...any)
	Cleanup(func())
}

// New starts a server that ends with the test.
func New(t TB, script Script) *Server {
	t.Helper()
	s, err := Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Close ends the server and what is in flight.
func (s *Server) Close() {
	s.closing()
	_ = s.http.Close()
	<-s.done
}

// SetScript changes what later requests get.
func (s *Server) SetScript(script Script) { s.script.Store(&script) }

// SetLatency is how long every answer takes, beside what its step asks for.
func (s *Server) SetLatency(d time.Duration) { s.latency.Store(int64(d)) }

// MaxInFlight is the most requests that were in flight at one time.
func (s *Server) MaxInFlight() int { return int(s.most.Load()) }

// InFlight is how many requests are in flight now.
func (s *Server) InFlight() int { return int(s.inFlight.Load()) }

// Count is how many requests arrived.
func (s *Server) Count() int { return int(s.count.Load()) }

// Records returns all requests in order of arrival.
func (s *Server) Records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Record(nil), s.records...)
}

// Reset forgets what arrived so far; requests in flight stay counted as such.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = nil
	s.count.Store(0)
	s.most.Store(s.inFlight.Load())
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	now := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	record := Record{Arrived: time.Now(), InFlight: now}
	body, err := io.ReadAll(r.Body)
	q := &Request{Body: body, Header: r.Header, Path: r.URL.Path}
	record.Token, record.Repeated = q.Token(), q.Repeated()
	at, status := s.arrived(&record), 0
	defer func() { s.finished(at, status) }() // also when the step aborts the connection
	if err != nil {
		return
	}
	q.N = record.N
	step := notFound
	if q.API() != "" && r.Method == http.MethodPost {
		step = (*s.script.Load())(q)
	}
	status = step.play(w, r, q, time.Duration(s.latency.Load()))
}

var notFound = Status(http.StatusNotFound, `{"detail":"Not Found"}`)

func (s *Server) arrived(r *Record) (at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.N = s.count.Add(1)
	s.records = append(s.records, *r)
	return len(s.records) - 1
}

func (s *Server) finished(at, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at < len(s.records) {
		s.records[at].Finished, s.records[at].Status = time.Now(), status
	}
}
