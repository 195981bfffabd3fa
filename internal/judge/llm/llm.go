// Package llm answers by a model behind a provider's API (internal/judge/llm/provider).
//
// It owns the prompt, the output schema, what fits into a call and the reading of the model's text. It
// refuses to know protocols, keys, retries, waits and prices: it drafts one call, weighs it, makes it
// and says how that ended. Its invariants: only an object that the model itself wrote as its answer
// becomes a verdict (answer.go, echo.go), and everything else has a class.
//
//	Draft ──no body, too long, nothing to ask──► Ended: no call
//	  │
//	Load, Seen          (budgets and limits look at them; nothing has left)
//	  │
//	Send ──provider──► class
//	  │
//	text ──► object with the token ──► findings ──► no echo of the session ──► quotes looked up
//	  │
//	  ├─ units are left ──► their answers, Left > 0
//	  └─ none is ─────────► their answers rolled up, the pass rule
package llm

import (
	"context"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/provider"
	"assay/internal/session/transcript"
)

// Env is what this process gives.
type Env struct {
	LookupEnv func(string) (string, bool)
	Transport http.RoundTripper // shared by all judges, best a provider.Transport; nil makes one
}

// Judge asks a model. It is Metered.
type Judge struct {
	spec     Spec
	unit     assay.UnitKind
	criteria []assay.Criterion // as they are asked
	pass     *judge.PassRule   // over them as rolled up
	counter  counter
	cutter   counter
	context  int64              // tokens; 0 is not known
	forms    []func() *compiled // by the number of units in a question
	echoes   sync.Pool          // of *echo
}

// compiled is all of a call that is the same for all questions with so many units.
type compiled struct {
	prompt  prompt
	client  *provider.Client
	guess   int64        // tokens of the fixed part, by length
	counted func() int64 // likewise, by the judge's counter
	err     error
}

// New makes a judge ready to be asked; known is as Complete has it. A key that is not there is no error
// here: each question is answered with bad_credentials, so that the run pauses and can be resumed.
func New(id assay.Hash, d judge.Definition, s Spec, settings Settings, known int64, env Env) (*Judge, error) {
	j := &Judge{spec: s, unit: d.Unit, criteria: d.Criteria, counter: counterOf(s.Model), context: settings.ContextTokens}
	if j.context == 0 {
		j.context = known
	}
	var err error
	if j.pass, err = judge.NewPassRule(d.Pass, judge.RolledUp(d.Criteria)); err != nil {
		return nil, err
	}
	if j.cutter, err = counterNamed(s.CountedBy, s.Model); err != nil {
		return nil, err
	}
	if env.Transport == nil {
		env.Transport = provider.NewTransport()
	}
	settings.API = s.API // what can change an answer is the version's
	if settings.Settings, err = settings.Complete(); err != nil {
		return nil, err
	}
	reach := provider.Env{LookupEnv: env.LookupEnv, Transport: env.Transport}
	reach.Keys = provider.NewKeys(settings.Settings, reach)
	for units := range s.UnitsPerCall + 1 {
		j.forms = append(j.forms, sync.OnceValue(func() *compiled { return j.compile(id, units, settings.Settings, reach) }))
	}
	return j, j.forms[s.UnitsPerCall]().err
}

func (j *Judge) compile(id assay.Hash, units int, settings provider.Settings, reach provider.Env) *compiled {
	c := &compiled{}
	if c.prompt, c.err = newPrompt(j.spec, id, answerForm{j.criteria, units}); c.err != nil {
		return c
	}
	fixed := c.prompt.fixed()
	c.guess = byLength(fixed)
	c.counted = sync.OnceValue(func() int64 { return j.counter.count(fixed) })
	c.client, c.err = provider.New(settings, j.spec.params(c.prompt.schema), c.prompt.system, c.prompt.user, reach)
	return c
}

func (j *Judge) NeedsBody() bool { return true }

// Close leaves the transport alone: it is shared.
func (j *Judge) Close() error { return nil }

// Model is what the calls go to.
func (j *Judge) Model() assay.ModelKey { return j.form(0).client.Key() }

// Provider names the provider as OpenTelemetry does.
func (j *Judge) Provider() string { return j.form(0).client.Name() }

// form is what is compiled for so many units; 0 stands for the most.
func (j *Judge) form(units int) *compiled {
	if units == 0 {
		units = j.spec.UnitsPerCall
	}
	return j.forms[units]()
}

