package grading

import (
	"context"
	"errors"
	"sync"

	"assay/internal/assay"
	"assay/internal/store"
)

// shelfBytes bounds what one shelf reads ahead; a call whose body did not fit reads it by itself.
const shelfBytes = 32 << 20

// shelf reads the bodies of a group of calls in one query, while the commit that opens them goes on:
// hundreds of reads one by one would cost more than the calls.
type shelf struct {
	ready  chan struct{}
	bodies map[assay.ContentKey]store.Body
}

// newShelf begins to read.
func (g *Grader) newShelf(ctx context.Context, keys []assay.ContentKey) *shelf {
	s := &shelf{ready: make(chan struct{})}
	go func() {
		defer close(s.ready)
		// An error leaves the shelf empty: each call then reads its own body and meets the error itself.
		s.bodies, _ = g.o.Store.Bodies().Load(ctx, keys, shelfBytes)
	}()
	return s
}

// get returns a compressed body, from the shelf when it is there.
func (g *Grader) get(ctx context.Context, s *shelf, key assay.ContentKey) ([]byte, assay.Hash, error) {
	if s != nil {
		<-s.ready
		if body, ok := s.bodies[key]; ok {
			return body.Text, body.Hash, nil
		}
	}
	g.reading <- struct{}{}
	defer func() { <-g.reading }()
	return g.o.Store.Bodies().Get(ctx, key)
}

// read loads and unpacks one session. While it is held, its memory counts; release gives that back and
// may be called twice.
func (g *Grader) read(ctx context.Context, s *shelf, key assay.ContentKey) (_ *assay.Session, _ assay.Hash, release func(), err error) {
	body, hash, err := g.get(ctx, s, key)
	if err != nil {
		return nil, "", nil, err
	}
	weight := min(unpacked*store.BodySize(body), g.o.Memory)
	if err := g.memory.Acquire(ctx, weight); err != nil {
		return nil, "", nil, err
	}
	release = sync.OnceFunc(func() { g.memory.Release(weight) })
	g.reading <- struct{}{}
	defer func() { <-g.reading }()
	session, err := store.DecodeBody(body)
	if err != nil {
		release()
		return nil, "", nil, errors.Join(errUnreadable, err)
	}
	return session, hash, release, nil
}

// unpacked is how many bytes a session in hand takes per byte of its canonical JSON: the JSON itself,
// the session's texts, the prompt and the request's body.
const unpacked = 4

// errUnreadable marks a body that is stored but cannot be unpacked: no retry helps.
var errUnreadable = errors.New("the stored session cannot be read")

// shelve begins to read what some flights need that have no draft yet.
func (l *loop) shelve(flights []flight) {
	var keys []assay.ContentKey
	for _, f := range flights {
		if f.shelf == nil && f.draft.Send == nil && l.judges[f.item.Judge].NeedsBody() {
			keys = append(keys, f.item.Content)
		}
	}
	if len(keys) == 0 {
		return
	}
	s := l.g.newShelf(l.reading, keys)
	for i := range flights {
		if f := &flights[i]; f.shelf == nil && f.draft.Send == nil {
			f.shelf = s
		}
	}
}
