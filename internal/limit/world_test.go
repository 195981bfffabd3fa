package limit

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"
)

// world is a simulation in virtual time: event loops that ask a limiter, and a provider that counts.
type world struct {
	rng    *rand.Rand
	clock  time.Time
	queue  events
	seq    int
	reg    *Registry
	limit  *Limiter
	loops  []*loop
	server *server
}

type event struct {
	at  time.Time
	seq int
	do  func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	if !q[i].at.Equal(q[j].at) {
		return q[i].at.Before(q[j].at)
	}
	return q[i].seq < q[j].seq
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

var simBegan = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var simKey = Key{"https://api.example.com/v1", "m"}

func newWorld(seed uint64, s *server) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), clock: simBegan, server: s}
	s.w, s.level, s.at = w, s.depth, simBegan
	w.reg = New(func() time.Time { return w.clock })
	w.limit = w.reg.For(simKey)
	return w
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.clock.Add(max(d, 0)), w.seq, do})
}

// run carries on until the time since the beginning.
func (w *world) run(until time.Duration) {
	end := simBegan.Add(until)
	for len(w.queue) > 0 && !w.queue[0].at.After(end) {
		e := heap.Pop(&w.queue).(event)
		w.clock = e.at
		e.do()
		for _, l := range w.loops {
			l.listen()
		}
	}
	w.clock = end
}

func (w *world) since() time.Duration { return w.clock.Sub(simBegan) }

func (w *world) jitter(d time.Duration, by float64) time.Duration {
	return time.Duration(float64(d) * (1 + by*(2*w.rng.Float64()-1)))
}

// loop asks as a run's event loop does: in batches, which leave after a commit.
type loop struct {
	w      *world
	share  *Share
	most   int           // in flight
	commit time.Duration // from permit to departure
	react  time.Duration // from signal to asking
	tokens int64
	weight func() int64 // what calls really weigh
	work   int          // calls left to make; negative: endless

	inFlight int
	calls    []time.Duration // when calls left
	awake    bool
	timer    int
}

func (w *world) loop(l *loop) *loop {
	l.w = w
	l.share = w.limit.Join("run")
	if l.react == 0 {
		l.react = time.Millisecond
	}
	if l.work == 0 {
		l.work = -1
	}
	w.loops = append(w.loops, l)
	l.wake()
	return l
}

func (l *loop) listen() {
	if l.awake {
		return
	}
	select {
	case <-l.share.C():
		l.wake()
	default:
	}
}

func (l *loop) wake() {
	if l.awake {
		return
	}
	l.awake = true
	l.w.after(l.react, l.fill)
}

func (l *loop) fill() {
	l.awake = false
	l.timer++
	for l.inFlight < l.most && l.work != 0 {
		p, ok := l.share.TryTake(l.tokens)
		if !ok {
			at, _ := l.share.Wait()
			timer := l.timer
			l.w.after(at.Sub(l.w.clock), func() {
				if l.timer == timer {
					l.wake()
				}
			})
			return
		}
		l.inFlight++
		l.work--
		l.w.after(l.commit, func() {
			l.calls = append(l.calls, l.w.since())
			tokens := l.tokens
			if l.weight != nil {
				tokens = l.weight()
			}
			l.w.server.call(tokens, func(o Outcome) {
				p.Done(o)
				l.inFlight--
				l.wake()
			})
		})
	}
}

// between counts the calls that left in [from, to).
func (l *loop) between(from, to time.Duration) int {
	n := 0
	for _, at := range l.calls {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

type span struct{ from, to time.Duration }

// server is a provider that counts: a token bucket of calls, and calls in flight.
type server struct {
	w       *world
	rate    float64
	depth   float64
	most    int // in flight; 0: any
	latency time.Duration
	jitter  float64
	slowNo  bool // a 429 takes as long as an answer
	style   string
	sick    func() Kind // overrides answers
	tells   bool        // its limit, by headers

	level    float64
	at       time.Time
	inFlight int
	peak     int
	accepted []time.Duration
	refused  []time.Duration
	arrived  []time.Duration
	quiet    []span // after answers with Retry-After
}

func (s *server) fill() {
	s.level = min(s.level+s.rate*s.w.clock.Sub(s.at).Seconds(), s.depth)
	s.at = s.w.clock
}

func (s *server) call(tokens int64, done func(Outcome)) {
	s.fill()
	s.arrived = append(s.arrived, s.w.since())
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
	end := func(after time.Duration, o Outcome) {
		s.w.after(after, func() { s.inFlight--; done(o) })
	}
	if s.sick != nil {
		if k := s.sick(); k != Aborted {
			end(s.w.jitter(50*time.Millisecond, 0.3), Outcome{Kind: k, Message: k.String()})
			return
		}
	}
	if s.level < 1 || s.most > 0 && s.inFlight > s.most {
		s.refused = append(s.refused, s.w.since())
		o := Outcome{Kind: Limited}
		switch s.style {
		case "ms":
			o.RetryAfter = time.Duration(math.Ceil((1-s.level)/s.rate*1000)) * time.Millisecond
		case "1s":
			o.RetryAfter = time.Second
		}
		after := min(s.latency, 80*time.Millisecond)
		if s.slowNo {
			after = s.latency
		}
		after = s.w.jitter(after, 0.3)
		if o.RetryAfter > 0 {
			from := s.w.since() + after
			s.w.after(after, func() { s.quiet = append(s.quiet, span{from, from + o.RetryAfter}) })
		}
		end(after, o)
		return
	}
	s.level--
	s.accepted = append(s.accepted, s.w.since())
	o := Outcome{Kind: Answered, Tokens: tokens}
	if s.tells {
		left := math.Floor(s.level)
		full := time.Duration((s.depth - s.level) / s.rate * float64(time.Second))
		o.Told = Told{LimitRequests: s.rate, RemainingRequests: &left, ResetRequests: full, Window: time.Second}
	}
	end(s.w.jitter(s.latency, s.jitter), o)
}

func count(times []time.Duration, from, to time.Duration) int {
	n := 0
	for _, at := range times {
		if at >= from && at < to {
			n++
		}
	}
	return n
}
