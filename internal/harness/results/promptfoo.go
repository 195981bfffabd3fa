package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// firstVersion of promptfoo's summary that is read: older ones have a table in place of results.
const firstVersion = 3

// component is what is kept of an assertion's result; an assert-set holds those of its own.
var component = want{"pass": nil, "score": nil, "reason": nil,
	"assertion": want{"type": nil, "metric": nil, "value": nil}}

var wantPromptfoo = want{
	"success": nil, "score": nil, "failureReason": nil, "error": nil, "latencyMs": nil, "cost": nil, "id": nil,
	"namedScores": nil, "metadata": nil, "vars": nil, "description": nil, "testIdx": nil, "promptIdx": nil,
	"promptId": nil, "provider": want{"id": nil, "label": nil}, "prompt": want{"raw": nil, "label": nil},
	"response":      want{"output": nil, "tokenUsage": nil, "cost": nil, "cached": nil, "error": nil, "finishReason": nil},
	"testCase":      want{"description": nil, "vars": nil, "assert": nil, "metadata": nil},
	"gradingResult": want{"pass": nil, "score": nil, "reason": nil, "componentResults": component},
}

func init() { component["componentResults"] = component }

// promptfoo reads a file twice: the key of a result must tell what is alike in the whole file.
type promptfoo struct {
	o       *out
	version int64
	prompts map[string]map[string]string // of a provider: the names of its prompts, by label
	alike   map[mark]*alike
	count   struct{ all, said int64 }
	noted   int64
	first   bool // the first reading
	lines   bool // a result a line, without a summary
}

// alike are results with the same test, prompt and provider.
type alike struct {
	asserts []mark           // the different lists of assertions
	at      map[mark][]int64 // of a list of assertions: the tests' places in the file
}

func readPromptfoo(r io.ReaderAt, size int64, o *out) error {
	p := &promptfoo{o: aside(o), prompts: map[string]map[string]string{}, alike: map[mark]*alike{}, first: true,
		lines: strings.HasSuffix(strings.ToLower(o.faults.Name), ".jsonl")}
	if err := p.file(whole(r, size, p.o)); errors.Is(err, errOld) {
		o.faults.add("", "it has version %d of promptfoo's format, and versions from %d on are read; write it again with a newer promptfoo", p.version, firstVersion)
		return nil
	}
	for _, a := range p.alike {
		for _, at := range a.at {
			slices.Sort(at)
		}
	}
	p.first, p.o, p.count.said = false, o, 0
	d := whole(r, size, o)
	if err := p.file(d); fatal(err) {
		return err
	} else if err != nil {
		d.broken(err)
	}
	if p.count.all < p.count.said {
		o.faults.add("", "its stats count %d results, and it holds %d", p.count.said, p.count.all)
	}
	return nil
}

var errOld = errors.New("old version")

func (p *promptfoo) file(d *document) error {
	if p.lines {
		for {
			if err := p.result(d); err != nil {
				return err
			}
			if d.PeekKind() == 0 {
				return d.end()
			}
		}
	}
	if d.PeekKind() != '{' {
		return p.notOurs(d)
	}
	held := false
	err := d.object(func(name string) error {
		switch {
		case name == "results" && d.PeekKind() == '{':
			return d.object(func(name string) error { return p.member(d, name, &held) })
		default:
			return p.member(d, name, &held)
		}
	})
	if err == nil {
		err = d.end()
	}
	if err == nil && !held {
		p.o.faults.add("", "it holds no results: it is not what `promptfoo eval -o` writes")
	}
	return err
}

func (p *promptfoo) notOurs(d *document) error {
	_, err := d.ReadToken()
	if err == nil {
		p.o.faults.add("", "it is no JSON object: it is not what `promptfoo eval -o` writes")
	}
	return err
}

// member takes a member of the summary.
func (p *promptfoo) member(d *document, name string, held *bool) error {
	switch {
	case name == "results" && d.PeekKind() == '[':
		*held = true
		return d.array(func() error { return p.result(d) })
	case name == "version" || name == "stats" || name == "prompts":
		raw, _, err := d.keep(want{"successes": nil, "failures": nil, "errors": nil, "provider": nil, "label": nil, "raw": nil})
		if err != nil {
			return err
		}
		switch v := gjson.ParseBytes(raw); {
		case name == "version" && v.Type == gjson.Number:
			if p.version = v.Int(); p.version < firstVersion {
				return errOld
			}
		case name == "stats":
			p.count.said = v.Get("successes").Int() + v.Get("failures").Int() + v.Get("errors").Int()
		case name == "prompts" && p.first:
			for _, prompt := range v.Array() {
				p.prompt(prompt.Get("provider").String(), prompt.Get("label").String(), prompt.Get("raw").String())
			}
		}
		return nil
	}
	return d.SkipValue()
}

