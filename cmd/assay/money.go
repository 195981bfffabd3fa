package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
)

// dollars is an amount on the command line.
type dollars struct{ usd assay.USD }

// Decode is for kong.
func (d *dollars) Decode(ctx *kong.DecodeContext) error {
	text, err := amountText(ctx)
	if err != nil {
		return err
	}
	if strings.EqualFold(text, "none") {
		return misuse("%q is not an amount of dollars", text).WithHint("for none leave %s out; else write US dollars, for instance 12.50", ctx.Value.ShortSummary())
	}
	d.usd, err = assay.ParseUSD(text)
	return err
}

// amountText takes one word, also one that begins with a dash: -1 is a wrong amount and no flag.
func amountText(ctx *kong.DecodeContext) (string, error) {
	t := ctx.Scan.Pop()
	text, _ := t.Value.(string)
	if t.IsEOL() || t.Type == kong.UntypedToken && strings.HasPrefix(text, "--") {
		return "", misuse("an amount is missing").WithHint("write US dollars, for instance %s 12.50", ctx.Value.ShortSummary())
	}
	return text, nil
}

// amount is nil where no flag was given.
func amount(d *dollars) *assay.USD {
	if d == nil {
		return nil
	}
	return &d.usd
}

// budgetChange is an amount or none.
type budgetChange struct{ budget api.Budget }

// Decode is for kong.
func (b *budgetChange) Decode(ctx *kong.DecodeContext) error {
	text, err := amountText(ctx)
	if err != nil || strings.EqualFold(text, "none") {
		b.budget = api.SetBudget(nil)
		return err
	}
	usd, err := assay.ParseUSD(text)
	b.budget = api.SetBudget(&usd)
	if e := new(*assay.Error); errors.As(err, e) {
		return (*e).WithHint("write US dollars, for instance 12.50, or none for no budget")
	}
	return err
}

// change leaves a budget as it is where no flag was given.
func change(b *budgetChange) api.Budget {
	if b == nil {
		return api.Budget{}
	}
	return b.budget
}

// budgetFlags bound what a run may spend.
type budgetFlags struct {
	Budget        *dollars `placeholder:"USD" help:"Hard budget: the run pauses before a call could cost more than what is left of it."`
	AllowUnpriced bool     `help:"Under a budget: let calls leave whose price is not known. They are not counted."`
}

func comma(n int64) string { return humanize.Comma(n) }

// spendText says what a run used and cost.
func spendText(s assay.Spend) string { return tokensText(s) + ", USD " + s.CostText() }

func tokensText(s assay.Spend) string {
	if !s.Usage.Known {
		return "no tokens reported"
	}
	text := fmt.Sprintf("%s tokens in", comma(s.Usage.Input))
	if s.Usage.Cached > 0 {
		text += fmt.Sprintf(" (%s cached)", comma(s.Usage.Cached))
	}
	text += fmt.Sprintf(", %s out", comma(s.Usage.Output))
	if s.Usage.Reasoning > 0 {
		text += fmt.Sprintf(" (%s reasoning)", comma(s.Usage.Reasoning))
	}
	return text + s.UnmeteredText()
}

// budgetText says what is left of a run's budget.
func budgetText(v api.RunView) string {
	text := "none"
	if v.Budget != nil {
		text = "USD " + v.Budget.String()
		if v.BudgetLeft != nil {
			text += ", " + v.BudgetLeft.Short() + " left"
		}
	}
	if v.Spec.Unpriced {
		text += ", calls of unknown price allowed"
	}
	return text
}

// orUnknown prints an amount that may not be known: never 0 then.
func orUnknown(u *assay.USD) string {
	if u == nil {
		return "unknown"
	}
	return u.Short()
}

// perMillion is a price with where it is from, of what day, and what it holds for.
func perMillion(p *assay.Price) string {
	if p == nil {
		return "unknown: `assay models set` gives one"
	}
	text := "in " + p.Input.String()
	if p.Cached != nil {
		text += ", cached " + p.Cached.String()
	}
	if p.CacheWrite != nil {
		text += ", cache write " + p.CacheWrite.String()
	}
	text += ", out " + p.Output.String() + " per million tokens"
	if from := priceSource(p); from != "" {
		text += ", " + from
	}
	if p.UpTo > 0 {
		text += ", for prompts up to " + comma(p.UpTo) + " tokens"
	}
	return text
}

// priceDecimals are those with which every price of a column is exact, two or more.
func priceDecimals(prices []assay.USD) int {
	decimals := 2
	for _, p := range prices {
		_, part, _ := strings.Cut(p.String(), ".")
		decimals = max(decimals, len(part))
	}
	return decimals
}

func priceSource(p *assay.Price) string {
	parts := []string{}
	if p.Source != "" {
		parts = append(parts, p.Source)
	}
	if p.AsOf != nil {
		parts = append(parts, p.AsOf.UTC().Format("2006-01-02"))
	}
	return strings.Join(parts, ", ")
}
