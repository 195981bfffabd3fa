package grading

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
)

// provider plays a model's provider and the judge that asks it. It keeps books of its own: what it
// bills is the truth that budgets are measured against.
type provider struct {
	key assay.ModelKey

	mu     sync.Mutex
	price  *assay.Price
	peak   assay.USD // the most that a call could cost at any time
	billed assay.USD
	calls  int
	answer func(ctx context.Context, nth int) (judge.Reply, assay.Usage)

	input, output int64 // the most that a call can weigh
	flying, most  atomic.Int64
}

func (p *provider) NeedsBody() bool       { return true }
func (p *provider) Close() error          { return nil }
func (p *provider) Model() assay.ModelKey { return p.key }
func (p *provider) Provider() string      { return "" }

func (p *provider) Ask(ctx context.Context, q judge.Question) judge.Reply {
	return p.Draft(q).Send(ctx)
}

func (p *provider) Draft(q judge.Question) judge.Draft {
	return judge.Draft{
		Load: judge.Load{Input: p.input, InputMost: 4 * p.input, OutputMost: p.output, Count: func() (int64, int64, bool) {
			return p.input, p.input, true
		}},
		Seen: judge.Seen{Hash: "0123", Text: "hello"}, Asked: 1,
		Send: p.send,
	}
}

func (p *provider) send(ctx context.Context) judge.Reply {
	n := p.flying.Add(1)
	defer p.flying.Add(-1)
	for most := p.most.Load(); n > most && !p.most.CompareAndSwap(most, n); most = p.most.Load() {
	}
	p.mu.Lock()
	p.calls++
	nth, price, answer := p.calls, p.price, p.answer
	p.mu.Unlock()
	began := utcNow()
	reply, used := passing(), assay.Usage{Known: true, Input: p.input, Output: p.output}
	reply.Usage = used
	if answer != nil {
		reply, used = answer(ctx, nth)
	}
	if price != nil && used.Known {
		p.mu.Lock()
		p.billed += *price.Cost(used)
		p.mu.Unlock()
	}
	reply.CallAt, reply.EndedAt = began, utcNow()
	return reply
}

func (p *provider) bill() (assay.USD, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.billed, p.calls
}

func (p *provider) set(price *assay.Price) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.price = price
	p.peak = max(p.peak, price.Worst(p.input, p.output))
}

func (p *provider) dearest() assay.USD {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peak
}

// now is what the book says of the price: what the provider asks for at this moment.
func (p *provider) now(string, assay.ModelKey) *assay.Price {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.price
}

// serve makes the world's judges ask p.
func (w *world) serve(p *provider) {
	w.grader.o.Build = func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return p, nil }
	w.grader.o.Price = p.now
}

// moody answers as real providers do on a bad day: r decides. What it bills is told in the usage, or
// is not told at all.
func (p *provider) moody(r *rand.Rand) func(context.Context, int) (judge.Reply, assay.Usage) {
	var mu sync.Mutex
	draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return r.IntN(n) }
	return func(ctx context.Context, _ int) (judge.Reply, assay.Usage) {
		used := assay.Usage{Known: true, Input: 1 + int64(draw(int(p.input))), Output: int64(draw(int(p.output) + 1))}
		used.Cached = int64(draw(int(used.Input) + 1))
		select {
		case <-ctx.Done():
			return failing(assay.ClassAborted), used // it was thinking all the same
		case <-time.After(time.Duration(draw(3000)) * time.Millisecond):
		}
		reply := passing()
		mood := draw(12)
		if mood == 0 {
			mood = 2 * draw(4) // a limiter that learns from 429s by chance learns to crawl
		}
		switch mood {
		case 0:
			reply = failing(assay.ClassRateLimited)
			reply.HTTPStatus, reply.RetryAfter = 429, time.Duration(draw(2000))*time.Millisecond
			return reply, assay.Usage{}
		case 1:
			reply = failing(assay.ClassProviderError)
			reply.HTTPStatus = 503
			return reply, assay.Usage{}
		case 2:
			return failing(assay.ClassTimeout), used // billed, and nobody is told
		case 3:
			return failing(assay.ClassNetwork), used
		case 4:
			reply = failing(assay.ClassMalformed)
		case 5:
			reply = failing(assay.ClassTruncated)
		case 6:
			reply.Usage = assay.Usage{} // a server that reports no usage
			return reply, used
		}
		reply.HTTPStatus, reply.Usage = 200, used
		return reply, used
	}
}
