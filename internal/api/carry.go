package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// How long a client may keep the server waiting. Streams may live for ever, but every single write
// must be taken in time.
const (
	headerTime = 10 * time.Second  // to send a request's headers
	bodyTime   = 15 * time.Second  // to send a whole body, imports excepted
	uploadTime = 2 * time.Minute   // between two pieces of an import
	writeTime  = 30 * time.Second  // to take one write
	idleTime   = 120 * time.Second // between two requests
)

// HTTPServer makes the http.Server that serves h with these limits. Its Shutdown ends event streams
// and waiting requests at once; everything else is finished.
func HTTPServer(h http.Handler) *http.Server {
	closing := make(chan struct{})
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), closingKey{}, (<-chan struct{})(closing))))
		}),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    64 << 10,
	}
	srv.RegisterOnShutdown(func() { close(closing) })
	return srv
}

type closingKey struct{}

// closing is closed when the server that serves ctx shuts down; it is nil, and so never closed,
// where nothing tells.
func closing(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(closingKey{}).(<-chan struct{})
	return c
}

// carry brings requests in and answers out: media types, deadlines, the body's hash, headers that
// keep browsers from guessing, and panics as problems.
func (s *server) carry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		out := &writer{ResponseWriter: w, rc: rc}
		out.extend()
		defer out.extend() // what is still buffered is written after the handler
		h := out.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		defer s.catch(out, r)
		if r.ContentLength != 0 {
			// Also where nobody reads the body: the server then skips what is left of it.
			_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
		}
		if p := checkMedia(r); p != nil {
			writeProblem(out, p)
			return
		}
		in := &body{ReadCloser: r.Body, rc: rc, hash: sha256.New()}
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, in))
		r.Body = in
		next.ServeHTTP(out, r)
	})
}

// checkMedia refuses bodies that are not JSON: a form or plain text is what a page of another origin
// can send without asking first.
func checkMedia(r *http.Request) *Problem {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	ct := r.Header.Get("Content-Type")
	if ct == "" && r.ContentLength == 0 {
		return nil
	}
	switch media, _, err := mime.ParseMediaType(ct); {
	case err == nil && (media == "application/json" || media == ndjson):
		return nil
	default:
		p := newProblem(http.StatusUnsupportedMediaType, assay.CodeInvalid, "content type "+quote(ct)+" is not accepted")
		p.Hint = "send application/json"
		return p
	}
}

const ndjson = "application/x-ndjson"

func (s *server) catch(w *writer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	s.Log.ErrorContext(r.Context(), "request panicked", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler) // half an answer must not look whole
	}
	writeProblem(w, problemOf(assay.Errorf(assay.CodeInternal, "the server failed to answer").WithHint("its log says why")))
}

// writer gives every write its own deadline.
type writer struct {
	http.ResponseWriter
	rc    *http.ResponseController
	begun bool
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// extend ignores that some writers (in tests) have no deadline.
func (w *writer) extend() { _ = w.rc.SetWriteDeadline(time.Now().Add(writeTime)) }

func (w *writer) WriteHeader(status int) {
	if w.begun {
		return // an error about a client that left in the middle of its answer: nobody hears it
	}
	w.begun = true
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	w.begun = true
	w.extend()
	return w.ResponseWriter.Write(b)
}

// body bounds how long its sender may take and hashes what came. The deadline is taken away when all
// of it came: the server goes on reading to notice a client that left, and a deadline that passes
// there would cancel a request that waits for its run.
type body struct {
	io.ReadCloser
	rc     *http.ResponseController
	hash   hash.Hash
	stream bool // each read has its own deadline
}

func (b *body) Read(p []byte) (int, error) {
	if b.stream {
		_ = b.rc.SetReadDeadline(time.Now().Add(uploadTime))
	}
	n, err := b.ReadCloser.Read(p)
	if !b.stream {
		b.hash.Write(p[:n])
	}
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

type bodyKey struct{}

// streamBody tells the request's body that it is an upload of unknown length.
func streamBody(ctx context.Context) {
	if b, ok := ctx.Value(bodyKey{}).(*body); ok {
		b.stream = true
	}
}

// IdempotencyInput is the header of requests that may be repeated.
type IdempotencyInput struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"repeat a request with the same key and body, and it answers with the run that the first one made"`
}

// record scopes the key to the route and to the raw body; nil without a key.
func (i IdempotencyInput) record(ctx context.Context, route string) *store.Idempotency {
	b, ok := ctx.Value(bodyKey{}).(*body)
	if i.Key == "" || !ok {
		return nil
	}
	return &store.Idempotency{Route: route, Key: i.Key, BodyHash: assay.Hash(hex.EncodeToString(b.hash.Sum(nil)))}
}
