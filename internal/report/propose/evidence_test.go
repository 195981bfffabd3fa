package propose_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/propose"
	"assay/internal/report/reporttest"
)

// sessions of 20 users: each has six over three days; those of every fourth user fail.
func sessions() (list []reporttest.Session) {
	for i := range 120 {
		list = append(list, reporttest.Session{User: fmt.Sprintf("u%02d", i%20), ID: fmt.Sprintf("s%03d", i), Day: fmt.Sprintf("2026-03-%02d", 1+i%3), Arm: "a"})
	}
	return list
}

func before(w *reporttest.World, run assay.Run, days ...string) propose.Evidence {
	w.Helper()
	var strata []assay.PlannedStratum
	for i, day := range days {
		strata = append(strata, assay.PlannedStratum{Stratum: assay.Stratum{Day: day, Arm: "a"}, Index: i, Eligible: 40, Sampled: 1})
	}
	e, err := propose.Before(w.Ctx, w.Store, w.Project.ID, run.Spec, strata)
	w.Must(err)
	return e
}

func passes(s reporttest.Session, _ int) reporttest.Answer {
	yes := strings.TrimLeft(s.User, "u0") != "" && !strings.HasSuffix(s.User, "4") && !strings.HasSuffix(s.User, "8")
	return reporttest.Verdict("ok", yes, "")
}

// What counts is each stratum's best known run of the same judge version: not runs of another version, not a second
// run of the same sessions on top, not what has not ended.
func TestWhatWasSeenBefore(t *testing.T) {
	w := reporttest.New(t, sessions())
	question := assay.Criterion{Name: "ok", Type: assay.Boolean}
	w.Judge("j", "v0", question)
	w.Run(reporttest.Plan{Judge: "j"}, func(reporttest.Session, int) reporttest.Answer { return reporttest.Verdict("ok", false, "") })
	w.Judge("j", "v1", question)
	few := w.Run(reporttest.Plan{Judge: "j", Chosen: func(s reporttest.Session) bool { return s.ID < "s030" }}, passes)
	e := before(w, few, "2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04")
	if e.Judge != "j" || e.Strata[0].Seen != 10 || e.Strata[3].Seen != 0 || e.Seen != 0 {
		t.Fatalf("%+v", e)
	}
	all := w.Run(reporttest.Plan{Judge: "j", Chosen: func(s reporttest.Session) bool { return s.ID < "s090" }}, passes)
	again := w.Run(reporttest.Plan{Judge: "j", Chosen: func(s reporttest.Session) bool { return s.ID < "s012" }}, passes)
	w.Run(reporttest.Plan{Judge: "j", Open: true}, passes)
	for _, run := range []assay.Run{all, again} {
		e = before(w, run, "2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04")
		var seen, hits int64
		for _, h := range e.Strata {
			seen, hits = seen+h.Seen, hits+h.Hits
		}
		want := int64(0)
		for _, s := range w.Sessions[:90] {
			if *passes(s, 0).Pass {
				want++
			}
		}
		if seen != 90 || hits != want || e.Strata[3].Seen != 0 {
			t.Errorf("%d of %d, want %d of 90", hits, seen, want)
		}
	}
	// A user passes or fails whole, so two sessions of one are as alike as can be, but for the days' own rates.
	if !e.Alikes || e.Alike < 0.9 {
		t.Errorf("alike %v, known %v", e.Alike, e.Alikes)
	}

	// Of other days only the rate of all is known.
	if e = before(w, all, "2026-04-01"); e.Strata[0].Seen != 0 || e.Seen != 90 {
		t.Errorf("%+v", e)
	}
	p, err := propose.Make(propose.Request{Evidence: e, Margin: 0.2})
	if err != nil || math.Abs(p.Expected-float64(e.Hits+1)/92) > 1e-9 || p.Basis != "by 90 sessions that j graded before, none of them of these days and arms" {
		t.Errorf("%v, %q (%v)", p.Expected, p.Basis, err)
	}
}

// Where users are no more alike than others, the correlation is about nothing.
func TestUsersThatAreNotAlike(t *testing.T) {
	w := reporttest.New(t, sessions())
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	random := rand.New(rand.NewPCG(5, 5))
	run := w.Run(reporttest.Plan{Judge: "j"}, func(reporttest.Session, int) reporttest.Answer {
		return reporttest.Verdict("ok", random.IntN(2) == 0, "")
	})
	if e := before(w, run, "2026-03-01", "2026-03-02", "2026-03-03"); !e.Alikes || e.Alike > 0.1 {
		t.Errorf("alike %v, known %v", e.Alike, e.Alikes)
	}
}

// Another zone or arm key makes strata of the same name other ones.
func TestOtherStrataOfTheSameName(t *testing.T) {
	w := reporttest.New(t, sessions())
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	run := w.Run(reporttest.Plan{Judge: "j"}, passes)
	run.Spec.Settings.ArmKey = "variant"
	if e := before(w, run, "2026-03-01"); e.Strata[0].Seen != 0 || e.Seen != 0 {
		t.Errorf("%+v", e)
	}
}
