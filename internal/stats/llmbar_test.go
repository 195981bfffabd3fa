package stats

import (
	"math"
	"slices"
	"testing"
)

// verdict is one row of llmbar_verdicts.csv: 1 or 2, and 0 for an answer that could not be read.
type verdict struct{ human, ab, ba int }

func llmbar(t *testing.T) map[string][]verdict {
	rows := inputs(t, "llmbar_verdicts.csv")
	out := map[string][]verdict{}
	read := func(i int, column string) int {
		if rows.text(i, column) == "" {
			return 0
		}
		return int(rows.number(i, column))
	}
	for i := range rows.rows {
		judge := rows.text(i, "judge")
		out[judge] = append(out[judge], verdict{read(i, "human_label"), read(i, "verdict_order_ab"), read(i, "verdict_order_ba")})
	}
	return out
}

func crossed(rows []verdict, of func(verdict) (int, int)) [][]int64 {
	out := [][]int64{{0, 0}, {0, 0}}
	for _, v := range rows {
		if a, b := of(v); a > 0 && b > 0 {
			out[a-1][b-1]++
		}
	}
	return out
}

func TestReferenceLLMBar(t *testing.T) {
	type one struct {
		N             int
		Nulls         int       `json:"null_verdicts_ab"`
		Table         [][]int64 `json:"table_human_by_judge_ab"`
		Accuracy      float64   `json:"accuracy_ab"`
		Kappa         float64   `json:"kappa_ab"`
		ASE           float64
		Order         [][]int64 `json:"order_consistency_table"`
		OrderAgree    float64   `json:"order_agreement"`
		OrderKappa    float64   `json:"order_kappa"`
		OrderKappaASE float64   `json:"order_kappa_ase"`
	}
	judges := llmbar(t)
	want := reference[map[string]one](t, "llmbar_by_judge_all419")
	for name, w := range want {
		rows := judges[name]
		table := crossed(rows, func(v verdict) (int, int) { return v.human, v.ab })
		if len(rows) != w.N || !slices.EqualFunc(table, w.Table, slices.Equal) {
			t.Errorf("%s: %d rows, %v, want %d, %v", name, len(rows), table, w.N, w.Table)
		}
		got := Kappa(table, Unweighted, .95)
		printed(t, name+" nulls", float64(int64(w.N)-got.N), float64(w.Nulls), 0)
		printedValue(t, name, got.Kappa, w.Kappa, 1e-12)
		printedValue(t, name+" SE", got.SE, w.ASE, 1e-12)
		of := confusionOf(table).Of(.95)
		printedValue(t, name+" accuracy", of.Accuracy.Value, w.Accuracy, 1e-12)
		if !got.Raw.Has(of.Accuracy.X) {
			t.Errorf("%s: %+v", name, got.Raw)
		}
		order := Kappa(crossed(rows, func(v verdict) (int, int) { return v.ab, v.ba }), Unweighted, .95)
		printedValue(t, name+" order", order.Observed, w.OrderAgree, 1e-12)
		printedValue(t, name+" order kappa", order.Kappa, w.OrderKappa, 1e-12)
		printedValue(t, name+" order kappa SE", order.SE, w.OrderKappaASE, 1e-12)
	}

	// GPT-4 against ChatGPT on the same items: which was right.
	pair := reference[struct {
		Table [][]int64
		Exact float64 `json:"exact_p"`
	}](t, "llmbar_mcnemar_gpt4_vs_chatgpt0301_vanilla_ab")
	var right []verdict
	right4, rightC := judges["GPT-4/Vanilla"], judges["ChatGPT-0301/Vanilla"]
	for i, a := range right4 {
		v := verdict{ab: 2, ba: 2}
		if a.ab == a.human {
			v.ab = 1
		}
		if rightC[i].ab == rightC[i].human {
			v.ba = 1
		}
		right = append(right, v)
	}
	table := crossed(right, func(v verdict) (int, int) { return v.ab, v.ba })
	if !slices.EqualFunc(table, pair.Table, slices.Equal) {
		t.Errorf("%v, want %v", table, pair.Table)
	}
	printedValue(t, "GPT-4 against ChatGPT", McNemar(table[0][1], table[1][0]).Exact, pair.Exact, 1e-10)
	d := Paired([]Pairs{{Size: 419, Drawn: 419, Both: 419, Rises: table[0][1], Falls: table[1][0]}}, nil, .95, 1)
	printedValue(t, "net", d.Level, (154.-12)/419, 1e-12)
	if !(d.Interval.Low > .28) || !(d.P.X < .001) {
		t.Errorf("paired: %+v", d)
	}
}

func confusionOf(table [][]int64) Confusion {
	return Confusion{
		TruePositive: float64(table[0][0]), FalseNegative: float64(table[0][1]),
		FalsePositive: float64(table[1][0]), TrueNegative: float64(table[1][1]),
	}
}

// A judge that is worse than chance has no inverse; in label-based correction it adds nothing to the labels,
// and a good one does.
func TestLLMBarCorrection(t *testing.T) {
	widths := map[string]float64{}
	for _, name := range []string{"GPT-4/Vanilla", "LLaMA2/Vanilla"} {
		var rows []verdict
		for _, v := range llmbar(t)[name] {
			if v.ab > 0 {
				rows = append(rows, v)
			}
		}
		n := int64(len(rows))
		s := Stratum{Size: 100 * n, Drawn: n, Observed: n, Domain: n}
		var labels []Label
		var positive, truth float64
		for i, v := range rows {
			if v.ab == 1 {
				s.Sum++
			}
			if v.human == 1 {
				truth++
			}
			if i%4 == 0 {
				labels = append(labels, Label{Test: v.ab == 1, Truth: v.human == 1, Probability: .25})
				if v.human == 1 {
					positive++
				}
			}
		}
		got := LabelCorrected([]Stratum{s}, nil, labels, Window, .95)
		m := float64(len(labels))
		alone := ClopperPearson(positive, m, .95)
		widths[name] = got.Interval.Width() / alone.Width()
		if !got.Interval.Has(truth / float64(n)) {
			t.Errorf("%s: %+v, truth %v", name, got, truth/float64(n))
		}
		back := RoganGladen(s.Sum/float64(n), float64(n), confusionOf(crossed(rows, func(v verdict) (int, int) { return v.human, v.ab })), .95)
		if refused := back.Level.Absent == NotBetter; refused != (name == "LLaMA2/Vanilla") {
			t.Errorf("%s: %+v", name, back)
		}
		if name == "LLaMA2/Vanilla" && math.Abs(got.Level.X-positive/m) > .03 {
			t.Errorf("%s moves the labels' own rate %v to %v", name, positive/m, got.Level.X)
		}
	}
	if w := widths["LLaMA2/Vanilla"]; w < .93 || w > 1.05 {
		t.Errorf("worse than chance: %.3f of the width that labels alone give", w)
	}
	if w := widths["GPT-4/Vanilla"]; w > .9 {
		t.Errorf("a good judge: %.3f of the width that labels alone give", w)
	}
}
