package api

import (
	"context"
	"slices"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/report/propose"
)

// PlanRequest is what a grade run would be asked for, or what it should reach: a margin or a budget, for which sizes
// are proposed. The sizes of a proposal are what a request to start a run takes as its own.
type PlanRequest struct {
	engine.GradeRequest
	Margin    float64        `json:"margin,omitempty" doc:"half the width of the interval of the pass rate that a report should have, above 0 and below 0.5; in place of per_stratum and sizes"`
	ForBudget *assay.USD     `json:"for_budget_usd,omitempty" doc:"or: as many sessions as are expected to cost this much in US dollars. It bounds the sample; budget_usd bounds the run"`
	Split     propose.Split  `json:"split,omitempty" enum:"equal,proportional,neyman" doc:"the proposal whose sizes the plan shows; absent: the best"`
	Target    propose.Target `json:"target,omitempty" enum:"window,process" doc:"what the margin is of; absent: window"`
	Expect    *float64       `json:"expect,omitempty" minimum:"0" maximum:"1" doc:"the pass rate that is expected; absent: what these judges said before of these days and arms, else 0.5"`
}

// proposes says whether sizes are asked for.
func (q PlanRequest) proposes() bool { return q.Margin != 0 || q.ForBudget != nil }

func (q PlanRequest) check() error {
	if !q.proposes() {
		if q.Split != "" || q.Target != "" || q.Expect != nil {
			return assay.Errorf(assay.CodeInvalid, "split, target and expect are given without a margin").WithHint("give margin or for_budget_usd, for which sizes are proposed")
		}
		return nil
	}
	if err := checkBudget(q.ForBudget); err != nil {
		return err
	}
	if q.PerStratum != nil || q.Sizes != nil {
		return assay.Errorf(assay.CodeInvalid, "sizes are given, and proposals are asked for").WithHint("leave out per_stratum and sizes, or margin and for_budget_usd")
	}
	if q.Session != "" {
		return assay.Errorf(assay.CodeInvalid, "a session and a margin are given").WithHint("one session is graded whole: leave out margin and for_budget_usd")
	}
	return nil
}

// proposed is a plan by the sizes of the proposal that was asked for, or the best; without one by those of the project.
func (s *server) proposed(ctx context.Context, p assay.Project, q PlanRequest) (out Plan, err error) {
	probe := q.GradeRequest
	probe.Force, probe.CountUsers = true, q.Target == propose.Process // what was graded already tells no price
	base, err := s.Engine.Preview(ctx, p, probe)
	if err != nil {
		return out, err
	}
	e, err := propose.Before(ctx, s.Store, p.ID, base.Spec, base.Strata)
	if err != nil {
		return out, err
	}
	made, err := propose.Make(propose.Request{
		Evidence: e, Users: usersOf(base.Users), Margin: q.Margin, Budget: q.ForBudget, Price: priceOf(base),
		Target: q.Target, Expect: q.Expect, Seed: proposalSeed,
	})
	if err != nil {
		return out, err
	}
	out.Proposals = &made
	final := q.GradeRequest
	if one, err := made.Pick(q.Split); err == nil {
		made.Chosen, final.Sizes = one.Split, one.Sizes
	}
	if out.Preview, err = s.Engine.Preview(ctx, p, final); err == nil && reuses(out.Preview) {
		made.Notes = append(made.Notes, "Costs are of sessions that were not graded before; some were, and the plan says what is left to pay.")
	}
	return out, err
}

// reuses says whether some of a plan is graded already.
func reuses(p engine.Preview) bool {
	return slices.ContainsFunc(p.Judges, func(j engine.JudgePreview) bool { return j.Reused > 0 && j.Kind != assay.JudgeRules })
}

// proposalSeed is a fixed one: the same request has the same proposals.
const proposalSeed = 1

func usersOf(counts []engine.UserCount) (out []propose.User) {
	for _, c := range counts {
		out = append(out, propose.User{Stratum: c.Stratum, User: c.User, N: c.N})
	}
	return out
}

// priceOf is what one session costs, by a preview in which nothing is reused. What is not known of one judge is not
// known of all.
func priceOf(p engine.Preview) (out propose.Price) {
	if p.Sampled == 0 {
		return out
	}
	var expected, least, most assay.USD
	out = propose.Price{Expected: &expected, Least: &least, Most: &most}
	for _, j := range p.Judges {
		c := j.Cost
		if j.Kind == assay.JudgeRules {
			continue
		}
		if c == nil {
			return propose.Price{}
		}
		add(&out.Expected, c.Expected, p.Sampled)
		add(&out.Least, c.Least, p.Sampled)
		add(&out.Most, c.Most, p.Sampled)
	}
	return out
}

// add adds one session's part of an amount, rounded up.
func add(to **assay.USD, all *assay.USD, sessions int64) {
	if *to == nil || all == nil {
		*to = nil
		return
	}
	**to += (*all + assay.USD(sessions) - 1) / assay.USD(sessions)
}
