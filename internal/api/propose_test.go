package api_test

import (
	"slices"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/report/propose"
	"assay/internal/stats"
)

// A plan for a margin proposes three splits and is by the sizes of one of them; a run with those sizes is the plan.
func TestPlanForAMargin(t *testing.T) {
	w := stocked(t, 60)
	w.judge.open()
	ctx := t.Context()
	p, err := w.tcp.Propose(ctx, "default", api.PlanRequest{GradeRequest: good(), Margin: 0.1})
	if err != nil || p.Proposals == nil || len(p.Proposals.Proposals) != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	if all := p.Proposals; all.Best == "" || all.Chosen != all.Best || all.Expected != 0.5 || all.Target != stats.Window {
		t.Fatalf("%+v", all)
	}
	chosen, err := p.Proposals.Pick("")
	if err != nil || p.Sampled != chosen.Sessions || *chosen.Margin > 0.1 || p.Sampled >= 60 {
		t.Fatalf("%+v has %d sampled (%v)", chosen, p.Sampled, err)
	}
	q := good()
	q.Sizes = chosen.Sizes
	g, err := w.tcp.Grade(ctx, "default", q, "")
	if err != nil {
		t.Fatal(err)
	}
	v := ended(t, w.tcp, g.ID)
	run, err := w.tcp.Run(ctx, g.ID)
	if err != nil || !slices.Equal(run.Strata, p.Strata) || v.Sampled != p.Sampled {
		t.Errorf("the run has %+v, the plan %+v (%v)", run.Strata, p.Strata, err)
	}

	// What was graded is expected from then on, and users limit what is said of the process.
	p, err = w.tcp.Propose(ctx, "default", api.PlanRequest{GradeRequest: good(), Margin: 0.02, Target: stats.Process, Split: propose.Neyman})
	if err != nil || p.Proposals.Best != "" || p.Proposals.Proposals[0].Absent != stats.Unreachable || p.Sampled != 60 {
		t.Fatalf("%+v, %v", p.Proposals, err)
	}
	var seen int64
	for _, h := range p.Proposals.Strata {
		seen += h.Seen
	}
	if seen != chosen.Sessions || p.Proposals.Expected < 0.9 {
		t.Errorf("%d seen of %d, %v is expected", seen, chosen.Sessions, p.Proposals.Expected)
	}

	sizes := []assay.StratumSize{{Stratum: assay.Stratum{Day: "1999-01-01", Arm: "x"}, N: 3}}
	for name, q := range map[string]api.PlanRequest{
		"both":           {GradeRequest: good(), Margin: 0.1, ForBudget: ptr(assay.Dollar)},
		"split alone":    {GradeRequest: good(), Split: propose.Neyman},
		"margin":         {GradeRequest: good(), Margin: 0.7},
		"expect":         {GradeRequest: good(), Margin: 0.1, Expect: ptr(1.5)},
		"split":          {GradeRequest: good(), Margin: 0.1, Split: "moon"},
		"n too":          {GradeRequest: withN(3), Margin: 0.1},
		"unknown sizes":  {GradeRequest: withSizes(sizes)},
		"negative money": {GradeRequest: good(), ForBudget: ptr(-assay.Dollar)},
	} {
		if _, err := w.tcp.Propose(ctx, "default", q); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func withN(n int) engine.GradeRequest {
	q := good()
	q.PerStratum = &n
	return q
}

func withSizes(sizes []assay.StratumSize) engine.GradeRequest {
	q := good()
	q.Sizes = sizes
	return q
}
