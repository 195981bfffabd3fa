// Package otlp reads traces in OTLP's JSON encoding whose spans follow OpenTelemetry's GenAI
// conventions (docs/formats/otlp.md).
//
// It owns what spans mean: which tell of a conversation, which conversation they belong to and what
// was said in it. It refuses to know other signals and other encodings. Its invariants: one session is
// built of all spans of its conversation in the file, wherever they stand; memory does not grow with
// the file (see spill).
package otlp

import (
	"cmp"
	"io"
	"maps"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"assay/internal/session/piece"
)

// Reader groups the spans of a file into sessions. It reads the whole file before the first session.
type Reader struct {
	cut      piece.Cutter
	element  bool // pieces are elements of resourceSpans, not requests
	traces   *spill
	sessions *spill
	stage    func() ([]Pending, error)
	n        int // bucket
	seq      int64
	useful   bool // a span told of a conversation
	begun    bool // a piece was read
	pending  []Pending
}

// Pending is a session, or a piece with a fault, that waits to be built.
type Pending struct {
	Size int
	Read func() piece.Record
}

// NewReader reads the pieces of cut, which are requests or, with element, elements of resourceSpans.
// dir is where spans wait that do not fit into memory.
func NewReader(cut piece.Cutter, element bool, dir string) *Reader {
	r := &Reader{cut: cut, element: element, traces: newSpill(dir, maxWaiting), sessions: newSpill(dir, maxWaiting)}
	r.stage = r.readPiece
	return r
}

// Next returns the next session or fault; io.EOF at the end.
func (r *Reader) Next() (Pending, error) {
	for len(r.pending) == 0 {
		if r.stage == nil {
			return Pending{}, io.EOF
		}
		var err error
		if r.pending, err = r.stage(); err != nil {
			return Pending{}, err
		}
	}
	p := r.pending[0]
	r.pending = r.pending[1:]
	return p, nil
}

// Close frees the temporary files.
func (r *Reader) Close() error {
	r.traces.close()
	r.sessions.close()
	return nil
}

// readPiece is the first stage: spans wait by trace.
func (r *Reader) readPiece() ([]Pending, error) {
	p, err := r.cut.Next()
	if err == io.EOF {
		r.stage, r.n = r.joinTraces, 0
		if r.begun && !r.useful {
			return nothing(), nil
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var spans []span
	record := p.Read(func(raw []byte) piece.Record {
		var fault *piece.Fault
		spans, fault = parse(raw, r.element)
		return piece.Record{Fault: fault}
	})
	if record.Fault != nil {
		return []Pending{{len(record.Excerpt), func() piece.Record { return record }}}, nil
	}
	r.begun = true
	for i := range spans {
		s := &spans[i]
		s.Line, s.Seq = p.Line, r.seq
		r.seq++
		r.useful = r.useful || s.Kind != other
		if s.Trace == "" {
			s.Trace = cmp.Or(s.Conversation, "none")
		}
		if err := put(r.traces, s.Trace, s); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// nothing tells of a file without one conversation: silence would pass for success.
func nothing() []Pending {
	fault := piece.Faultf("", "no span of this file tells of a conversation: none has gen_ai attributes. Is the instrumentation told to capture message content?")
	return []Pending{{0, func() piece.Record { return piece.Record{Line: 1, Fault: fault} }}}
}

func put(to *spill, key string, s *span) error {
	b, err := jsonv2.Marshal(s)
	if err != nil {
		return err
	}
	return to.add(key, b)
}

func take(from *spill, n int) ([]span, error) {
	records, err := from.take(n)
	if err != nil {
		return nil, err
	}
	spans := make([]span, len(records))
	for i := range records {
		if err := jsonv2.Unmarshal(records[i], &spans[i], lenient); err != nil {
			return nil, err
		}
		records[i] = nil
	}
	return spans, nil
}

// joinTraces is the second stage, bucket by bucket: only some spans of a trace name its user and its
// conversation.
func (r *Reader) joinTraces() ([]Pending, error) {
	if r.n == buckets {
		r.stage, r.n = r.joinSessions, 0
		return nil, nil
	}
	spans, err := take(r.traces, r.n)
	r.n++
	if err != nil {
		return nil, err
	}
	for _, trace := range group(spans, func(s *span) string { return s.Trace }) {
		join(trace)
		for i := range trace {
			if err := put(r.sessions, trace[i].key(), &trace[i]); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// key is what spans of one session share: two users may have a conversation of the same name.
func (s *span) key() string { return s.User + "\x00" + s.Conversation }

// join gives every span of a trace its user and its conversation: its own, else its nearest
// ancestor's, else the only one that the trace names, else the trace itself.
func join(trace []span) {
	at := make(map[string]*span, len(trace))
	named := map[string]bool{}
	user := ""
	for i := range trace {
		s := &trace[i]
		at[s.ID] = s
		user = cmp.Or(user, s.User)
		if s.Conversation != "" {
			named[s.Conversation] = true
		}
	}
	whole := trace[0].Trace
	if len(named) == 1 {
		whole = slices.Collect(maps.Keys(named))[0]
	}
	conversations := make([]string, len(trace))
	for i := range trace {
		s := &trace[i]
		for n := 0; s != nil && s.Conversation == "" && n < maxAncestors; n++ {
			s = at[s.Parent]
		}
		if s != nil {
			conversations[i] = s.Conversation
		}
	}
	for i := range trace {
		trace[i].Conversation = cmp.Or(conversations[i], whole)
		trace[i].User = cmp.Or(trace[i].User, user)
	}
}

const maxAncestors = 100 // parents of broken exports may form a ring

// joinSessions is the third stage: the conversations of a bucket, in the file's order.
func (r *Reader) joinSessions() ([]Pending, error) {
	if r.n == buckets {
		r.stage = nil
		return nil, nil
	}
	spans, err := take(r.sessions, r.n)
	r.n++
	if err != nil {
		return nil, err
	}
	var out []Pending
	for _, spans := range group(spans, (*span).key) {
		if !slices.ContainsFunc(spans, func(s span) bool { return s.Kind != other }) {
			continue
		}
		out = append(out, Pending{size(spans), func() piece.Record {
			record := build(spans)
			return piece.Piece{Line: record.Line}.Read(func([]byte) piece.Record { return record })
		}})
	}
	return out, nil
}

// group gathers spans by key, groups in order of their first span.
func group(spans []span, key func(*span) string) [][]span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.Seq, b.Seq) })
	at := map[string]int{}
	var groups [][]span
	for i := range spans {
		k := key(&spans[i])
		n, ok := at[k]
		if !ok {
			n = len(groups)
			at[k] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], spans[i])
	}
	return groups
}

func size(spans []span) (n int) {
	for i := range spans {
		n += 500
		for _, m := range slices.Concat(spans[i].Input, spans[i].Output) {
			n += len(m.Content)
		}
	}
	return n
}
