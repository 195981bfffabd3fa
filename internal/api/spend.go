package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// Spending is what a project's calls used and cost, in groups.
type Spending struct {
	Project string       `json:"project"`
	By      string       `json:"by"`
	Zone    string       `json:"zone" doc:"in which a day is a day and a month a month"`
	Groups  []SpendGroup `json:"groups" nullable:"false"`
	Calls   int64        `json:"calls" doc:"of total: attempts that called a model or a program; rules call nobody"`
	Total   Spent        `json:"total"`
	Months  []MonthSpend `json:"months" nullable:"false" doc:"every month that the groups touch, and the present one: all of the project's calls in it, newest first"`
}

// SpendGroup is one row: of the fields that name it those are set that it is grouped by.
type SpendGroup struct {
	Day     string          `json:"day,omitempty"`
	Run     assay.RunID     `json:"run,omitempty"`
	Judge   string          `json:"judge,omitempty"`
	Version assay.Hash      `json:"judge_version,omitempty"`
	Model   string          `json:"model,omitempty" doc:"as served, or as asked where no answer named one; absent where none is named"`
	Kind    assay.JudgeKind `json:"kind,omitempty" doc:"by model, where none is named: what answered instead"`
	Calls   int64           `json:"calls" doc:"of spend: attempts that called a model or a program; rules call nobody"`
	Spend   Spent           `json:"spend"`
}

// Spent is a spend of which a reader cannot take what is known for all of it.
type Spent struct {
	assay.Spend
	Whole *assay.USD `json:"cost_usd" nullable:"true" doc:"null where the cost of any call is not known; known_cost_usd, held_usd and unpriced tell more"`
}

func spent(s assay.Spend) Spent {
	out := Spent{Spend: s}
	if s.HeldN == 0 && s.Unpriced == 0 {
		out.Whole = &s.Cost
	}
	return out
}

// MonthSpend is one calendar month of a project against its budget. The budget is the present one, so
// that only the present month has it.
type MonthSpend struct {
	Month    string     `json:"month" doc:"e.g. 2026-03"`
	Charged  assay.USD  `json:"charged_usd" doc:"spent, or set aside for calls whose cost is not known"`
	Unpriced int64      `json:"unpriced" doc:"calls of which nobody knows what they cost; they are not in charged_usd"`
	Budget   *assay.USD `json:"budget_usd,omitempty"`
	Left     *assay.USD `json:"left_usd,omitempty"`
}

// SpendQuery selects calls. Zero fields select all.
type SpendQuery struct {
	By       string // run, judge, model or day
	Run      assay.RunID
	From, To *time.Time
}

type spendInput struct {
	ProjectInput
	By   string    `query:"by" enum:"run,judge,model,day" default:"run" doc:"what a group is"`
	Run  string    `query:"run" doc:"only calls of this run"`
	From time.Time `query:"from" doc:"only calls that began at this time or later"`
	To   time.Time `query:"to" doc:"only calls that began before"`
}

func (s *server) spendRoutes(a huma.API) {
	route(s, a, huma.Operation{OperationID: "get-spend", Method: http.MethodGet, Path: "/projects/{project}/spend", Tags: []string{"projects"},
		Summary:     "What calls used and cost, by run, judge, model or day",
		Description: "What is not known is never 0: a call whose cost is not known is held at the most that it can be, and one whose price is not known is counted as unpriced."},
		func(ctx context.Context, in *spendInput) (*answer[Spending], error) { return say(s.spend(ctx, in)) })
}

func (s *server) spend(ctx context.Context, in *spendInput) (out Spending, err error) {
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return out, err
	}
	q := store.SpendQuery{Project: p.ID, Zone: p.Settings.Location()}
	if !in.From.IsZero() {
		q.From = &in.From
	}
	if !in.To.IsZero() {
		q.To = &in.To
	}
	if q.From != nil && q.To != nil && !q.From.Before(*q.To) {
		return out, assay.Errorf(assay.CodeInvalid, "the window from %s to %s is empty", q.From.Format(time.RFC3339), q.To.Format(time.RFC3339)).
			WithHint("from is inclusive, to is exclusive and must be later")
	}
	if in.Run != "" {
		run, err := s.run(ctx, RunInput{Run: in.Run})
		if err != nil {
			return out, err
		}
		if run.ProjectID != p.ID {
			return out, assay.Errorf(assay.CodeNotFound, "run %s is not of project %s", run.ID, p.Name).WithHint("it is of project %s", run.Project)
		}
		q.Run = run.ID
	}
	lines, err := s.Store.Spending().Lines(ctx, q)
	if err != nil {
		return out, err
	}
	asked, err := s.asked(ctx, p.ID, lines, in.By == "model")
	if err != nil {
		return out, err
	}
	out = Spending{Project: p.Name, By: in.By, Zone: q.Zone.String(), Groups: groupsOf(lines, in.By, asked)}
	var total assay.Spend
	for _, g := range out.Groups {
		out.Calls, total = out.Calls+g.Calls, total.Add(g.Spend.Spend)
	}
	out.Total = spent(total)
	out.Months, err = s.months(ctx, p, lines)
	return out, err
}

