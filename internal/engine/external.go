package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"assay/internal/assay"
	"assay/internal/store"
)

// ExternalRequest is what a harness that runs elsewhere says of itself when it starts.
type ExternalRequest struct {
	Name      string                     `json:"name" doc:"of the harness; runs of one name are one history"`
	Exclusive bool                       `json:"exclusive,omitempty" doc:"holds the key of the suite of that name: while it runs no other run of it starts"`
	Argv      []string                   `json:"argv,omitempty" doc:"its command line"`
	Params    map[string]json.RawMessage `json:"params,omitempty" doc:"what it was started with"`
	Where     string                     `json:"where,omitempty" maxLength:"300" doc:"the machine"`
	PID       int                        `json:"pid,omitempty"`
	Env       []string                   `json:"env,omitempty" doc:"NAME=value, secrets masked"`
	Stale     assay.Seconds              `json:"stale_s,omitempty" doc:"seconds of silence after which it is lost; 60 where absent"`
	By        string                     `json:"by,omitempty" maxLength:"200" doc:"who started it"`
}

// DefaultStale is the silence after which an external run is lost, and maxStale the longest that may be
// asked for.
const (
	DefaultStale = time.Minute
	maxStale     = 24 * time.Hour
	maxName      = 100 // bytes
)

// Validate says what would be refused of it whenever it came.
func (q ExternalRequest) Validate() error {
	if strings.TrimSpace(q.Name) == "" || q.Name != ExternalName(q.Name) {
		return assay.Errorf(assay.CodeInvalid, "name %.120q: a harness has a name of at most %d bytes, all of it printable", q.Name, maxName)
	}
	if stale := q.Stale.Duration(); stale < 0 || stale > maxStale {
		return assay.Errorf(assay.CodeInvalid, "stale_s %v is not between 0 and %v", stale.Seconds(), maxStale.Seconds()).
			WithHint("leave it out for %v seconds", DefaultStale.Seconds())
	}
	return nil
}

// ExternalName is as much of a text as can be the name of a harness; "" where nothing of it can.
func ExternalName(text string) string {
	name := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	return name
}

// StartExternal accepts a run that is running already: it is driven by nobody and lives by its reports.
func (e *Engine) StartExternal(ctx context.Context, p assay.Project, q ExternalRequest, idem *store.Idempotency) (run assay.Run, replayed bool, err error) {
	run, replayed, err = e.replay(ctx, p.ID, idem)
	if err != nil {
		return run, replayed, err
	}
	if !replayed {
		n, err := e.external(p, q)
		if err != nil {
			return run, false, err
		}
		if run, replayed, err = e.accept(ctx, n, idem); err != nil {
			return run, replayed, err
		}
	}
	if run.State.Terminal() {
		return run, replayed, nil
	}
	// A repeat stores it again: the first answer may have been cut off between the two.
	run, err = e.store.Harnesses().Report(ctx, run.ID, e.now(), func(f *assay.Harness, ended bool) (bool, error) {
		if !ended {
			f.Where, f.PID, f.Env = q.Where, q.PID, q.Env
			if f.LaunchedAt == nil {
				f.LaunchedAt = new(e.now())
			}
		}
		return false, nil
	})
	return run, replayed, err
}

func (e *Engine) external(p assay.Project, q ExternalRequest) (n store.NewRun, err error) {
	if err := q.Validate(); err != nil {
		return n, err
	}
	stale := q.Stale.Duration()
	if stale == 0 {
		stale = DefaultStale
	}
	now := e.now()
	n = store.NewRun{
		Project: p.ID, Kind: assay.RunExternal, Reporting: true, Concurrency: 1, By: q.By, AsOf: now, Now: now,
		Suite: &assay.SuiteSpec{Name: q.Name, Params: sortedParams(q.Params, assay.ParamGiven), Argv: q.Argv, Stale: assay.Seconds(stale)},
	}
	if q.Exclusive {
		n.Keys = []string{assay.KeySuite(q.Name)}
	}
	return n, nil
}

