package check_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/check"
	"assay/internal/report/draw"
	"assay/internal/report/print"
	"assay/internal/report/reporttest"
	"assay/internal/stats"
)

func sessions(n int) (list []reporttest.Session) {
	for i := range n {
		list = append(list, reporttest.Session{User: fmt.Sprintf("u%d", i), ID: fmt.Sprintf("s%03d", i), Day: fmt.Sprintf("2026-03-%02d", 1+i%4), Agent: []string{"v1", "v2"}[i%2]})
	}
	return list
}

func number(s reporttest.Session) (i int) {
	fmt.Sscanf(s.ID, "s%d", &i)
	return i
}

// said and true are what the judge says of session i and what is so: it passes one of six that fail.
func said(i int) bool { return i%5 != 0 || i%30 == 0 }
func good(i int) bool { return i%5 != 0 }

func world(t *testing.T, n int) (*reporttest.World, assay.Run) {
	w := reporttest.New(t, sessions(n))
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	return w, w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", said(number(s)), "because")
	})
}

// label stores what rater says of sessions.
func label(w *reporttest.World, rater string, draw int64, of []assay.DrawMember, value func(i int) bool, more func(*assay.Label)) {
	w.Helper()
	var list []assay.Label
	for _, m := range of {
		var i int
		fmt.Sscanf(m.SessionID, "s%d", &i)
		l := assay.Label{UserID: m.UserID, SessionID: m.SessionID, ContentHash: m.ContentHash, Criterion: assay.CriterionPass, Value: []byte(fmt.Sprint(value(i))), Rater: rater, Blind: true, Use: assay.UseMeasure, Draw: draw}
		if more != nil {
			more(&l)
		}
		list = append(list, l)
	}
	_, err := w.Store.Labels().Put(w.Ctx, w.Project.ID, list, w.Now)
	w.Must(err)
}

func drawn(w *reporttest.World, run assay.Run, method assay.DrawMethod, n int) (assay.Draw, []assay.DrawMember) {
	w.Helper()
	d, members, err := draw.Sample(w.Ctx, w.Store, w.Project, draw.Request{Run: run, Method: method, N: n})
	w.Must(err)
	d, err = w.Store.Labels().CreateDraw(w.Ctx, w.Project.ID, d, members, w.Now)
	w.Must(err)
	return d, members
}

func build(w *reporttest.World, o check.Options) check.Check {
	w.Helper()
	c, err := check.Build(w.Ctx, w.Store, w.Project, "j", o)
	w.Must(err)
	return c
}

func TestLabelsOfADraw(t *testing.T) {
	w, run := world(t, 400)
	d, members := drawn(w, run, assay.DrawRandom, 120)
	label(w, "ann", d.ID, members, good, nil)
	c := build(w, check.Options{})
	if c.Labels.Used != 120 || c.Labels.Blind != 120 || len(c.Labels.Draws) != 1 || c.Run != run.ID {
		t.Fatalf("labels %+v", c.Labels)
	}
	raw, corrected := c.Rates.Raw, c.Rates.Corrected
	if want := 334.0 / 400; math.Abs(*raw.Value-want) > 1e-12 {
		t.Errorf("raw %v, want %v", *raw.Value, want)
	}
	if corrected.Value == nil || corrected.Interval == nil || corrected.Interval.Low > 0.8 || corrected.Interval.High < 0.8 || math.Abs(*corrected.Value-0.8) > 0.03 {
		t.Errorf("corrected %+v %+v, truth 0.8", corrected, corrected.Interval)
	}
	if c.Confusion.FN != 0 || *c.Confusion.Sensitivity.Value != 1 || c.Confusion.TP+c.Confusion.FP+c.Confusion.TN != 120 {
		t.Errorf("confusion %+v", c.Confusion)
	}
	if c.Disputed != c.Confusion.FP || len(c.Disagree) != int(min(c.Disputed, 20)) || c.Disagree[0].Reason != "because" || c.Disagree[0].Label != "false" {
		t.Errorf("disputed %d, %+v", c.Disputed, c.Disagree)
	}
	if os.Getenv("SHOW") != "" {
		w.Must(print.Check(os.Stdout, print.Text, c, 100))
	}
}

// Half of a draw that was labelled is a draw of half as many.
func TestTheBeginningOfADraw(t *testing.T) {
	w, run := world(t, 400)
	d, members := drawn(w, run, assay.DrawVerdicts, 100)
	label(w, "ann", d.ID, members[:60], good, nil)
	c := build(w, check.Options{})
	if c.Labels.Used != 60 || c.Rates.Corrected.Value == nil || math.Abs(*c.Rates.Corrected.Value-0.8) > 0.06 {
		t.Errorf("labels %+v corrected %+v", c.Labels, c.Rates.Corrected)
	}
	// Half of the members failed; unweighted their rate would be near 0.4.
	if share := float64(c.Confusion.TP+c.Confusion.FN) / 60; share > 0.55 {
		t.Errorf("%v of the drawn sessions pass: they were not drawn by verdict", share)
	}
}

