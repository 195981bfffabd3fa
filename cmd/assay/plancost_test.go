package main

import (
	"bytes"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
)

func TestAPlanSaysWhatItWouldCost(t *testing.T) {
	usd := func(u assay.USD) *assay.USD { return &u }
	llm := func(name string, c engine.CostPreview) engine.JudgePreview {
		return engine.JudgePreview{Name: name, Kind: assay.JudgeLLM, Items: 2, Calls: 2, Cost: &c}
	}
	price := &assay.Price{Input: assay.Dollar}
	bounded := llm("a", engine.CostPreview{Exact: true, Price: price, Least: usd(assay.Dollar), Most: usd(3 * assay.Dollar)})
	endless := llm("b", engine.CostPreview{Exact: true, Price: price, Least: usd(assay.Dollar)})
	free := llm("c", engine.CostPreview{Exact: true, Price: &assay.Price{}, Least: usd(0), Most: usd(0)})
	unknown := llm("d", engine.CostPreview{})
	rules := engine.JudgePreview{Name: "r", Kind: assay.JudgeRules, Items: 2}
	program := engine.JudgePreview{Name: "p", Kind: assay.JudgeCommand, Items: 2, Calls: 2}
	reused := engine.JudgePreview{Name: "e", Kind: assay.JudgeLLM, Items: 2, Reused: 2}
	const retries = "; retries come on top of the calls"
	estimated := llm("g", engine.CostPreview{Price: price, Least: usd(assay.Dollar), Most: usd(3 * assay.Dollar)})
	long := llm("l", engine.CostPreview{Prompts: 2, TooLong: 2, Price: price, Least: usd(0)})
	long.Calls = 0
	partLong := long
	partLong.Items = 1000
	const none = "; the budget of USD 0.00 lets no call leave that may cost anything: the run would pause before the first"
	const less = "; the budget of USD 2.00 may not suffice: the run would pause there"
	for name, c := range map[string]struct {
		judges []engine.JudgePreview
		budget *assay.USD
		want   string
	}{
		"rules":                   {[]engine.JudgePreview{rules}, nil, "USD 0.0000"},
		"all reused":              {[]engine.JudgePreview{reused}, usd(0), "USD 0.0000"},
		"a range":                 {[]engine.JudgePreview{bounded, rules}, nil, "USD 1.0000 to 3.0000" + retries},
		"enough":                  {[]engine.JudgePreview{bounded}, usd(3 * assay.Dollar), "USD 1.0000 to 3.0000" + retries},
		"not enough":              {[]engine.JudgePreview{bounded}, usd(2 * assay.Dollar), "USD 1.0000 to 3.0000" + retries + less},
		"far from enough":         {[]engine.JudgePreview{bounded}, usd(assay.Dollar / 2), "USD 1.0000 to 3.0000" + retries + "; the budget of USD 0.50 does not suffice: the run would pause there"},
		"estimated":               {[]engine.JudgePreview{estimated, bounded}, nil, "USD about 2.0000 to 6.0000" + retries},
		"an estimate is no proof": {[]engine.JudgePreview{estimated}, usd(assay.Dollar / 2), "USD about 1.0000 to 3.0000" + retries + "; the budget of USD 0.50 may not suffice: the run would pause there"},
		"nothing":                 {[]engine.JudgePreview{bounded}, usd(0), "USD 1.0000 to 3.0000" + retries + none},
		"nothing is enough":       {[]engine.JudgePreview{free}, usd(0), "USD 0.0000 to 0.0000" + retries},
		"too long":                {[]engine.JudgePreview{long}, usd(0), "USD 0.0000"},
		"a part too long":         {[]engine.JudgePreview{partLong}, usd(0), "USD unknown" + retries + none},
		"no bound":                {[]engine.JudgePreview{bounded, endless}, usd(2 * assay.Dollar), "USD at least 2.0000" + retries + less},
		"free":                    {[]engine.JudgePreview{free}, nil, "USD 0.0000 to 0.0000" + retries},
		"unknown":                 {[]engine.JudgePreview{unknown}, nil, "USD unknown" + retries},
		"a program":               {[]engine.JudgePreview{program}, nil, "USD unknown" + retries},
		"partly unknown":          {[]engine.JudgePreview{bounded, unknown}, usd(2 * assay.Dollar), "USD 1.0000 to 3.0000 + unknown for d" + retries + less},
		"free or unknown":         {[]engine.JudgePreview{free, unknown, program}, nil, "USD 0.0000 to 0.0000 + unknown for d, p" + retries},
	} {
		if got := planCost(engine.Preview{Judges: c.judges}, c.budget); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAPlanSaysWhatIsLeftOfTheMonth(t *testing.T) {
	usd := func(u assay.USD) *assay.USD { return &u }
	cost := &engine.CostPreview{Exact: true, Price: &assay.Price{}, Least: usd(assay.Dollar), Most: usd(3 * assay.Dollar)}
	p := api.Plan{Preview: engine.Preview{Judges: []engine.JudgePreview{{Name: "a", Kind: assay.JudgeLLM, Calls: 1, Cost: cost}}}}
	if got := planMonth(p); got != "" {
		t.Errorf("without a budget: %q", got)
	}
	for left, want := range map[assay.USD]string{
		5 * assay.Dollar: "has 5.0000 left, enough for this run",
		2 * assay.Dollar: "has 2.0000 left, which may not suffice: the run would pause there",
		assay.Dollar / 2: "has 0.5000 left, which does not suffice: the run would pause there",
		0:                "has 0.0000 left, which lets no call leave that may cost anything: the run would pause before the first",
	} {
		p.Month = &api.MonthSpend{Budget: usd(20 * assay.Dollar), Left: &left}
		if got := planMonth(p); got != "the month's budget of USD 20.00 "+want {
			t.Errorf("%s left: %q", left, got)
		}
	}
}

func TestAPlanOfPromptsThatAreTooLong(t *testing.T) {
	for items, want := range map[int64]string{
		4: "2 made; all are too long for the model: every item would end ungradable, without a call and at no cost\n",
		5: "2 made, a random part, scaled up; all that were made are too long for the model: such items end ungradable, at no cost\n  USD      unknown\n",
	} {
		var out bytes.Buffer
		a := &app{out: &out}
		a.printCost(engine.JudgePreview{Name: "j", Items: items, Cost: &engine.CostPreview{Prompts: 2, TooLong: 2, Model: assay.ModelKey{Model: "m", Endpoint: "http://e"}}}, 2)
		if want = "\nj asks m at http://e\n  prompts  " + want; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