// reporting finds a run that reports from elsewhere.
func (e *Engine) reporting(ctx context.Context, id assay.RunID) (assay.Run, error) {
	run, err := e.store.Runs().Get(ctx, id)
	if err == nil && run.Kind != assay.RunExternal {
		err = assay.Errorf(assay.CodeRefused, "run %s is of kind %s: only external runs report", id, run.Kind).
			With("run", id.String()).With("state", string(run.State)).
			WithHint("a suite's harness reports on its report channel, see docs/SUITES.md")
	}
	return run, err
}

// Report stores what an external run says; an empty report is a heartbeat. A report about a run that has
// ended is recorded as late, with the size that its output made the log, and changes nothing else. The run that comes back says whether a cancel was
// asked for: whoever runs the harness then ends it and calls FinishExternal.
func (e *Engine) Report(ctx context.Context, id assay.RunID, r Report) (assay.Run, error) {
	defer e.silence.Speaks(id)()
	if _, err := e.reporting(ctx, id); err != nil {
		return assay.Run{}, err
	}
	now := e.now()
	if err := r.validate(now); err != nil {
		return assay.Run{}, err
	}
	late, points := false, []store.Point(nil)
	run, err := e.store.Harnesses().Report(ctx, id, now, func(f *assay.Harness, ended bool) (bool, error) {
		if late = ended; late {
			f.LateAt, f.Late = &now, r.String()
			r.logInto(f)
			return false, nil
		}
		points = r.points(f.Points)
		return r.into(f, now), nil
	})
	if err == nil && !late && len(points) > 0 {
		err = e.store.Harnesses().AddPoints(ctx, id, points)
	}
	return run, err
}

// Finish is how an external run ended.
type Finish struct {
	Code   int          `json:"exit_code" doc:"-1 where a signal ended it"`
	Signal string       `json:"signal,omitempty" doc:"that ended it, for instance SIGKILL"`
	Error  string       `json:"error,omitempty" doc:"why it could not be started"`
	Cases  []assay.Case `json:"cases,omitempty" doc:"its results"`
	// Results are the files that the cases were read from.
	Results []assay.ResultSum `json:"results,omitempty"`
}

// casesBatch bounds one transaction.
const casesBatch = 500

// FinishExternal ends an external run: completed where its exit code is 0, cancelled where a cancel was
// asked for, else failed. It may be repeated: a run that has ended is returned as it is, and one that was
// lost before gets the end recorded as a late report.
func (e *Engine) FinishExternal(ctx context.Context, id assay.RunID, f Finish) (assay.Run, error) {
	defer e.silence.Speaks(id)() // cases without number take their time
	if err := f.checkCases(); err != nil {
		return assay.Run{}, err
	}
	select {
	case e.finishing <- struct{}{}:
		defer func() { <-e.finishing }()
	case <-ctx.Done():
		return assay.Run{}, ctx.Err()
	}
	run, err := e.reporting(ctx, id)
	if err != nil {
		return run, err
	}
	now := e.now()
	if !run.State.Terminal() {
		if err := e.putCases(ctx, run, f.Cases, now); err != nil && assay.CodeOf(err) != assay.CodeLost {
			return run, err
		}
	}
	run, err = e.store.Harnesses().Report(ctx, id, now, func(facts *assay.Harness, ended bool) (bool, error) {
		switch {
		case !ended:
			facts.Exit, facts.Results = f.exit(now), f.Results
		case facts.Exit == nil:
			facts.LateAt, facts.Late = &now, f.String()
		}
		return !ended, nil
	})
	if err != nil || run.State.Terminal() {
		return run, err
	}
	event, change := f.ends(run, now)
	moved, err := Move(ctx, e.store.Runs(), id, event, change)
	if assay.CodeOf(err) == assay.CodeRefused { // a cancel came between
		if run, err = e.store.Runs().Get(ctx, id); err == nil && !run.State.Terminal() {
			event, change = f.ends(run, now)
			return Move(ctx, e.store.Runs(), id, event, change)
		}
		return run, err
	}
	return moved, err
}

