package extract

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"assay/internal/assay"
)

// encode writes what an extract has beside its judge, column by column, compressed; the frame carries a checksum.
func encode(e *Extract) ([]byte, error) {
	var w writer
	w.dictionary(e.Users)
	w.dictionary(e.Cases)
	w.dictionary(e.Agents)
	w.dictionary(e.Sources)
	w.rows(e.Rows)
	w.number(int64(len(e.Columns)))
	for i := range e.Columns {
		w.column(&e.Columns[i])
	}
	w.fails(e.Fails)
	for _, t := range [...]Times{e.Calls.Queue, e.Calls.Backoff, e.Calls.Permit, e.Calls.Call} {
		w.numbers(t.N, int64(t.P50), int64(t.P95), int64(t.Most), int64(t.Sum))
	}
	w.number(e.Calls.Failed)
	w.number(int64(len(e.Spent)))
	for _, s := range e.Spent {
		u := s.Usage
		w.numbers(s.Attempts, s.Unknown, s.Late, flag(u.Known), u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning,
			int64(s.Cost), int64(s.Held), s.HeldN, s.Unpriced, s.Unmetered)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "compress an extract: %w", err)
	}
	defer z.Close()
	return z.EncodeAll(w.out, nil), nil
}

// longestKept bounds what a kept extract may unpack to: that of fifty million rows.
const longestKept = 2 << 30

var errKept = errors.New("not a kept extract")

// decode fills in what encode wrote. Whatever cannot be read is an error, and the extract is made anew.
func decode(kept []byte, e *Extract) (err error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(longestKept))
	if err != nil {
		return err
	}
	defer z.Close()
	raw, err := z.DecodeAll(kept, nil)
	if err != nil {
		return err
	}
	r := &reader{in: raw}
	out := Extract{Judge: e.Judge, Version: e.Version}
	out.Users, out.Cases, out.Agents, out.Sources = r.dictionary(), r.dictionary(), r.dictionary(), r.dictionary()
	out.Rows = r.rows()
	empty := newAssembly(&Extract{Version: e.Version}).extract.Columns
	if n := r.number(); n != int64(len(empty)) {
		return errKept
	}
	for i := range empty {
		r.column(&empty[i], len(out.Rows))
	}
	out.Columns = empty
	out.Fails = r.fails()
	for _, t := range [...]*Times{&out.Calls.Queue, &out.Calls.Backoff, &out.Calls.Permit, &out.Calls.Call} {
		*t = Times{N: r.number(), P50: r.duration(), P95: r.duration(), Most: r.duration(), Sum: r.duration()}
	}
	out.Calls.Failed = r.number()
	for range r.count() {
		out.Spent = append(out.Spent, assay.Spend{Attempts: r.number(), Unknown: r.number(), Late: r.number(),
			Usage: assay.Usage{Known: r.number() == 1, Input: r.number(), Cached: r.number(), CacheWrite: r.number(), Output: r.number(), Reasoning: r.number()},
			Cost:  assay.USD(r.number()), Held: assay.USD(r.number()), HeldN: r.number(), Unpriced: r.number(), Unmetered: r.number()})
	}
	if r.broken || len(r.in) > 0 || !out.fits() {
		return errKept
	}
	*e = out
	return nil
}

// fits says whether every number that stands for a name has one.
func (e *Extract) fits() bool {
	for i := range e.Rows {
		r := &e.Rows[i]
		if int(r.User) >= len(e.Users) || int(r.Case) >= len(e.Cases) || int(r.Agent) >= len(e.Agents) || int(r.Source) >= len(e.Sources) ||
			r.User < 0 || r.Case < -1 || r.Agent < 0 || r.Source < 0 || r.Stratum < 0 {
			return false
		}
	}
	for _, f := range e.Fails {
		for _, x := range f.Examples {
			if x.Row < 0 || int(x.Row) >= len(e.Rows) {
				return false
			}
		}
	}
	return true
}

// writer appends to bytes: numbers as variable-length integers, texts with their length before them.
type writer struct{ out []byte }

func (w *writer) number(n int64) { w.out = binary.AppendVarint(w.out, n) }

func (w *writer) numbers(list ...int64) {
	for _, n := range list {
		w.number(n)
	}
}

func (w *writer) text(s string) {
	w.number(int64(len(s)))
	w.out = append(w.out, s...)
}

