// Package reporttest makes runs in a real store for the tests of reports, comparisons and checks.
package reporttest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// World is one project in a store of its own.
type World struct {
	*testing.T
	Ctx      context.Context
	Store    store.Store
	Project  assay.Project
	Now      time.Time
	Sessions []Session
	versions map[string]assay.JudgeVersion // what a judge's name means now
}

// Session is one session of a world. Day is a date; ID must be unique.
type Session struct {
	User, ID, Day            string
	Arm, Agent, Source, Case string
	Content                  assay.ContentKey // filled by New
	Key                      assay.SessionKey
	Text                     string // what is said; changes the content
}

// Answer is what a judge says of a session. With Class the item ends without a verdict, with Pending not at all.
type Answer struct {
	Pass     *bool
	Findings []assay.Finding
	Class    assay.Class
	Pending  bool
	Cut      bool
}

// Plan says what a run is made of.
type Plan struct {
	Judge    string
	Repeats  int // 0 is 1
	RetryOf  assay.RunID
	Chosen   func(Session) bool                               // nil: all sessions are sampled
	Eligible func(stratum assay.Stratum, sampled int64) int64 // N_h; nil: as many as the world has
	Open     bool                                             // leaves the run running
	Seed     string
}

// New makes a world of sessions.
func New(t *testing.T, sessions []Session) *World {
	t.Helper()
	w := &World{T: t, Ctx: t.Context(), Now: time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC), versions: map[string]assay.JudgeVersion{}}
	s, err := sqlite.Open(w.Ctx, t.TempDir())
	w.Must(err)
	t.Cleanup(func() { w.Must(s.Close()) })
	w.Store = s
	w.Project, err = s.Projects().Create(w.Ctx, "p", assay.DefaultSettings(), w.Now)
	w.Must(err)
	w.Put(sessions)
	return w
}

// Must fails the test on an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Put stores sessions, or new contents of them, and adds them to Sessions.
func (w *World) Put(sessions []Session) {
	w.Helper()
	for part := range slices.Chunk(sessions, 500) {
		var batch []store.NewSession
		for _, s := range part {
			batch = append(batch, w.session(s))
		}
		_, err := w.Store.Sessions().Put(w.Ctx, w.Project.ID, 0, batch, w.Now)
		w.Must(err)
	}
	rows := map[string]store.FrameRow{}
	w.Must(w.Store.Sessions().Scan(w.Ctx, w.Project.ID, store.SessionQuery{}, func(r *store.FrameRow) error {
		rows[assay.SessionName(r.UserID, r.SessionID)] = *r
		return nil
	}))
	known := map[string]int{}
	for i, s := range w.Sessions {
		known[assay.SessionName(s.User, s.ID)] = i
	}
	for _, s := range sessions {
		name := assay.SessionName(s.User, s.ID)
		s.Content, s.Key = rows[name].Content, rows[name].Key
		if i, ok := known[name]; ok {
			w.Sessions[i] = s
			continue
		}
		w.Sessions = append(w.Sessions, s)
	}
}

func (w *World) session(s Session) store.NewSession {
	w.Helper()
	day, err := time.Parse(time.DateOnly, s.Day)
	w.Must(err)
	at := day.Add(10 * time.Hour)
	body := assay.Session{UserID: s.User, SessionID: s.ID, Turns: []assay.Turn{{
		StartedAt: &at, AgentVersion: s.Agent, Source: s.Source, Messages: []assay.Message{{Role: assay.RoleUser, Content: "hello " + s.Text}},
	}}}
	raw, hash, size, err := store.EncodeBody(&body)
	w.Must(err)
	return store.NewSession{Body: raw, Head: assay.Head{
		UserID: s.User, SessionID: s.ID, ContentHash: hash, BodyBytes: size, StartedAt: &at, LastTurnAt: &at, Day: s.Day,
		Arm: cmp.Or(s.Arm, assay.Untagged), AgentVersion: s.Agent, Source: s.Source, Case: s.Case, Turns: 1, Messages: 1,
	}}
}

// Judge makes a name mean a version.
func (w *World) Judge(name string, version assay.Hash, criteria ...assay.Criterion) {
	w.Helper()
	v := assay.JudgeVersion{ID: version, Kind: assay.JudgeLLM, Unit: assay.UnitSession, Canonical: json.RawMessage("{}"), Criteria: criteria}
	_, err := w.Store.Judges().Apply(w.Ctx, w.Project.ID, assay.Judge{Name: name, Version: version}, v, w.Now)
	w.Must(err)
	w.versions[name] = v
}

// Run plans a run, gives each item its answer and ends it. Dispatch order is that of Sessions.
func (w *World) Run(p Plan, answer func(s Session, repeat int) Answer) assay.Run {
	w.Helper()
	chosen := w.Sessions
	if p.Chosen != nil {
		chosen = nil
		for _, s := range w.Sessions {
			if p.Chosen(s) {
				chosen = append(chosen, s)
			}
		}
	}
	strata, index := w.strata(p, chosen)
	var items []assay.Item
	var answers []Answer
	for _, s := range chosen {
		for repeat := range max(p.Repeats, 1) {
			items = append(items, assay.Item{Seq: int64(len(items) + 1), Session: s.Key, Content: s.Content, Repeat: repeat, State: assay.ItemPending,
				Stratum: index[stratumOf(s)]})
			answers = append(answers, answer(s, repeat))
		}
	}
	f := w.begin(p, strata, items, int64(len(chosen)))
	w.end(f, answers)
	return w.finish(p, f)
}

