package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Overview is what a person looks at first.
type Overview struct {
	At        time.Time        `json:"at"`
	Owner     OwnerInfo        `json:"owner"`
	Projects  []Project        `json:"projects" nullable:"false"`
	Suites    []SuiteStanding  `json:"suites" nullable:"false" doc:"of every project"`
	Schedules []assay.Schedule `json:"schedules" nullable:"false" doc:"of every project"`
	Attention []Attention      `json:"attention" nullable:"false" doc:"what needs a person, first things first"`
	Active    []RunView        `json:"active" nullable:"false" doc:"queued, running and paused runs, newest first"`
	Recent    []assay.Run      `json:"recent" nullable:"false" doc:"runs that have ended, newest first, without counts: their sentences say how"`
}

// SuiteStanding is how a suite stands.
type SuiteStanding struct {
	Project     string     `json:"project"`
	Suite       string     `json:"suite"`
	Description string     `json:"description,omitempty"`
	State       string     `json:"state" doc:"of its newest run; idle where it never ran"`
	Newest      *assay.Run `json:"newest,omitempty" doc:"without counts: its sentence says how it ended"`
}

// Attention is something that a person must decide.
type Attention struct {
	Run      assay.RunID `json:"run,omitempty"`
	Project  string      `json:"project,omitempty"`
	Sentence string      `json:"sentence"`
	Do       string      `json:"do,omitempty" doc:"a command"`
}

const (
	overviewRuns  = 20
	idleAfter     = 5 * time.Minute    // a live run without progress is worth a look
	failedRecency = 7 * 24 * time.Hour // older failures were seen
)

func activeStates() []assay.RunState {
	return []assay.RunState{assay.RunQueued, assay.RunRunning, assay.RunPaused}
}

func endedStates() []assay.RunState {
	return []assay.RunState{assay.RunCompleted, assay.RunFailed, assay.RunCancelled, assay.RunStateLost}
}

// Overview reads what the status page shows.
func (s *Services) Overview(ctx context.Context) (o Overview, err error) {
	o = Overview{At: s.Now(), Projects: []Project{}, Suites: []SuiteStanding{}, Schedules: []assay.Schedule{}, Attention: []Attention{}, Active: []RunView{}}
	if o.Owner, err = s.owner(ctx); err != nil {
		return o, err
	}
	projects, err := s.Store.Projects().List(ctx)
	if err != nil {
		return o, err
	}
	for _, p := range projects {
		v := projectView(p)
		totals, err := s.Store.Sessions().Count(ctx, p.ID)
		if err != nil {
			return o, err
		}
		v.Totals = &totals
		if p.Settings.MonthBudget != nil {
			if v.Month, err = s.month(ctx, p, o.At); err != nil {
				return o, err
			}
		}
		o.Projects = append(o.Projects, v)
		if err := s.standing(ctx, p, &o); err != nil {
			return o, err
		}
	}
	active, _, err := s.Store.Runs().List(ctx, store.RunQuery{States: activeStates()}, store.Page{Limit: overviewRuns})
	if err != nil {
		return o, err
	}
	for _, run := range active {
		v, err := s.view(ctx, run)
		if err != nil {
			return o, err
		}
		if v.Harness != nil {
			v.Harness = new(v.Harness.Head())
		}
		o.Active = append(o.Active, v)
	}
	ended, _, err := s.Store.Runs().List(ctx, store.RunQuery{States: endedStates()}, store.Page{Limit: overviewRuns})
	if err != nil {
		return o, err
	}
	o.Recent = pageOf(ended, "").Items
	o.attend()
	return o, nil
}

// standing adds how the suites and schedules of a project stand.
func (s *Services) standing(ctx context.Context, p assay.Project, o *Overview) error {
	suites, err := s.Store.Suites().List(ctx, p.ID)
	if err != nil {
		return err
	}
	newest, err := s.Store.Suites().Newest(ctx, p.ID)
	if err != nil {
		return err
	}
	for _, suite := range suites {
		row := SuiteStanding{Project: p.Name, Suite: suite.Name, Description: suite.Def.Description, State: IdleState}
		if run, ran := newest[suite.Name]; ran {
			row.State, row.Newest = string(run.State), &run
		}
		o.Suites = append(o.Suites, row)
	}
	schedules, err := s.Store.Schedules().List(ctx, p.ID)
	o.Schedules = append(o.Schedules, schedules...)
	return err
}

