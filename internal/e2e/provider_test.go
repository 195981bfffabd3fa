package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge/llm/llmtest"
	"assay/internal/judge/llm/provider"
	"assay/internal/store"
)

// patience is how long a wait that a provider asks for is waited out here. A person ends longer ones.
const patience = 3 * time.Second

// Every fault of every provider in every protocol that it speaks, on the first call only: where the
// class is tried again the item is graded on the second call, where it ends the item there is no second
// call, and where it pauses the run a person resumes it. No fault is a verdict, and the server sees as
// many requests as there are attempts.
func TestEveryFaultOfEveryProviderOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, p := range provider.Profiles() {
		if p.KeyEnv != "" {
			w.env = append(w.env, p.KeyEnv+"=sk-e2e-0123456789abcdef")
		}
	}
	w.ok("import", w.sessions(1))
	c, p := w.serve()
	defer func() {
		if log := p.err.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") || strings.Contains(log, "after_death=true") {
			t.Errorf("the server is not at ease: %s", log)
		}
	}()
	var all sync.WaitGroup
	defer all.Wait()
	for _, p := range provider.Profiles() {
		for _, api := range p.APIs {
			e := &endpoint{t: t, w: w, c: c, name: strings.Trim(p.Name+"."+string(api), "."), asked: map[string]int{}}
			e.model = llmtest.New(t, e.answer)
			e.settings = fmt.Sprintf("provider: %q\n  api: %s\n  base_url: %s", p.Name, api, e.model.BaseURL)
			e.made = time.Now()
			e.faults = llmtest.Faults(p.Name, map[string]any{"ok": true})
			all.Go(e.meetAll)
		}
	}
}

// endpoint is one provider in one protocol: each of its models fails once, in its own way.
type endpoint struct {
	t        *testing.T
	w        *world
	c        *client.Client
	name     string
	settings string // lines of an llm block
	model    *llmtest.Server
	faults   []llmtest.Fault
	made     time.Time // of the faults: some of them ask to wait until a moment

	mu    sync.Mutex
	asked map[string]int // by model
}

func (e *endpoint) judge(fault int) string { return fmt.Sprintf("%s.%d", e.name, fault) }

func (e *endpoint) answer(r *llmtest.Request) llmtest.Step {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked[r.Model()]++
	if e.asked[r.Model()] > 1 {
		return passing(r)
	}
	var fault int
	if _, err := fmt.Sscanf(r.Model(), "m-%d", &fault); err != nil {
		e.t.Errorf("asked for %q", r.Model())
	}
	return e.faults[fault].Step
}

func (e *endpoint) requests(fault int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[fmt.Sprintf("m-%d", fault)]
}

// pausesOnce says whether one call that ends so is enough to pause a run.
func pausesOnce(c assay.Class) bool { return assay.Policies[c].Pauses && c != assay.ClassUnreachable }

// meetAll grades the session by models that fail once each: those that pause in a run of their own each,
// those with long waits in one run, all others in another.
func (e *endpoint) meetAll() {
	var short, long, pausing []int
	for i, f := range e.faults {
		yaml := fmt.Sprintf("name: %s\nkind: llm\ncriteria:\n  - name: ok\n    type: boolean\n    question: Did the agent help?\nllm:\n  %s\n  model: m-%d\n", e.judge(i), e.settings, i)
		if _, err := e.c.ApplyJudge(e.t.Context(), "default", yaml); err != nil {
			e.t.Errorf("%s: %v", e.judge(i), err)
			return
		}
		switch {
		case pausesOnce(f.Class):
			pausing = append(pausing, i)
		case f.Wait > patience:
			long = append(long, i)
		default:
			short = append(short, i)
		}
	}
	shorts := e.grade(short)
	e.waitLong(long)
	for _, i := range pausing {
		e.pause(i)
	}
	e.settled(shorts, short)
}

// grade starts a run with a judge for each of the faults.
func (e *endpoint) grade(faults []int) assay.RunID {
	q := engine.GradeRequest{Concurrency: new(int)}
	*q.Concurrency = 50
	for _, i := range faults {
		q.Judges = append(q.Judges, e.judge(i))
	}
	g, err := e.c.Grade(e.t.Context(), "default", q, client.NewKey())
	if err != nil {
		e.t.Errorf("%s: %v", e.name, err)
	}
	return g.ID
}

// until polls a run.
func (e *endpoint) until(run assay.RunID, what string, ok func(api.RunView) bool) api.RunView {
	for deadline := time.Now().Add(30 * time.Second); ; {
		v, err := e.c.Run(e.t.Context(), run)
		switch {
		case err != nil:
			e.t.Errorf("%s: %v", e.name, err)
			return v
		case ok(v):
			return v
		case time.Now().After(deadline):
			e.t.Errorf("%s: %s is not %s: %s %s %s, epoch %d, wakes %v, %+v", e.name, run, what, v.State, v.Reason, v.Sentence, v.Epoch, v.WakeAt, v.Counts)
			return v
		}
		<-time.After(50 * time.Millisecond)
	}
}

