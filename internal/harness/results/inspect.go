package results

import (
	"io"
	"strings"

	"github.com/tidwall/gjson"
)

// eval is what an Inspect log says outside its samples.
type eval struct {
	task, model string
	correct     map[string]bool // scorers of which accuracy is a metric: 1 is correct and 0 incorrect
	status      string
	failure     string // why it broke off
	known       bool   // it has what every log has
	said        int64  // samples that it counts as completed; -1: it does not count
	noSamples   bool   // it holds no list of samples
}

var (
	wantEval = want{"task": nil, "model": nil,
		"scorers": want{"name": nil, "metrics": nil}}
	wantResults = want{"completed_samples": nil, "total_samples": nil,
		"scorer": want{"name": nil}, "metrics": want{"*": want{}},
		"scores": want{"name": nil, "scorer": nil, "metrics": want{"*": want{}}}}
	wantError = want{"message": nil, "traceback": nil}
)

func readInspect(r io.ReaderAt, size int64, o *out) error {
	var start [4]byte
	if n, _ := r.ReadAt(start[:], 0); n == 4 && string(start[:2]) == "PK" {
		return readInspectZip(r, size, o)
	}
	return readInspectJSON(r, size, o)
}

// readInspectJSON reads a log that is one JSON document: what stands before the samples says how they are
// read, so it is looked at first.
func readInspectJSON(r io.ReaderAt, size int64, o *out) error {
	e := newEval()
	e.look(whole(r, size, aside(o)))
	e.failure, e.said = "", -1
	d := whole(r, size, o)
	if d.PeekKind() != '{' {
		if _, err := d.ReadToken(); err != nil {
			d.broken(err)
		} else {
			o.faults.add("", "it is no JSON object: it is not an Inspect log")
		}
		return nil
	}
	given := o.given
	err := e.members(d, func() error { return d.array(func() error { return sample(d, e, o) }) })
	if fatal(err) {
		return err
	}
	if err == nil {
		err = d.end()
	}
	if err != nil {
		d.broken(err)
		return nil
	}
	e.ends(o, o.given-given)
	return nil
}

func newEval() *eval { return &eval{correct: map[string]bool{}, said: -1, noSamples: true} }

// look reads the log's own members, up to the samples where all that they need is known by then.
func (e *eval) look(d *document) {
	if d.PeekKind() != '{' {
		return
	}
	_ = e.members(d, func() error { // what is wrong is told by the second reading
		if e.known {
			return errEnough
		}
		return d.SkipValue()
	})
}

// members reads the members of a log, and calls samples where its samples are next.
func (e *eval) members(d *document, samples func() error) error {
	return d.object(func(name string) error {
		if name == "samples" && d.PeekKind() == '[' {
			e.noSamples = false
			return samples()
		}
		w, wanted := map[string]want{"status": nil, "eval": wantEval, "results": wantResults, "error": wantError}[name]
		if !wanted {
			return d.SkipValue()
		}
		raw, _, err := d.keep(w)
		if err != nil {
			return err
		}
		e.member(name, gjson.ParseBytes(raw))
		return nil
	})
}

func (e *eval) member(name string, v gjson.Result) {
	switch name {
	case "status":
		e.status = v.String()
	case "error":
		e.failure = v.Get("message").String()
	case "eval":
		e.known = v.Get("task").Exists()
		e.task, e.model = v.Get("task").String(), v.Get("model").String()
		for _, s := range v.Get("scorers").Array() {
			if strings.Contains(s.Get("metrics").Raw, `accuracy"`) {
				e.correct[s.Get("name").String()] = true
			}
		}
	case "results":
		if n := v.Get("completed_samples"); n.Type == gjson.Number {
			e.said = n.Int()
		}
		for _, s := range append(v.Get("scores").Array(), v) { // the oldest logs have one scorer, in results itself
			if s.Get("metrics.accuracy").Exists() {
				e.correct[s.Get("name").String()] = true
				e.correct[s.Get("scorer").String()] = true
				e.correct[s.Get("scorer.name").String()] = true
			}
		}
	}
}

// ends tells what the log itself says was wrong, and what is missing.
func (e *eval) ends(o *out, given int64) {
	switch {
	case !e.known:
		o.faults.add("", "it has no eval with a task: it is not an Inspect log")
		return
	case e.status == "error":
		o.faults.add("", "the evaluation broke off with an error: %s", orUnsaid(e.failure))
	case e.status == "cancelled":
		o.faults.add("", "the evaluation was cancelled")
	case e.status == "started":
		o.faults.add("", "the evaluation did not end: was the harness killed?")
	case e.noSamples:
		o.faults.add("", "it holds no samples, only sums: write the log with its samples")
	}
	if e.said > given {
		o.faults.add("", "it counts %d completed samples, and %d could be read", e.said, given)
	}
}

func orUnsaid(s string) string {
	if s == "" {
		return "it does not say which"
	}
	return s
}

// sample reads the sample that comes next.
func sample(d *document, e *eval, o *out) error {
	raw, lost, err := d.keep(wantSample)
	if err != nil {
		return err
	}
	v := gjson.ParseBytes(raw)
	if !v.IsObject() || !v.Get("id").Exists() {
		d.fault(d.StackPointer(), "a sample has no id")
		return nil
	}
	c := e.read(v)
	if lost {
		c.Cut = append(c.Cut, "sample")
	}
	return o.give(c)
}