func stratumOf(s Session) assay.Stratum {
	return assay.Stratum{Day: s.Day, Arm: cmp.Or(s.Arm, assay.Untagged)}
}

func (w *World) strata(p Plan, chosen []Session) (list []assay.PlannedStratum, index map[assay.Stratum]int) {
	index = map[assay.Stratum]int{}
	all := slices.Clone(w.Sessions)
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Arm, b.Arm)) })
	for _, s := range all {
		h := stratumOf(s)
		at, ok := index[h]
		if !ok {
			at = len(list)
			index[h] = at
			list = append(list, assay.PlannedStratum{Stratum: h, Index: at})
		}
		list[at].Eligible++
	}
	for _, s := range chosen {
		list[index[stratumOf(s)]].Sampled++
	}
	if p.Eligible != nil {
		for i := range list {
			list[i].Eligible = p.Eligible(list[i].Stratum, list[i].Sampled)
		}
	}
	return list, index
}

func (w *World) begin(p Plan, strata []assay.PlannedStratum, items []assay.Item, sampled int64) store.Fence {
	w.Helper()
	r, _, err := w.Store.Runs().Create(w.Ctx, store.NewRun{
		Project: w.Project.ID, Kind: assay.RunGrade, Concurrency: 4, AsOf: w.Now, Now: w.Now, RetryOf: p.RetryOf,
		Spec: assay.GradeSpec{Seed: cmp.Or(p.Seed, "s"), PerStratum: 10, Repeats: max(p.Repeats, 1), Settings: w.Project.Settings,
			Judges: []assay.RunJudge{{Name: p.Judge, Version: w.versions[p.Judge].ID}}},
	})
	w.Must(err)
	r, err = w.Store.Runs().TakeUp(w.Ctx, r.ID, r.Epoch, false, w.Now)
	w.Must(err)
	f := store.Fence{Run: r.ID, Epoch: r.Epoch}
	for i := range items {
		items[i].Run = r.ID
	}
	w.Must(w.Store.Plans().PutStrata(w.Ctx, f, strata, sampled, assay.Excluded{}))
	for part := range slices.Chunk(items, 1000) {
		w.Must(w.Store.Plans().PutItems(w.Ctx, f, part, w.Now))
	}
	w.Must(w.Store.Plans().Finish(w.Ctx, f, int64(len(items)), w.Now))
	return f
}

func (w *World) end(f store.Fence, answers []Answer) {
	w.Helper()
	var open, done store.Batch
	flush := func() {
		for _, batch := range []store.Batch{open, done} {
			batch.Now = w.Now
			_, err := w.Store.Items().Commit(w.Ctx, f, batch)
			w.Must(err)
		}
		open, done = store.Batch{}, store.Batch{}
	}
	for i, answer := range answers {
		if answer.Pending {
			continue
		}
		a := assay.Attempt{Run: f.Run, Seq: int64(i + 1), N: 1, Epoch: f.Epoch, Status: assay.AttemptOpen, OpenedAt: w.Now, Wait: time.Second}
		open.Open = append(open.Open, a)
		called, ended := w.Now, w.Now.Add(2*time.Second)
		a.Status, a.CallAt, a.EndedAt, a.Class = assay.AttemptDone, &called, &ended, answer.Class
		a.Usage = assay.Usage{Known: true, Input: 100, Output: 10}
		o := store.Outcome{Attempt: a, State: assay.ItemGraded, Counted: true, Class: answer.Class, Pass: answer.Pass, Cut: answer.Cut,
			Answers: []assay.Answer{{Pass: answer.Pass, Findings: answer.Findings}}}
		if answer.Class != assay.ClassNone {
			if o.State = assay.Policies[answer.Class].Ends; o.State == "" {
				o.State = assay.ItemErrored
			}
			o.Answers = nil
		}
		if done.Done = append(done.Done, o); len(done.Done) == 500 {
			flush()
		}
	}
	flush()
}

func (w *World) finish(p Plan, f store.Fence) assay.Run {
	w.Helper()
	if p.Open {
		run, err := w.Store.Runs().Get(w.Ctx, f.Run)
		w.Must(err)
		return run
	}
	run, err := w.Store.Runs().Change(w.Ctx, f.Run, store.Change{
		From: []assay.RunState{assay.RunRunning}, To: assay.RunCompleted, Reason: assay.ReasonDone, Sentence: "every item ended", Now: w.Now})
	w.Must(err)
	return run
}

// Said makes a finding of a value: a bool, a number or a text.
func Said(criterion string, value any, reason string) assay.Finding {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return assay.Finding{Criterion: criterion, Applies: true, Value: raw, Reason: reason}
}

// Verdict is an answer to one boolean question, by which the judge passes or fails.
func Verdict(criterion string, yes bool, reason string) Answer {
	return Answer{Pass: &yes, Findings: []assay.Finding{Said(criterion, yes, reason)}}
}
