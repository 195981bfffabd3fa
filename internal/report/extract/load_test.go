package extract_test

import (
	"fmt"
	"reflect"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/reporttest"
	"assay/internal/store"
)

func sessions(n int) []reporttest.Session {
	list := make([]reporttest.Session, n)
	for i := range list {
		list[i] = reporttest.Session{User: fmt.Sprintf("u%d", i%5), ID: fmt.Sprintf("s%02d", i), Day: fmt.Sprintf("2026-03-%02d", 1+i%3),
			Agent: []string{"v1", "v2", assay.Mixed}[i%3], Source: "web", Case: fmt.Sprintf("c%d", i%4)}
		if i%5 == 0 {
			list[i].User = assay.UnknownUser
		}
	}
	return list
}

var question = []assay.Criterion{
	{Name: "ok", Type: assay.Boolean}, {Name: "score", Type: assay.Number}, {Name: "kind", Type: assay.Category, Values: []string{"a", "b"}},
}

// said answers by the number in a session's name.
func said(i int) reporttest.Answer {
	switch {
	case i%7 == 6:
		return reporttest.Answer{Class: "timeout"}
	case i%7 == 5:
		return reporttest.Answer{Findings: []assay.Finding{{Criterion: "ok", Abstained: true}}}
	}
	yes := i%4 != 0
	ok := reporttest.Said("ok", yes, fmt.Sprint("because ", i%8))
	ok.Evidence = []assay.Evidence{{Quote: `a "verified":false quote`, Verified: i%3 != 0}}
	return reporttest.Answer{Pass: &yes, Cut: i%9 == 0, Findings: []assay.Finding{
		ok, reporttest.Said("score", float64(i)/2, ""), reporttest.Said("kind", []string{"a", "b"}[i%2], ""),
	}}
}

func load(w *reporttest.World, run assay.Run) (extract.Chain, *extract.Extract) {
	w.Helper()
	c, err := extract.ChainOf(w.Ctx, w.Store, run)
	w.Must(err)
	e, err := extract.Load(w.Ctx, w.Store, c, 0)
	w.Must(err)
	return c, e
}

func number(s reporttest.Session) (i int) {
	fmt.Sscanf(s.ID, "s%d", &i)
	return i
}

func TestWhatWasKeptIsWhatWasRead(t *testing.T) {
	w := reporttest.New(t, sessions(60))
	w.Judge("j", "v1", question...)
	run := w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer { return said(number(s)) })
	_, fresh := load(w, run)
	if _, found, err := w.Store.Extracts().Get(w.Ctx, run.ID, 0, extract.Format); err != nil || !found {
		t.Fatalf("nothing was kept: %v %v", found, err)
	}
	_, kept := load(w, run)
	if !reflect.DeepEqual(fresh, kept) {
		t.Errorf("read anew\n%+v\nkept\n%+v", fresh, kept)
	}
	checkColumns(t, fresh)
	w.Must(w.Store.Extracts().Keep(w.Ctx, run.ID, 0, extract.Format, []byte("spoilt"), w.Now))
	if _, again := load(w, run); !reflect.DeepEqual(fresh, again) {
		t.Error("what was spoilt was not made anew")
	}
}