// Ask makes at most one call.
func (j *Judge) Ask(ctx context.Context, q judge.Question) judge.Reply {
	d := j.Draft(q)
	if d.Ended != nil {
		return *d.Ended
	}
	return d.Send(ctx)
}

// Draft makes everything of a call but the call. It keeps of the session what was said and what is
// shown; quotes are looked up in the former when the answer is there.
func (j *Judge) Draft(q judge.Question) judge.Draft {
	asked, ended := j.question(q)
	if ended != nil {
		ended.EndedAt = time.Now()
		return judge.Draft{Ended: ended}
	}
	c := j.form(len(asked.units))
	if c.err != nil {
		return judge.Draft{Ended: &judge.Reply{Class: assay.ClassJudgeError, Error: c.err.Error(), EndedAt: time.Now()}}
	}
	values := []string{asked.transcript.Text, token(c.prompt.version, asked.transcript.Boundary, q.Repeat, asked.units), unitLines(asked.units)}
	asked.token = values[tokenValue-1]
	asked.examples = c.prompt.examples
	var more *provider.Again
	var extra string
	if q.Unreadable != nil {
		more = &provider.Again{Answer: c.client.Content(q.Unreadable.Raw), Why: again(asked.token, q.Unreadable.Error)}
		extra = more.Answer + more.Why
	}
	body := c.client.Body(values, more)
	d := judge.Draft{Load: j.load(c, body, values, extra), Asked: max(1, len(asked.units)), Left: asked.left, Request: func() []byte { return body }}
	if why := j.tooLong(d.Load); why != "" {
		return judge.Draft{Ended: &judge.Reply{Class: assay.ClassContextTooLong, Error: why, EndedAt: time.Now()}}
	}
	sum := transcript.Sum(asked.transcript.Text)
	d.Seen = judge.Seen{Hash: assay.Hash(hex.EncodeToString(sum[:])), Text: asked.transcript.Text, Cut: asked.transcript.Cut}
	d.Send = func(ctx context.Context) judge.Reply {
		content, r := c.client.Send(ctx, body)
		if r.Class == assay.ClassNone {
			j.answered(asked, content, &r)
			masked(&r, c.client.Mask)
		}
		return r
	}
	return d
}

// masked takes keys out of what was read from the model's text: JSON has more spellings of them than the
// text was searched for.
func masked(r *judge.Reply, mask func(string) string) {
	r.Error = mask(r.Error)
	for i := range r.Answers {
		for n := range r.Answers[i].Findings {
			f := &r.Answers[i].Findings[n]
			f.Reason = mask(f.Reason)
			for e := range f.Evidence {
				f.Evidence[e].Quote = mask(f.Evidence[e].Quote)
			}
		}
	}
}

// answered reads the model's text.
func (j *Judge) answered(q *question, content string, r *judge.Reply) {
	e, _ := j.echoes.Get().(*echo)
	if e == nil {
		e = &echo{}
	}
	answers, err := q.read(content, j.criteria, e)
	e.reset("") // no session stays in the pool
	j.echoes.Put(e)
	if err != nil {
		r.Class, r.Error = assay.ClassMalformed, provider.Unread+err.Error()
		return
	}
	for i := range answers {
		for n := range answers[i].Findings {
			f := &answers[i].Findings[n]
			f.Evidence = judge.VerifyIn(q.said, f.Evidence)
		}
	}
	if j.unit == assay.UnitSession {
		answer, err := j.pass.Answer(answers[0].Findings)
		if err != nil {
			r.Class, r.Error = assay.ClassJudgeError, err.Error()
			return
		}
		r.Answers = []assay.Answer{answer}
		return
	}
	r.Answers, r.Left = answers, q.left
	if q.left > 0 {
		return
	}
	rolled, err := j.rollUp(q.inOrder(answers))
	if err != nil {
		*r = judge.Reply{Class: assay.ClassJudgeError, Error: err.Error(), CallAt: r.CallAt, EndedAt: r.EndedAt, HTTPStatus: r.HTTPStatus, Usage: r.Usage, Model: r.Model, RequestID: r.RequestID, Raw: r.Raw, Told: r.Told}
		return
	}
	r.Answers = append(r.Answers, rolled)
}
