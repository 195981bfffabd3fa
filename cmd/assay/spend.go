package main

import (
	"assay/internal/api"
	"assay/internal/assay"
)

type spendCmd struct {
	By    string `default:"run" enum:"run,judge,model,day" placeholder:"GROUP" help:"What a row is: run (the default), judge, model or day."`
	From  string `placeholder:"TIME" help:"Only calls that began at or after: YYYY-MM-DD in the project's zone, or RFC 3339."`
	To    string `placeholder:"TIME" help:"Only calls that began before; a day is excluded whole."`
	RunID string `name:"run" placeholder:"RUN" help:"Only calls of this run, e.g. r3; last is the project's newest, last:SUITE the newest of a suite."`
}

func (spendCmd) Help() string {
	return `What calls used and cost, summed over every call that a run made, those of crashed, retried and cancelled runs too. The calls of "provider check" belong to no run and are not in it. What is not known is never 0: a call that was cut, or whose answer told no usage, may have cost up to what was set aside for it, and a call without a known price is counted as unknown. Calls are those that left for a model or a program; rules call nobody.

Example:

    assay spend
    assay spend --by day --from 2026-03-01
    assay spend --by model --run r3`
}

func (c *spendCmd) Run(a *app) error {
	q := api.SpendQuery{By: c.By}
	d, err := c.open(a, &q)
	if err != nil {
		return err
	}
	if q.From, q.To, err = (frameFlags{From: c.From, To: c.To}).window(a, d); err != nil {
		return err
	}
	s, err := d.Spend(a.ctx, a.Project, q)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(s)
	}
	return a.printSpend(s)
}

func (c *spendCmd) open(a *app, q *api.SpendQuery) (d *door, err error) {
	if c.RunID == "" {
		return a.look()
	}
	d, q.Run, err = runArg{c.RunID}.open(a, a.look)
	return d, err
}

func (a *app) printSpend(s api.Spending) error {
	head := map[string]string{"run": "RUN", "judge": "JUDGE", "model": "MODEL", "day": "DAY"}[s.By]
	t := newTable(a.out, head, "CALLS", "TOKENS IN", "CACHED", "OUT", "REASONING", "USD")
	amounts := []assay.USD{s.Total.Cost, s.Total.Charged()}
	for _, g := range s.Groups {
		amounts = append(amounts, g.Spend.Cost, g.Spend.Charged())
	}
	decimals := assay.Decimals(amounts...)
	for _, g := range s.Groups {
		t.row(append([]string{groupName(g)}, spendCells(g.Calls, g.Spend.Spend, decimals)...)...)
	}
	t.row(append([]string{"total"}, spendCells(s.Calls, s.Total.Spend, decimals)...)...)
	if err := t.end(); err != nil {
		return err
	}
	a.print("\n")
	for _, m := range s.Months {
		a.print("month %s  USD %s\n", m.Month, monthText(m))
	}
	return nil
}

func spendCells(calls int64, s assay.Spend, decimals int) []string {
	tokens := func(n int64) string {
		if !s.Usage.Known && calls > 0 {
			return "unknown"
		}
		if s.Unmetered > 0 {
			return comma(n) + " + unknown"
		}
		return comma(n)
	}
	in := tokens(s.Usage.Input)
	if s.Usage.Known {
		in = comma(s.Usage.Input) + s.UnmeteredText()
	}
	part := func(n int64) string {
		if s.Usage.Known && n == 0 {
			return "-" // none, or not reported
		}
		return tokens(n)
	}
	return []string{comma(calls), in, part(s.Usage.Cached), tokens(s.Usage.Output), part(s.Usage.Reasoning), s.CostColumn(decimals)}
}

func groupName(g api.SpendGroup) string {
	switch {
	case g.Day != "":
		return g.Day
	case g.Run != 0:
		return g.Run.String()
	case g.Judge != "":
		return g.Judge + " " + shortHash(g.Version)
	case g.Model != "":
		return g.Model
	case g.Kind == assay.JudgeRules:
		return "no model (rules)"
	case g.Kind == assay.JudgeCommand:
		return "none named (programs)"
	}
	return "not known"
}

// monthText is what a month spent, against its budget where it has one.
func monthText(m api.MonthSpend) string {
	text := m.Charged.Short() + " spent or set aside"
	if m.Unpriced > 0 {
		text += " + unknown for " + count(m.Unpriced, "call")
	}
	if m.Budget != nil && m.Left != nil {
		text += " of " + m.Budget.String() + ", " + m.Left.Short() + " left"
	}
	return text
}
