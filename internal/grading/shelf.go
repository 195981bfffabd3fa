package grading

import (
	"context"
	"errors"

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
	return g.o.Store.Bodies().Get(ctx, key)
}

// read loads and unpacks one session.
func (g *Grader) read(ctx context.Context, s *shelf, key assay.ContentKey) (*assay.Session, assay.Hash, error) {
	g.reading <- struct{}{}
	defer func() { <-g.reading }()
	body, hash, err := g.get(ctx, s, key)
	if err != nil {
		return nil, "", err
	}
	session, err := store.DecodeBody(body)
	if err != nil {
		return nil, "", errors.Join(errUnreadable, err)
	}
	return session, hash, nil
}

// errUnreadable marks a body that is stored but cannot be unpacked: no retry helps.
var errUnreadable = errors.New("the stored session cannot be read")

// shelve begins to read what the calls that are about to be opened need.
func (l *loop) shelve() {
	var keys []assay.ContentKey
	for _, f := range l.opened {
		if f.shelf == nil && l.judges[f.item.Judge].NeedsBody() {
			keys = append(keys, f.item.Content)
		}
	}
	if len(keys) == 0 {
		return
	}
	s := l.g.newShelf(l.calls, keys)
	for i := range l.opened {
		if l.opened[i].shelf == nil {
			l.opened[i].shelf = s
		}
	}
}