// putCases stores a run's cases from the start.
func (e *Engine) putCases(ctx context.Context, run assay.Run, cases []assay.Case, now time.Time) error {
	fence := store.Fence{Run: run.ID, Epoch: run.Epoch}
	if err := e.store.Harnesses().ResetCases(ctx, fence); err != nil {
		return err
	}
	for i := range cases {
		cases[i].Run, cases[i].Seq = run.ID, int64(i+1)
	}
	for start := 0; start < len(cases); start += casesBatch {
		if err := e.store.Harnesses().PutCases(ctx, fence, cases[start:min(start+casesBatch, len(cases))], now); err != nil {
			return err
		}
	}
	return nil
}

func (f Finish) exit(now time.Time) *assay.Exit {
	x := &assay.Exit{Cause: assay.ExitItself, Code: f.Code, Signal: f.Signal, Error: f.Error, At: now}
	if f.Error != "" {
		x.Cause = assay.ExitLaunchFailed
	}
	return x
}

// ends says what a run becomes when its harness has ended so.
func (f Finish) ends(run assay.Run, now time.Time) (Event, store.Change) {
	c := store.Change{Epoch: &run.Epoch, Phase: assay.PhaseFinishing, Sentence: f.String(), Now: now}
	switch {
	case run.CancelRequestedAt != nil:
		c.Reason, c.Sentence = assay.ReasonAsked, "cancelled: "+f.String()
		return EventCancel, c
	case f.Error != "":
		c.Reason = assay.ReasonLaunchFailed
		return EventFail, c
	case f.Signal != "":
		c.Reason = assay.ReasonSignal
		return EventFail, c
	case f.Code != 0:
		c.Reason = assay.ReasonExitCode
		return EventFail, c
	}
	c.Reason = assay.ReasonDone
	return EventDone, c
}

// maxCaseKey bounds the key of a case, in bytes: databases keep keys in an index.
const maxCaseKey = 1000

func (f Finish) checkCases() error {
	for i, c := range f.Cases {
		if err := checkClass(c); err != nil {
			return assay.About(fmt.Sprintf("case %d (%.80q)", i+1, c.Key), err)
		}
		if c.Key == "" || len(c.Key) > maxCaseKey {
			return assay.Errorf(assay.CodeInvalid, "case %d has a key of %d bytes", i+1, len(c.Key)).
				WithHint("name each case with 1 to %d bytes that are the same in every run; the text of a case belongs into input", maxCaseKey)
		}
	}
	return nil
}

// checkClass refuses a class that is none of a case, or not of how it ended.
func checkClass(c assay.Case) error {
	switch {
	case c.Class == "":
		return nil
	case c.Class != assay.ClassCaseError && c.Class != assay.ClassCaseSkipped && c.Class != assay.ClassCaseUnscored:
		return assay.Errorf(assay.CodeInvalid, "class %.40q is none of a case", c.Class).
			WithHint("use %s, %s or %s, or leave it out", assay.ClassCaseError, assay.ClassCaseSkipped, assay.ClassCaseUnscored)
	case assay.Policies[c.Class].Ends != c.State:
		return assay.Errorf(assay.CodeInvalid, "a case that is %s has not the class %s", c.State, c.Class).
			WithHint("%s is of cases that are %s", c.Class, assay.Policies[c.Class].Ends)
	}
	return nil
}

// String says how the harness ended.
func (f Finish) String() string {
	how := fmt.Sprintf("the harness ended with exit code %d", f.Code)
	switch {
	case f.Error != "":
		return "the harness could not be started: " + f.Error
	case f.Signal != "":
		how = "the harness was ended by " + f.Signal
	}
	var t assay.CaseTally
	for _, c := range f.Cases {
		t.Add(c)
	}
	if t.Total > 0 {
		how += "; " + t.String()
	}
	if unread := assay.Unread(f.Results, t.Total); unread != "" {
		how += "; " + unread
	}
	return how
}