// prompt notes a prompt's name: its label, from which promptfoo's copy of its text is taken away where
// anything else is left, so that a changed text leaves the name.
func (p *promptfoo) prompt(provider, label, text string) {
	if p.prompts[provider] == nil {
		p.prompts[provider] = map[string]string{}
	}
	name := strings.TrimSuffix(strings.TrimSuffix(label, text), ": ")
	p.prompts[provider][label] = short(oneLine(cmp.Or(name, label)), 60)
}

// result takes one element of results.
func (p *promptfoo) result(d *document) error {
	if kind := d.PeekKind(); kind != '{' {
		_, _, err := d.keep(want{})
		if err == nil {
			d.fault(d.StackPointer(), "a result is not an object")
		}
		return err
	}
	raw, lost, err := d.keep(wantPromptfoo)
	if err != nil {
		return err
	}
	v := gjson.ParseBytes(raw)
	if p.first {
		if p.noted++; p.noted > p.o.most {
			return errEnough
		}
		p.note(v)
		return nil
	}
	p.count.all++
	c := p.read(v)
	if lost {
		c.Cut = append(c.Cut, "result")
	}
	return p.o.give(c)
}

// note keeps what tells v from others like it.
func (p *promptfoo) note(v gjson.Result) {
	base, asserts := markOf(p.key(v, "")), canonical(v.Get("testCase.assert"))
	a := p.alike[base]
	if a == nil {
		a = &alike{at: map[mark][]int64{}}
		p.alike[base] = a
	}
	m := markOf(asserts)
	if !slices.Contains(a.asserts, m) && len(a.asserts) < 1000 {
		a.asserts = append(a.asserts, m)
	}
	a.at[m] = append(a.at[m], v.Get("testIdx").Int())
}

// name is the key of v and which of its repeats it is. Results that differ in their assertions alone are
// different cases; results that differ in nothing are repeats, in the order of their tests.
func (p *promptfoo) name(v gjson.Result) (string, int) {
	base := p.key(v, "")
	a, asserts := p.alike[markOf(base)], canonical(v.Get("testCase.assert"))
	if a == nil {
		return base, 0
	}
	if len(a.asserts) > 1 {
		base = p.key(v, "assert "+digest(asserts))
	}
	repeat, _ := slices.BinarySearchFunc(a.at[markOf(asserts)], v.Get("testIdx").Int(), cmp.Compare[int64])
	return base, repeat
}

// key names test, prompt and provider by what they say and not by their places, which move when a test is
// added. A provider with one prompt needs no name for it, so that a changed prompt still pairs.
func (p *promptfoo) key(v gjson.Result, more string) string {
	test := cmp.Or(v.Get("testCase.description").String(), v.Get("description").String())
	vars := v.Get("testCase.vars")
	if !vars.IsObject() {
		vars = v.Get("vars")
	}
	if text := meant(vars); text != "" {
		if test == "" {
			test = ellipsis(first(vars), 60)
		}
		test += " ~" + digest(text)
	}
	provider := cmp.Or(v.Get("provider.label").String(), v.Get("provider.id").String(), v.Get("provider").String())
	prompt := ""
	if known := p.prompts[provider]; len(known) != 1 {
		label := v.Get("prompt.label").String()
		prompt = cmp.Or(known[label], short(oneLine(label), 60))
	}
	return key(cmp.Or(test, "no variables"), more, prompt, provider)
}

// meant is the canonical text of variables, without those that promptfoo makes itself anew in every run.
func meant(vars gjson.Result) string {
	kept := map[string]json.RawMessage{}
	vars.ForEach(func(k, v gjson.Result) bool {
		if !strings.HasPrefix(k.String(), "_") && k.String() != "sessionId" {
			kept[k.String()] = json.RawMessage(v.Raw)
		}
		return true
	})
	if len(kept) == 0 {
		return ""
	}
	b, _ := json.Marshal(kept)
	return canonical(gjson.ParseBytes(b))
}

// first shows the first variable in the order of names.
func first(vars gjson.Result) (shown string) {
	least := ""
	vars.ForEach(func(k, v gjson.Result) bool {
		if name := k.String(); !strings.HasPrefix(name, "_") && (least == "" || name < least) {
			least, shown = name, v.String()
		}
		return true
	})
	return oneLine(shown)
}