// askedJudge is what calls of a judge version go to.
type askedJudge struct {
	kind  assay.JudgeKind
	model string // as asked; "" is none, or not looked up
}

func (s *server) asked(ctx context.Context, project assay.ProjectID, lines []assay.SpendLine, models bool) (map[assay.Hash]askedJudge, error) {
	asked := map[assay.Hash]askedJudge{}
	for _, l := range lines {
		if _, known := asked[l.Version]; known {
			continue
		}
		v, err := s.Store.Judges().Version(ctx, project, l.Version)
		if err != nil {
			return nil, err
		}
		asked[l.Version] = askedJudge{kind: v.Kind}
		if models {
			asked[l.Version] = askedJudge{kind: v.Kind, model: s.modelOf(ctx, l.Run, v)}
		}
	}
	return asked, nil
}

// modelOf names what a run asked a judge version at. Sums do not fail for want of a name.
func (s *server) modelOf(ctx context.Context, id assay.RunID, v assay.JudgeVersion) string {
	run, err := s.Store.Runs().Get(ctx, id)
	if err != nil {
		return ""
	}
	for _, j := range run.Spec.Judges {
		if j.Version == v.ID {
			_, key, _ := s.Models.Of(v, j.Settings)
			return key.Model
		}
	}
	return ""
}

// groupsOf folds lines; runs come newest first, days too, judges and models by name.
func groupsOf(lines []assay.SpendLine, by string, asked map[assay.Hash]askedJudge) []SpendGroup {
	sums := map[SpendGroup]SpendGroup{}
	for _, l := range lines {
		var key SpendGroup
		switch by {
		case "day":
			key.Day = l.Day
		case "judge":
			key.Judge, key.Version = l.Judge, l.Version
		case "model":
			if key.Model = cmp.Or(l.Model, asked[l.Version].model); key.Model == "" {
				key.Kind = asked[l.Version].kind
			}
		default:
			key.Run = l.Run
		}
		sum := sums[key]
		if sum.Spend.Spend = sum.Spend.Add(l.Spend); asked[l.Version].kind != assay.JudgeRules {
			sum.Calls += l.Spend.Attempts
		}
		sums[key] = sum
	}
	groups := make([]SpendGroup, 0, len(sums))
	for key, sum := range sums {
		key.Calls, key.Spend = sum.Calls, spent(sum.Spend.Spend)
		groups = append(groups, key)
	}
	slices.SortFunc(groups, func(a, b SpendGroup) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(b.Run, a.Run), cmp.Compare(a.Judge, b.Judge),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Kind, b.Kind))
	})
	return groups
}

// months lists those that lines touch and the present one.
func (s *server) months(ctx context.Context, p assay.Project, lines []assay.SpendLine) ([]MonthSpend, error) {
	zone := p.Settings.Location()
	at := map[string]time.Time{}
	now := s.Now().In(zone)
	at[now.Format(monthForm)] = now
	for _, l := range lines {
		day, err := time.ParseInLocation(time.DateOnly, l.Day, zone)
		if err == nil {
			at[day.Format(monthForm)] = day
		}
	}
	months := make([]MonthSpend, 0, len(at))
	for _, t := range at {
		m, err := s.month(ctx, p, t)
		if err != nil {
			return nil, err
		}
		months = append(months, *m)
	}
	slices.SortFunc(months, func(a, b MonthSpend) int { return cmp.Compare(b.Month, a.Month) })
	return months, nil
}

const monthForm = "2006-01"

// month sums the calendar month of t in p's zone.
func (s *Services) month(ctx context.Context, p assay.Project, t time.Time) (*MonthSpend, error) {
	zone := p.Settings.Location()
	from, to := assay.MonthOf(t, zone)
	charged, unpriced, err := s.Store.Spending().Charged(ctx, p.ID, from, to)
	if err != nil {
		return nil, err
	}
	out := &MonthSpend{Month: from.Format(monthForm), Charged: charged, Unpriced: unpriced}
	if s.Now().In(zone).Format(monthForm) == out.Month {
		out.Budget = p.Settings.MonthBudget
		out.Left = assay.Spend{Cost: charged}.Left(out.Budget)
	}
	return out, nil
}