func (w *writer) dictionary(list []string) {
	w.number(int64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

// rows writes column after column, what grows as steps.
func (w *writer) rows(rows []Row) {
	var states names
	var words []string
	states.list = &words
	w.number(int64(len(rows)))
	for _, of := range [...]func(*Row) int64{
		func(r *Row) int64 { return int64(states.number(string(r.State) + "\x00" + string(r.Class))) },
		func(r *Row) int64 { return flag(r.Reused) + 2*flag(r.Cut) },
		func(r *Row) int64 { return int64(r.Stratum) },
		func(r *Row) int64 { return int64(r.User) },
		func(r *Row) int64 { return int64(r.Case) },
		func(r *Row) int64 { return int64(r.Agent) },
		func(r *Row) int64 { return int64(r.Source) },
		func(r *Row) int64 { return int64(r.Run) },
	} {
		for i := range rows {
			w.number(of(&rows[i]))
		}
	}
	var content, session, seq int64
	for i := range rows {
		w.numbers(int64(rows[i].Content)-content, int64(rows[i].Session)-session, rows[i].Seq-seq)
		content, session, seq = int64(rows[i].Content), int64(rows[i].Session), rows[i].Seq
	}
	w.dictionary(words)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (w *writer) column(c *Column) {
	w.dictionary(c.Values)
	w.numbers(c.Quoted, c.Unverified)
	for _, a := range c.Answers {
		w.number(int64(a))
	}
	for _, x := range c.Numbers {
		w.out = binary.LittleEndian.AppendUint64(w.out, math.Float64bits(x))
	}
}

func (w *writer) fails(list []Fails) {
	w.number(int64(len(list)))
	for _, f := range list {
		w.text(f.Criterion)
		w.numbers(f.N, int64(len(f.Types)), int64(len(f.Reasons)), int64(len(f.Examples)))
		for _, r := range slices.Concat(f.Types, f.Reasons) {
			w.text(r.Text)
			w.number(r.N)
		}
		for _, x := range f.Examples {
			w.text(x.Reason)
			w.number(int64(x.Row))
		}
	}
}

// reader takes from the front of bytes. After the first thing that is not there everything is zero.
type reader struct {
	in     []byte
	broken bool
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.in)
	if size <= 0 || r.broken {
		r.broken, r.in = true, nil
		return 0
	}
	r.in = r.in[size:]
	return n
}

func (r *reader) duration() time.Duration { return time.Duration(r.number()) }

// count reads how many things follow, each of a byte at least.
func (r *reader) count() int {
	n := r.number()
	if n < 0 || n > int64(len(r.in)) {
		r.broken, r.in = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.in[:n])
	r.in = r.in[n:]
	return s
}

func (r *reader) dictionary() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *reader) rows() []Row {
	rows := make([]Row, r.count())
	words := make([]int64, len(rows))
	for i := range words {
		words[i] = r.number()
	}
	for _, set := range [...]func(*Row, int64){
		func(row *Row, n int64) { row.Reused, row.Cut = n&1 != 0, n&2 != 0 },
		func(row *Row, n int64) { row.Stratum = int32(n) },
		func(row *Row, n int64) { row.User = int32(n) },
		func(row *Row, n int64) { row.Case = int32(n) },
		func(row *Row, n int64) { row.Agent = int32(n) },
		func(row *Row, n int64) { row.Source = int32(n) },
		func(row *Row, n int64) { row.Run = assay.RunID(n) },
	} {
		for i := range rows {
			set(&rows[i], r.number())
		}
	}
	var content, session, seq int64
	for i := range rows {
		content, session, seq = content+r.number(), session+r.number(), seq+r.number()
		rows[i].Content, rows[i].Session, rows[i].Seq = assay.ContentKey(content), assay.SessionKey(session), seq
	}
	r.states(rows, words)
	return rows
}

// states gives rows the state and class that their word names.
func (r *reader) states(rows []Row, words []int64) {
	type state struct {
		state assay.ItemState
		class assay.Class
	}
	var states []state
	for _, s := range r.dictionary() {
		for i := range len(s) {
			if s[i] == 0 {
				states = append(states, state{assay.ItemState(s[:i]), assay.Class(s[i+1:])})
				break
			}
		}
	}
	for i, n := range words {
		if n < 0 || n >= int64(len(states)) {
			r.broken = true
			return
		}
		rows[i].State, rows[i].Class = states[n].state, states[n].class
	}
}

func (r *reader) column(c *Column, rows int) {
	c.Values = r.dictionary()
	c.Quoted, c.Unverified = r.number(), r.number()
	c.Answers = make([]Answer, rows)
	for i := range c.Answers {
		c.Answers[i] = Answer(r.number())
	}
	if c.Criterion.Type != assay.Number {
		return
	}
	if len(r.in) < 8*rows {
		r.broken, r.in = true, nil
		return
	}
	c.Numbers = make([]float64, rows)
	for i := range c.Numbers {
		c.Numbers[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.in[8*i:]))
	}
	r.in = r.in[8*rows:]
}

func (r *reader) fails() (list []Fails) {
	for range r.count() {
		f := Fails{Criterion: r.text(), N: r.number()}
		types, reasons, examples := r.count(), r.count(), r.count()
		for range types {
			f.Types = append(f.Types, Reason{Text: r.text(), N: r.number()})
		}
		for range reasons {
			f.Reasons = append(f.Reasons, Reason{Text: r.text(), N: r.number()})
		}
		for range examples {
			f.Examples = append(f.Examples, Example{Reason: r.text(), Row: int32(r.number())})
		}
		list = append(list, f)
	}
	return list
}
