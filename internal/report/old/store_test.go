package old

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// bed is a real store with one project of 12 sessions on two days and a run over them.
type bed struct {
	*testing.T
	ctx      context.Context
	store    store.Store
	project  assay.Project
	contents []store.FrameRow
	now      time.Time
}

func newBed(t *testing.T) *bed {
	b := &bed{T: t, ctx: t.Context(), now: time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)}
	s, err := sqlite.Open(b.ctx, t.TempDir())
	b.must(err)
	t.Cleanup(func() { b.must(s.Close()) })
	b.store = s
	b.project, err = s.Projects().Create(b.ctx, "p", assay.DefaultSettings(), b.now)
	b.must(err)
	var batch []store.NewSession
	for i := range 12 {
		at := time.Date(2026, 3, 2+i%2, 10, 0, 0, 0, time.UTC)
		session := assay.Session{UserID: "u", SessionID: fmt.Sprintf("s%02d", i), Turns: []assay.Turn{{StartedAt: &at, Messages: []assay.Message{{Role: assay.RoleUser, Content: "hello"}}}}}
		body, hash, size, err := store.EncodeBody(&session)
		b.must(err)
		batch = append(batch, store.NewSession{Body: body, Head: assay.Head{
			UserID: "u", SessionID: session.SessionID, ContentHash: hash, BodyBytes: size, StartedAt: &at, LastTurnAt: &at,
			Day: assay.DayOf(&at, time.UTC), Arm: assay.Untagged, Turns: 1, Messages: 1}})
	}
	_, err = s.Sessions().Put(b.ctx, b.project.ID, 0, batch, b.now)
	b.must(err)
	b.must(s.Sessions().Scan(b.ctx, b.project.ID, store.SessionQuery{}, func(r *store.FrameRow) error {
		row := *r
		row.UserID, row.SessionID = strings.Clone(r.UserID), strings.Clone(r.SessionID)
		b.contents = append(b.contents, row)
		return nil
	}))
	_, err = s.Judges().Apply(b.ctx, b.project.ID, assay.Judge{Name: "j", Version: "v1"}, assay.JudgeVersion{
		ID: "v1", Kind: assay.JudgeLLM, Unit: assay.UnitSession, Canonical: json.RawMessage("{}"),
		Criteria: []assay.Criterion{{Name: "kind", Type: assay.Category, Values: []string{"good", "bad"}}},
	}, b.now)
	b.must(err)
	return b
}

