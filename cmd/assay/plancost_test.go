package main

import (
	"testing"

	"assay/internal/assay"
	"assay/internal/engine"
)

func TestAPlanSaysWhatItWouldCost(t *testing.T) {
	usd := func(u assay.USD) *assay.USD { return &u }
	llm := func(name string, c engine.CostPreview) engine.JudgePreview {
		return engine.JudgePreview{Name: name, Kind: assay.JudgeLLM, Items: 2, Calls: 2, Cost: &c}
	}
	price := &assay.Price{Input: assay.Dollar}
	bounded := llm("a", engine.CostPreview{Price: price, Least: usd(assay.Dollar), Most: usd(3 * assay.Dollar)})
	endless := llm("b", engine.CostPreview{Price: price, Least: usd(assay.Dollar)})
	free := llm("c", engine.CostPreview{Price: &assay.Price{}, Least: usd(0), Most: usd(0)})
	unknown := llm("d", engine.CostPreview{})
	rules := engine.JudgePreview{Name: "r", Kind: assay.JudgeRules, Items: 2, Calls: 2}
	program := engine.JudgePreview{Name: "p", Kind: assay.JudgeCommand, Items: 2, Calls: 2}
	reused := engine.JudgePreview{Name: "e", Kind: assay.JudgeLLM, Items: 2, Reused: 2}
	const retries = "; retries come on top of the calls"
	const less = "; the budget of USD 2.00 may not suffice: the run would pause there"
	for name, c := range map[string]struct {
		judges []engine.JudgePreview
		budget *assay.USD
		want   string
	}{
		"rules":           {[]engine.JudgePreview{rules}, nil, "USD 0.0000"},
		"all reused":      {[]engine.JudgePreview{reused}, usd(0), "USD 0.0000"},
		"a range":         {[]engine.JudgePreview{bounded, rules}, nil, "USD 1.0000 to 3.0000" + retries},
		"enough":          {[]engine.JudgePreview{bounded}, usd(3 * assay.Dollar), "USD 1.0000 to 3.0000" + retries},
		"not enough":      {[]engine.JudgePreview{bounded}, usd(2 * assay.Dollar), "USD 1.0000 to 3.0000" + retries + less},
		"no bound":        {[]engine.JudgePreview{bounded, endless}, usd(2 * assay.Dollar), "USD at least 2.0000" + retries + less},
		"free":            {[]engine.JudgePreview{free}, nil, "USD 0.0000 to 0.0000" + retries},
		"unknown":         {[]engine.JudgePreview{unknown}, nil, "USD unknown" + retries},
		"a program":       {[]engine.JudgePreview{program}, nil, "USD unknown" + retries},
		"partly unknown":  {[]engine.JudgePreview{bounded, unknown}, usd(2 * assay.Dollar), "USD 1.0000 to 3.0000 + unknown for d" + retries + less},
		"free or unknown": {[]engine.JudgePreview{free, unknown, program}, nil, "USD 0.0000 to 0.0000 + unknown for d, p" + retries},
	} {
		if got := planCost(engine.Preview{Judges: c.judges}, c.budget); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