func terminal(v api.RunView) bool { return v.State.Terminal() }
func rests(v api.RunView) bool    { return v.State == assay.RunPaused || v.State.Terminal() }

// settled waits for the end of a run and looks at each of its items.
func (e *endpoint) settled(run assay.RunID, faults []int) {
	v := e.until(run, "at its end", terminal)
	items := e.w.calls(e.c, run)
	graded, attempts := 0, 0
	for _, x := range items {
		i := faults[x.Item.Judge]
		attempts += len(x.Attempts)
		if x.Item.State == assay.ItemGraded {
			graded++
		}
		if wrong := e.wrong(i, x); wrong != "" {
			e.t.Errorf("%s, %s: %s\n%+v", e.judge(i), e.faults[i].Name, wrong, x)
		}
	}
	verdicts, err := e.c.Verdicts(e.t.Context(), run, 0, store.Page{Limit: 1000})
	if err != nil || len(items) != len(faults) || len(verdicts.Items) != graded || v.Counts.Graded != int64(graded) || v.Spend.Attempts != int64(attempts) {
		e.t.Errorf("%s: %d items, %d graded, %d verdicts, %d attempts; %+v %+v (%v)", e.name, len(items), graded, len(verdicts.Items), attempts, v.Counts, v.Spend, err)
	}
}

// wrong says what is wrong with what became of a fault's item.
func (e *endpoint) wrong(fault int, x api.ItemCalls) string {
	f := e.faults[fault]
	policy := assay.Policies[f.Class]
	calls, state := 2, assay.ItemGraded
	switch {
	case f.Class == assay.ClassNone:
		calls = 1
	case !policy.Free && policy.Attempts == 1:
		calls, state = 1, policy.Ends
	}
	switch {
	case len(x.Attempts) != calls || e.requests(fault) != calls:
		return fmt.Sprintf("%d attempts and %d requests, want %d", len(x.Attempts), e.requests(fault), calls)
	case x.Item.State != state || (x.Item.Pass != nil) != (state == assay.ItemGraded):
		return "it ended as " + string(x.Item.State)
	case x.Attempts[0].Class != f.Class:
		return "its first call ended as " + string(x.Attempts[0].Class)
	case state != assay.ItemGraded && (x.Item.Class != f.Class || x.Item.Error == ""):
		return "its class is " + string(x.Item.Class)
	case calls == 2 && f.Wait <= patience && x.Attempts[1].CallAt.Sub(*x.Attempts[0].EndedAt) < f.Wait:
		return fmt.Sprintf("asked again after %s, the provider wanted %s", x.Attempts[1].CallAt.Sub(*x.Attempts[0].EndedAt), f.Wait)
	}
	return ""
}

// pause meets a fault that pauses its run at once, and goes on.
func (e *endpoint) pause(fault int) {
	f := e.faults[fault]
	run := e.grade([]int{fault})
	v := e.until(run, "paused", rests)
	wakes := f.Class == assay.ClassQuota
	switch {
	case v.State != assay.RunPaused || v.Reason != assay.Reason(f.Class) || v.Sentence == "" || v.Counts.Pending != 1 || e.requests(fault) != 1:
		e.t.Errorf("%s, %s: %s %s %s after %d requests, %+v", e.judge(fault), f.Name, v.State, v.Reason, v.Sentence, e.requests(fault), v.Counts)
	case (v.WakeAt != nil) != wakes || wakes && v.WakeAt.Before(e.made.Add(f.Wait-2*time.Second)):
		e.t.Errorf("%s, %s: it wakes at %v; the provider wants %s", e.judge(fault), f.Name, v.WakeAt, f.Wait)
	}
	e.resume(run)
	e.settled(run, []int{fault})
}

// waitLong meets the faults that ask for more patience than a test has.
func (e *endpoint) waitLong(faults []int) {
	if len(faults) == 0 {
		return
	}
	run := e.grade(faults)
	e.until(run, "waiting", func(v api.RunView) bool { return v.Counts.Waiting == int64(len(faults)) || rests(v) })
	for _, x := range e.w.calls(e.c, run) {
		i := faults[x.Item.Judge]
		f := e.faults[i]
		if x.Item.NotBefore == nil || len(x.Attempts) != 1 || x.Item.NotBefore.Before(e.made.Add(f.Wait-2*time.Second)) {
			e.t.Errorf("%s, %s: it does not wait as it should: %+v", e.judge(i), f.Name, x)
		}
	}
	if _, err := e.c.Pause(e.t.Context(), run); err != nil {
		e.t.Errorf("%s: %v", e.name, err)
	}
	e.until(run, "paused", rests)
	e.resume(run)
	e.settled(run, faults)
}

// resume goes on from another terminal.
func (e *endpoint) resume(run assay.RunID) {
	if r := e.w.run("resume", run.String(), "--detach"); r.code != 0 {
		e.t.Errorf("%s: resume %s: exit %d: %s", e.name, run, r.code, r.err)
	}
}