func checkColumns(t *testing.T, e *extract.Extract) {
	t.Helper()
	if len(e.Rows) != 60 || len(e.Columns) != 4 || len(e.Users) != 4+12 {
		t.Fatalf("%d rows, %d columns, %d users", len(e.Rows), len(e.Columns), len(e.Users))
	}
	var quoted, unverified, fails int64
	for i, r := range e.Rows {
		pass, ok, score := e.Columns[0].Answers[i], e.Columns[1].Answers[i], e.Columns[2]
		switch want := said(i); {
		case want.Class != "":
			if r.State != assay.ItemErrored || r.Class != want.Class || pass != extract.Missing || ok != extract.Missing {
				t.Errorf("row %d: %+v", i, r)
			}
		case want.Pass == nil:
			if pass != extract.Undefined || ok != extract.Abstained {
				t.Errorf("row %d: pass %d, ok %d", i, pass, ok)
			}
		default:
			if (pass == extract.Yes) != *want.Pass || ok != pass || score.Numbers[i] != float64(i)/2 || r.Cut != want.Cut || e.Columns[3].Answers[i] != extract.Answer(i%2) {
				t.Errorf("row %d: %+v pass %d ok %d", i, r, pass, ok)
			}
			quoted++
			if i%3 == 0 {
				unverified++
			}
			if !*want.Pass {
				fails++
			}
		}
	}
	if c := e.Columns[1]; c.Quoted != quoted || c.Unverified != unverified {
		t.Errorf("%d quoted, %d unverified; want %d, %d", c.Quoted, c.Unverified, quoted, unverified)
	}
	f := e.Fails[0]
	if f.Criterion != assay.CriterionPass || f.N != fails || len(f.Reasons) != 2 || f.Reasons[0].N+f.Reasons[1].N != fails || len(f.Examples) != extract.MostExamples || f.Examples[0].Row != 0 {
		t.Errorf("fails %+v, want %d of them", f, fails)
	}
	if c := e.Calls; c.Call.N != 60 || c.Call.P50 == 0 || c.Queue.N != 60 || c.Backoff.N != 0 || c.Failed == 0 {
		t.Errorf("calls %+v", c)
	}
}

// A run under way is its completed beginning, and nothing of it is kept.
func TestPrefix(t *testing.T) {
	w := reporttest.New(t, sessions(20))
	w.Judge("j", "v1", question...)
	run := w.Run(reporttest.Plan{Judge: "j", Open: true}, func(s reporttest.Session, _ int) reporttest.Answer {
		if i := number(s); i == 8 || i == 15 {
			return reporttest.Answer{Pending: true}
		}
		return said(number(s))
	})
	c, e := load(w, run)
	if c.Covers != (extract.Covers{Through: 8, Of: 20}) || len(e.Rows) != 8 {
		t.Errorf("covers %+v with %d rows", c.Covers, len(e.Rows))
	}
	if _, found, _ := w.Store.Extracts().Get(w.Ctx, run.ID, 0, extract.Format); found {
		t.Error("a run that changes was kept")
	}
}

// A retry's answers stand at the place of the items that it retries; one under way says nothing yet.
func TestRetry(t *testing.T) {
	w := reporttest.New(t, sessions(20))
	w.Judge("j", "v1", question...)
	run := w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer { return said(number(s)) })
	again := reporttest.Plan{Judge: "j", RetryOf: run.ID, Chosen: func(s reporttest.Session) bool { return said(number(s)).Class != "" }}
	retry := w.Run(again, func(s reporttest.Session, _ int) reporttest.Answer { return reporttest.Verdict("ok", true, "now") })
	c, e := load(w, retry)
	if len(c.Runs) != 2 || len(e.Rows) != 20 {
		t.Fatalf("%d runs, %d rows", len(c.Runs), len(e.Rows))
	}
	for i, r := range e.Rows {
		if r.Content != w.Sessions[i].Content || (said(i).Class != "") != (r.Run == retry.ID) || r.State != assay.ItemGraded {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	again.RetryOf, again.Open = retry.ID, true
	open := w.Run(again, func(reporttest.Session, int) reporttest.Answer { return reporttest.Answer{Pending: true} })
	c, under := load(w, open)
	if c.Covers.Complete || !reflect.DeepEqual(under.Rows, e.Rows) {
		t.Error("a retry under way changed something")
	}
}

func TestNames(t *testing.T) {
	w := reporttest.New(t, sessions(3))
	names, err := w.Store.Extracts().Names(w.Ctx, []assay.ContentKey{w.Sessions[1].Content, 99999})
	w.Must(err)
	if len(names) != 1 || names[w.Sessions[1].Content].SessionID != "s01" || names[w.Sessions[1].Content].ContentHash == "" {
		t.Errorf("names %+v", names)
	}
}

var _ extract.Source = store.Store(nil)
