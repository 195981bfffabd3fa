package demo

import (
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/kinds"
)

func TestTheJudgeSeesTheStory(t *testing.T) {
	def, version, err := kinds.Parse([]byte(Judge), kinds.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if def.Name != JudgeName || version.Kind != assay.JudgeRules {
		t.Fatalf("judge %s of kind %s", def.Name, version.Kind)
	}
	j, err := kinds.Build(version, def.Settings, kinds.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()

	type group struct{ passed, n float64 }
	arms, days := map[string]*group{}, map[int]*group{}
	unverified := 0
	for _, s := range collect("assay", 5000) {
		r := j.Ask(t.Context(), judge.Question{Session: &s})
		if r.Class != assay.ClassNone || r.Answers[0].Pass == nil {
			t.Fatalf("%s: %s %s", s.SessionID, r.Class, r.Error)
		}
		for _, f := range r.Answers[0].Findings {
			for _, e := range f.Evidence {
				if !e.Verified {
					unverified++
				}
			}
		}
		arm := assay.ArmOf(s.Turns[0].Metadata, "arm", assay.ArmString)
		day := int(s.Turns[0].StartedAt.Sub(Start()) / (24 * time.Hour))
		for _, g := range []*group{at(arms, arm), at(days, day)} {
			g.n++
			if *r.Answers[0].Pass {
				g.passed++
			}
		}
	}
	if unverified > 0 {
		t.Errorf("%d quotes are not in the transcript", unverified)
	}
	if lift := arms[assay.Treatment].passed/arms[assay.Treatment].n - arms[assay.Control].passed/arms[assay.Control].n; lift < 0.08 {
		t.Errorf("the judge sees a lift of %.3f", lift)
	}
	for day, g := range days {
		if day != badDay && g.passed/g.n < days[badDay].passed/days[badDay].n+0.1 {
			t.Errorf("day %d passes %.2f, the bad day %.2f", day, g.passed/g.n, days[badDay].passed/days[badDay].n)
		}
	}
}

func at[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}
