package limit

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Registry holds the limiters of a process, one per model. It is safe for concurrent use.
type Registry struct {
	now func() time.Time

	mu       sync.Mutex
	limiters map[Key]*Limiter
}

// New makes a registry whose limiters read the time from now, which must not run backwards.
func New(now func() time.Time) *Registry {
	return &Registry{now: now, limiters: map[Key]*Limiter{}}
}

// For returns the limiter of a model, always the same one.
func (r *Registry) For(k Key) *Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limiters[k]
	if l == nil {
		l = newLimiter(k, r.now)
		r.limiters[k] = l
	}
	return l
}

// Set puts limits in place of those that were set. It may be called at any time: lower ones hold for
// the next call, higher ones wake those who wait.
func (r *Registry) Set(k Key, limits Limits) { r.For(k).set(limits) }

// States are those of all limiters, in the order of their keys.
func (r *Registry) States() []State {
	r.mu.Lock()
	limiters := make([]*Limiter, 0, len(r.limiters))
	for _, l := range r.limiters {
		limiters = append(limiters, l)
	}
	r.mu.Unlock()
	slices.SortFunc(limiters, func(a, b *Limiter) int {
		return cmp.Or(cmp.Compare(a.key.Endpoint, b.key.Endpoint), cmp.Compare(a.key.Model, b.key.Model))
	})
	states := make([]State, len(limiters))
	for i, l := range limiters {
		states[i] = l.State()
	}
	return states
}