// attend fills Attention from the rest: first what stands still until somebody acts.
func (o *Overview) attend() {
	for _, r := range o.Active {
		switch {
		case r.State == assay.RunPaused && r.WakeAt == nil:
			o.need(r.Run, "is paused: "+orElse(r.Sentence, "somebody asked for it"), "assay resume "+r.ID.String())
		case r.Harness != nil && r.State == assay.RunRunning:
			if at := r.SilentSince(); at != nil {
				o.need(r.Run, "is running, silent since "+at.Format(time.DateTime)+" UTC", "assay logs "+r.ID.String()+" --tail 20")
			}
		case r.State == assay.RunRunning && idleSince(r) != nil && o.At.Sub(*idleSince(r)) > idleAfter:
			o.need(r.Run, "is alive and idle since "+idleSince(r).Format(time.DateTime)+" UTC", "assay watch "+r.ID.String())
		}
	}
	if !o.Owner.Driving && len(o.Owner.Waiting) > 0 {
		o.Attention = append(o.Attention, Attention{
			Sentence: fmt.Sprintf("%d waiting and nobody drives runs", len(o.Owner.Waiting)), Do: "assay serve",
		})
	}
	for _, s := range o.Schedules {
		if s.Last != nil && s.Last.Outcome == assay.TickFailed && !s.Paused {
			o.Attention = append(o.Attention, Attention{Project: s.Project, Do: "assay schedule show " + s.Name,
				Sentence: fmt.Sprintf("schedule %s started nothing at its last tick, %s: %s", s.Name, s.Last.At.UTC().Format("2006-01-02 15:04 MST"), s.Last.Sentence)})
		}
	}
	for _, r := range o.Recent {
		if r.Suite != nil {
			o.attendHarness(r)
			continue
		}
		if r.State == assay.RunFailed && r.EndedAt != nil && o.At.Sub(*r.EndedAt) < failedRecency && !o.retried(r.ID) {
			o.need(r, "failed: "+orElse(r.Sentence, string(r.Reason)), "assay retry "+r.ID.String())
		}
	}
}

// attendHarness shows a harness that failed or was lost, until it is started again.
func (o *Overview) attendHarness(r assay.Run) {
	if r.State != assay.RunFailed && r.State != assay.RunStateLost || r.EndedAt == nil || o.At.Sub(*r.EndedAt) >= failedRecency || o.startedAgain(r) {
		return
	}
	o.need(r, string(r.State)+": "+orElse(r.Sentence, string(r.Reason)), lookInto(r))
}

// lookInto is the command that shows why a harness failed or was lost.
func lookInto(r assay.Run) string {
	switch r.Reason {
	case assay.ReasonCasesFailed:
		return "assay runs cases " + r.ID.String() + " --failed"
	case assay.ReasonLaunchFailed, assay.ReasonResultsMissing:
		return "assay runs show " + r.ID.String() // there is no output, or it does not tell
	}
	return "assay logs " + r.ID.String() + " --tail 20"
}

// startedAgain says whether a later run of the same harness is shown.
func (o *Overview) startedAgain(r assay.Run) bool {
	later := func(x assay.Run) bool {
		return x.Suite != nil && x.ID > r.ID && x.ProjectID == r.ProjectID && x.Suite.Name == r.Suite.Name
	}
	return slices.ContainsFunc(o.Active, func(x RunView) bool { return later(x.Run) }) || slices.ContainsFunc(o.Recent, later)
}

func (o *Overview) need(r assay.Run, sentence, do string) {
	o.Attention = append(o.Attention, Attention{Run: r.ID, Project: r.Project, Sentence: sentence, Do: do})
}

func (o *Overview) retried(id assay.RunID) bool {
	return slices.ContainsFunc(o.Active, func(r RunView) bool { return r.RetryOf == id }) ||
		slices.ContainsFunc(o.Recent, func(r assay.Run) bool { return r.RetryOf == id })
}

// idleSince is the last progress of a run that grades, or its start.
func idleSince(r RunView) *time.Time {
	if r.ProgressAt != nil {
		return r.ProgressAt
	}
	return r.StartedAt
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