// What was chosen because of what a judge said changes no estimate, nor does what has no chance.
func TestLabelsThatEnterNothing(t *testing.T) {
	w, run := world(t, 200)
	d, members := drawn(w, run, assay.DrawRandom, 80)
	label(w, "ann", d.ID, members, good, nil)
	before := build(w, check.Options{})
	in := map[string]bool{}
	for _, m := range members {
		in[m.SessionID] = true
	}
	var rest []assay.DrawMember
	for _, s := range w.Sessions {
		if !in[s.ID] {
			rest = append(rest, assay.DrawMember{UserID: s.User, SessionID: s.ID})
		}
	}
	wrong := func(i int) bool { return !said(i) }
	label(w, "ann", 0, rest[:20], wrong, func(l *assay.Label) { l.Use, l.Probability = assay.UseQueue, 1 })
	label(w, "ann", 0, rest[20:40], wrong, func(l *assay.Label) { l.Use, l.Probability = assay.UsePrompt, 1 })
	label(w, "ann", 0, rest[40:60], wrong, func(l *assay.Label) { l.Probability = 0 })
	after := build(w, check.Options{})
	if *before.Rates.Corrected.Value != *after.Rates.Corrected.Value || *before.Rates.Corrected.Interval != *after.Rates.Corrected.Interval ||
		before.Labels.Used != after.Labels.Used || after.Labels.Queue != 20 || after.Labels.Prompt != 20 || after.Labels.Unknown != 20 {
		t.Errorf("before %+v, after %+v", before.Labels, after.Labels)
	}
	if after.Disputed != before.Disputed+60 {
		t.Errorf("%d disputed, want all of them", after.Disputed)
	}
}

// A decision stands before raters, a majority before one, and a tie is no truth.
func TestSeveralRaters(t *testing.T) {
	w, run := world(t, 100)
	d, members := drawn(w, run, assay.DrawRandom, 40)
	label(w, "ann", d.ID, members, good, nil)
	label(w, "ben", d.ID, members[:30], func(i int) bool { return !good(i) }, nil)
	tied := build(w, check.Options{})
	if tied.Labels.Tied != 30 || tied.Labels.Used != 10 || tied.Raters.Both != 30 || len(tied.Raters.Pairs) != 1 || *tied.Raters.Pairs[0].Kappa.Value > 0 {
		t.Errorf("tied %+v raters %+v", tied.Labels, tied.Raters)
	}
	label(w, "cleo", d.ID, members[:10], good, nil)
	label(w, "the board", d.ID, members[10:20], good, func(l *assay.Label) { l.Decided = true })
	settled := build(w, check.Options{})
	if settled.Labels.Tied != 10 || settled.Labels.Used != 30 || settled.Confusion.FN != 0 {
		t.Errorf("settled %+v %+v", settled.Labels, settled.Confusion)
	}
	if one := build(w, check.Options{Rater: "ben"}); one.Labels.Used != 30 || one.Confusion.TN != 0 {
		t.Errorf("ben alone %+v %+v", one.Labels, one.Confusion)
	}
}

func TestNoLabels(t *testing.T) {
	w, _ := world(t, 40)
	c := build(w, check.Options{})
	if c.Rates.Corrected.Value != nil || c.Rates.Corrected.Absent != stats.NoLabels || c.Confusion.Accuracy.Absent != stats.NoLabels || c.Headline == "" {
		t.Errorf("%+v %+v", c.Rates.Corrected, c.Confusion.Accuracy)
	}
}

// Labels that were drawn by what one version said are weighed by what that version said, whichever version is checked.
func TestADrawOfAnotherVersion(t *testing.T) {
	w, first := world(t, 400)
	d, members := drawn(w, first, assay.DrawVerdicts, 120)
	label(w, "ann", d.ID, members, good, nil)
	w.Judge("j", "v2", assay.Criterion{Name: "ok", Type: assay.Boolean})
	kinder := func(i int) bool { return said(i) || i%4 > 0 }
	second := w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", kinder(number(s)), "because")
	})
	c := build(w, check.Options{Run: &second})
	if c.Run != second.ID || c.Labels.Used != 120 {
		t.Fatalf("labels %+v of %s", c.Labels, c.Run)
	}
	// The truth is 0.8. Had every label the same weight, half of them failing, it would come out near 0.55.
	if corrected := c.Rates.Corrected; corrected.Value == nil || math.Abs(*corrected.Value-0.8) > 0.04 {
		t.Errorf("corrected %+v", corrected)
	}
	var wrong float64
	for i := range 400 {
		if kinder(i) != good(i) {
			wrong++
		}
	}
	if got := c.Confusion.Accuracy; math.Abs(*got.Value-(1-wrong/400)) > 0.04 {
		t.Errorf("agreement %v, truth %v", *got.Value, 1-wrong/400)
	}
	// A run of a part of the sessions, and one of more than the draw could draw.
	part := w.Run(reporttest.Plan{Judge: "j", Chosen: func(s reporttest.Session) bool { return number(s) < 300 }}, func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", kinder(number(s)), "because")
	})
	if c := build(w, check.Options{Run: &part}); c.Labels.Elsewhere == 0 || math.Abs(*c.Rates.Corrected.Value-0.8) > 0.06 {
		t.Errorf("a part: %+v %+v", c.Labels, c.Rates.Corrected)
	}
}