func (b *bed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// run plans and starts a run over some of the sessions, all of them pending.
func (b *bed) run(of []store.FrameRow, retryOf assay.RunID) store.Fence {
	b.Helper()
	var items []assay.Item
	for _, c := range of {
		items = append(items, assay.Item{Session: c.Key, Content: c.Content, Stratum: stratumOf(c)})
	}
	return b.plan(retryOf, 1, items)
}

func stratumOf(c store.FrameRow) int {
	if c.Day == "2026-03-03" {
		return 1
	}
	return 0
}

// plan plans and starts a run of some items in their order.
func (b *bed) plan(retryOf assay.RunID, repeats int, of []assay.Item) store.Fence {
	b.Helper()
	r, _, err := b.store.Runs().Create(b.ctx, store.NewRun{
		Project: b.project.ID, Kind: assay.RunGrade, Concurrency: 4, AsOf: b.now, Now: b.now, RetryOf: retryOf,
		Spec: assay.GradeSpec{Seed: "s", PerStratum: 10, Repeats: repeats, Settings: b.project.Settings, Judges: []assay.RunJudge{{Name: "j", Version: "v1"}}},
	})
	b.must(err)
	r, err = b.store.Runs().TakeUp(b.ctx, r.ID, r.Epoch, false, b.now)
	b.must(err)
	f := store.Fence{Run: r.ID, Epoch: r.Epoch}
	var strata []assay.PlannedStratum
	for i, day := range []string{"2026-03-02", "2026-03-03"} {
		strata = append(strata, assay.PlannedStratum{Stratum: assay.Stratum{Day: day, Arm: assay.Untagged}, Index: i, Eligible: 6, Sampled: 6})
	}
	var items []assay.Item
	sessions := map[assay.SessionKey]bool{}
	for i, it := range of {
		sessions[it.Session] = true
		items = append(items, assay.Item{
			Run: r.ID, Seq: int64(i + 1), Session: it.Session, Content: it.Content, Stratum: it.Stratum, Repeat: it.Repeat, State: assay.ItemPending,
		})
	}
	b.must(b.store.Plans().PutStrata(b.ctx, f, strata, int64(len(sessions)), assay.Excluded{Unsettled: 5}))
	b.must(b.store.Plans().PutItems(b.ctx, f, items, b.now))
	b.must(b.store.Plans().Finish(b.ctx, f, int64(len(items)), b.now))
	return f
}

// end ends items by seq: "good" and "bad" are verdicts, anything else is a class.
func (b *bed) end(f store.Fence, outcomes map[int64]string) {
	b.Helper()
	var open, done store.Batch
	open.Now, done.Now = b.now, b.now
	for seq, how := range outcomes {
		a := assay.Attempt{Run: f.Run, Seq: seq, N: 1, Epoch: f.Epoch, Status: assay.AttemptOpen, OpenedAt: b.now}
		open.Open = append(open.Open, a)
		a.Status, a.CallAt, a.EndedAt = assay.AttemptDone, &b.now, &b.now
		a.Usage = assay.Usage{Known: true, Input: 100, Output: 10}
		o := store.Outcome{Attempt: a, State: assay.ItemGraded, Counted: true}
		if how == "good" || how == "bad" {
			o.Pass = pass(how == "good")
			o.Answers = []assay.Answer{{Pass: o.Pass, Findings: []assay.Finding{{Criterion: "kind", Applies: true, Value: json.RawMessage(`"` + how + `"`)}}}}
		} else {
			o.State, o.Class, o.Attempt.Class = assay.ItemErrored, assay.Class(how), assay.Class(how)
		}
		done.Done = append(done.Done, o)
	}
	for _, batch := range []store.Batch{open, done} {
		_, err := b.store.Items().Commit(b.ctx, f, batch)
		b.must(err)
	}
}

func (b *bed) report(id assay.RunID) Report {
	b.Helper()
	run, err := b.store.Runs().Get(b.ctx, id)
	b.must(err)
	r, err := Build(b.ctx, b.store, run)
	b.must(err)
	return r
}

func (b *bed) finish(f store.Fence) {
	b.Helper()
	_, err := b.store.Runs().Change(b.ctx, f.Run, store.Change{From: []assay.RunState{assay.RunRunning}, To: assay.RunCompleted, Reason: assay.ReasonDone, Sentence: "every item ended", Now: b.now})
	b.must(err)
}

func TestARunningReportCoversAPrefix(t *testing.T) {
	b := newBed(t)
	f := b.run(b.contents, 0)
	if r := b.report(f.Run); r.Covers.Through != 0 || r.Judges[0].Criteria[0].Measures[0].Overall.Level != nil {
		t.Errorf("before anything ended: %+v", r.Covers)
	}
	// 1 to 4 have ended, 5 hangs, 6 to 8 were quick and bad.
	b.end(f, map[int64]string{1: "good", 2: "good", 3: "timeout", 4: "good", 6: "bad", 7: "bad", 8: "bad"})
	r := b.report(f.Run)
	if r.Covers.Complete || r.Covers.Through != 4 || r.Covers.Of != 12 {
		t.Errorf("covers %+v, want 1 to 4 of 12", r.Covers)
	}
	pass := r.Judges[0].Criteria[0].Measures[0].Overall
	if pass.Level == nil || *pass.Level != 1 || pass.Answered != 3 || pass.Sampled != 12 {
		t.Errorf("level %+v: what ended after the hanging item was counted", pass)
	}
	good := r.Judges[0].Criteria[1].Measures[0].Overall
	if good.Level == nil || *good.Level != 1 {
		t.Errorf("share of good %+v, want 1: findings cover another prefix", good)
	}
	if c := r.Counts; c.Graded != 6 || c.Errored != 1 || c.Pending != 5 || c.Total != 12 || c.ByClass[assay.ClassTimeout] != 1 {
		t.Errorf("counts are about all items: %+v", c)
	}
	if r.Excluded.Unsettled != 5 {
		t.Errorf("excluded %+v", r.Excluded)
	}
}

func TestARetryIsReadWithItsChain(t *testing.T) {
	b := newBed(t)
	f := b.run(b.contents, 0)
	outcomes := map[int64]string{}
	for seq := int64(1); seq <= 12; seq++ {
		outcomes[seq] = []string{"good", "bad", "network"}[seq%3]
	}
	b.end(f, outcomes)
	b.finish(f)
	first := b.report(f.Run)
	if first.Counts.Graded != 8 || first.Counts.Errored != 4 {
		t.Fatalf("first run: %+v", first.Counts)
	}
	var again []store.FrameRow
	for seq := int64(1); seq <= 12; seq++ {
		if outcomes[seq] == "network" {
			again = append(again, b.contents[seq-1])
		}
	}
	retry := b.run(again, f.Run)
	b.end(retry, map[int64]string{1: "good"})
	running := b.report(retry.Run)
	if got, want := *running.Judges[0].Criteria[0].Measures[0].Overall.Level, *first.Judges[0].Criteria[0].Measures[0].Overall.Level; got != want {
		t.Errorf("a retry in the middle changes the level from %v to %v", want, got)
	}
	if c := running.Counts; c.Graded != 9 || c.Pending != 3 || c.Errored != 0 || c.Total != 12 {
		t.Errorf("counts of the chain: %+v", c)
	}
	b.end(retry, map[int64]string{2: "good", 3: "good", 4: "bad"})
	b.finish(retry)
	r := b.report(retry.Run)
	if c := r.Counts; c.Graded != 12 || c.Total != 12 || r.Run.Retries[0] != f.Run || !r.Covers.Complete || r.Covers.Of != 12 {
		t.Errorf("counts of the ended chain: %+v", c)
	}
	if level := *r.Judges[0].Criteria[0].Measures[0].Overall.Level; math.Abs(level-7.0/12) > 1e-12 {
		t.Errorf("level %v, want 7/12", level)
	}
	if r.Spend.Attempts != 16 || r.Spend.Usage.Input != 1600 || r.Spend.Cost != nil || r.Spend.Unpriced != 16 {
		t.Errorf("spend of the chain: %+v", r.Spend)
	}
}

func TestJSONLosesNothing(t *testing.T) {
	r := compose(finished())
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	var one, two strings.Builder
	if Text(&one, r, 100) != nil || Text(&two, back, 100) != nil || one.String() != two.String() {
		t.Errorf("a report that went through JSON prints otherwise:\n%s", two.String())
	}
}
