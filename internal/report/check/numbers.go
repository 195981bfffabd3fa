package check

import (
	"encoding/json"
	"math"
	"slices"

	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// pair is a labelled row that enters estimates.
type pair struct {
	row    int32
	weight float64
	test   string // JSON
	truth  string
}

// pairs are the labelled rows that enter estimates, by row.
func (c *checker) pairs() (out []pair) {
	answered := c.answered()
	for i := range c.truths {
		if t := &c.truths[i]; t.in {
			out = append(out, pair{t.row, c.weight(t, answered), c.said(t.row), t.value})
		}
	}
	return out
}

// compose fills in all numbers.
func (c *checker) compose(elsewhere *checker) {
	p := c.pairs()
	l := &c.out.Labels
	l.Used = int64(len(p))
	for _, t := range c.truths {
		if t.in && t.blind {
			l.Blind++
		}
	}
	c.out.Raters = c.raters()
	switch c.column().Criterion.Type {
	case assay.Boolean:
		c.out.Confusion = c.confusion(p)
		c.out.Rates = c.rates(elsewhere)
	case assay.Number:
		c.out.Scale = c.numberScale(p)
		c.out.Rates = c.means()
	default:
		c.out.Scale = c.scale(p)
	}
	c.out.Slices = append(c.out.Slices, c.slices(p)...)
	c.out.Headline = c.headline()
	c.out.Notes = append(c.out.Notes, c.notes(elsewhere)...)
}

// of is a number about labels: N are the graded sessions that they stand for, n the labels.
func (c *checker) of(v stats.Value, i stats.Interval, n int) number.Number {
	out := number.Of(stats.Window, v, i)
	out.N, out.Sampled, out.Answered, out.Applies = c.graded, int64(n), int64(n), int64(n)
	return out
}

func weighed(p []pair) []stats.WeighedLabel {
	out := make([]stats.WeighedLabel, len(p))
	for i, x := range p {
		out[i] = stats.WeighedLabel{Weight: x.weight, Test: x.test == "true", Truth: x.truth == "true"}
	}
	return out
}

func (c *checker) confusion(p []pair) *Confusion {
	out := &Confusion{}
	in := map[bool]map[bool]int{true: {}, false: {}} // by what the judge said and what is true
	for _, l := range weighed(p) {
		in[l.Test][l.Truth]++
		switch {
		case l.Test && l.Truth:
			out.TP++
		case l.Test:
			out.FP++
		case l.Truth:
			out.FN++
		default:
			out.TN++
		}
	}
	got := stats.WeighConfusion(weighed(p), c.o.Confidence)
	share := func(s stats.Share, n int64) number.Number { return c.of(c.unless(s.Value), s.Interval, int(n)) }
	n := int64(len(p))
	out.Accuracy, out.Sensitivity, out.Specificity = share(got.Accuracy, n), share(got.Sensitivity, out.TP+out.FN), share(got.Specificity, out.TN+out.FP)
	out.PPV, out.NPV = share(got.PPV, out.TP+out.FP), share(got.NPV, out.TN+out.FN)
	out.Balanced, out.F1, out.MCC = share(got.Balanced, n), share(got.F1, n), share(got.MCC, n)
	out.Kappa = c.kappa(p, []string{"false", "true"}, stats.Unweighted)
	return out
}

// unless says of a number that labels without a known probability are why there is none, where there are such.
func (c *checker) unless(v stats.Value) stats.Value {
	if !v.Ok() && c.out.Labels.Used == 0 && c.out.Labels.Unknown > 0 {
		return stats.None(stats.NoProbability)
	}
	return v
}

// kappa is Cohen's of judge and labels, weighted like the labels.
func (c *checker) kappa(p []pair, values []string, w stats.Weights) number.Number {
	lists := make([][][]float64, len(values))
	table := make([][]float64, len(values))
	for i := range table {
		table[i], lists[i] = make([]float64, len(values)), make([][]float64, len(values))
	}
	var all, squares []float64
	for _, x := range p {
		i, j := slices.Index(values, x.test), slices.Index(values, x.truth)
		if i >= 0 && j >= 0 {
			lists[i][j] = append(lists[i][j], x.weight)
			all, squares = append(all, x.weight), append(squares, x.weight*x.weight)
		}
	}
	for i := range table {
		for j := range table[i] {
			table[i][j] = sum(lists[i][j])
		}
	}
	size := 1.0
	if len(all) > 0 {
		total := sum(all)
		size = total * total / sum(squares)
	}
	a := stats.WeighKappa(table, size, w, c.o.Confidence)
	return c.of(c.unless(a.Kappa), a.Interval, len(all))
}

// sum adds up in an order of its own, so that the order of labels changes no bit.
func sum(list []float64) (total float64) {
	list = slices.Clone(list)
	slices.Sort(list)
	for _, x := range list {
		total += x
	}
	return total
}

// scale is the agreement on a question of several values.
func (c *checker) scale(p []pair) *Scale {
	values := make([]string, len(c.column().Values))
	for i, v := range c.column().Values {
		values[i] = quoted(v)
	}
	out := &Scale{Values: c.column().Values}
	out.Table = make([][]int64, len(values))
	for i := range out.Table {
		out.Table[i] = make([]int64, len(values))
	}
	for _, x := range p {
		if i, j := slices.Index(values, x.test), slices.Index(values, x.truth); i >= 0 && j >= 0 {
			out.Table[i][j]++
		}
	}
	out.Exact = c.exact(p)
	w := stats.Weights(stats.Unweighted)
	if c.column().Criterion.Type == assay.Ordinal {
		w, out.Weights = stats.Quadratic, "quadratic"
	}
	out.Kappa = c.kappa(p, values, w)
	out.MeanError = c.of(stats.None(stats.OutOfRange), stats.Interval{Absent: stats.OutOfRange}, 0)
	return out
}

// exact is the weighted share of labels on which the judge agrees.
func (c *checker) exact(p []pair) number.Number {
	labels := make([]stats.WeighedLabel, len(p))
	for i, x := range p {
		labels[i] = stats.WeighedLabel{Weight: x.weight, Test: true, Truth: x.test == x.truth}
	}
	got := stats.WeighConfusion(labels, c.o.Confidence).Accuracy
	return c.of(c.unless(got.Value), got.Interval, len(p))
}

// numberScale is the error of a judge of numbers.
func (c *checker) numberScale(p []pair) *Scale {
	rows := make([]stats.Score, 0, len(p))
	for _, x := range p {
		test, ok1 := float(x.test)
		truth, ok2 := float(x.truth)
		if ok1 && ok2 {
			rows = append(rows, stats.Score{Cluster: c.userOf(x.row), Weight: x.weight, X: test - truth})
		}
	}
	m := stats.MeanScore(rows)
	none := stats.Interval{Absent: stats.OutOfRange}
	return &Scale{Exact: c.exact(p), MeanError: c.of(c.unless(m.Level), m.T(c.o.Confidence), len(rows)), Kappa: c.of(stats.None(stats.OutOfRange), none, 0)}
}

// userOf is the cluster of a row: its user, or "" where that is not known.
func (c *checker) userOf(row int32) string { return c.e.Users[c.e.Rows[row].User] }

func float(raw string) (x float64, ok bool) {
	return x, json.Unmarshal([]byte(raw), &x) == nil && !math.IsInf(x, 0)
}

func quoted(text string) string {
	raw, _ := json.Marshal(text) // a text always has a JSON form
	return string(raw)
}

// rates are the judge's rate, and what labels make of it.
func (c *checker) rates(elsewhere *checker) *Rates {
	strata := c.inputs()
	est := stats.Rate(strata)
	interval := stats.RateInterval(strata, nil, stats.Window, c.o.Confidence)
	out := &Rates{Raw: number.Of(stats.Window, est.Level, interval)}
	fill := func(n *number.Number) {
		n.N, n.Sampled, n.Answered, n.Applies = est.Size, est.Drawn, est.Observed, est.Domain
		n.Coverage, n.Low, n.High, n.Merged = est.Coverage.Pointer(), est.Low.Pointer(), est.High.Pointer(), est.Merged
	}
	fill(&out.Raw)
	var labels []stats.Label
	for i := range c.truths {
		if t := &c.truths[i]; t.in {
			labels = append(labels, stats.Label{Stratum: c.place[c.e.Rows[t.row].Stratum], User: int(c.e.Rows[t.row].User),
				Test: c.said(t.row) == "true", Truth: t.value == "true", Probability: t.probability})
		}
	}
	got := stats.LabelCorrected(strata, nil, labels, stats.Window, c.o.Confidence)
	out.Corrected = number.Of(stats.Window, c.unless(got.Level), got.Interval)
	fill(&out.Corrected)
	out.Corrected.Low, out.Corrected.High = nil, nil
	out.Transported = transported(est, interval, elsewhere, c.o.Confidence)
	out.Words = rateWords(out)
	return out
}

// transported corrects the judge's rate by what labels on another run say of its errors.
func transported(est stats.Estimate, interval stats.Interval, elsewhere *checker, confidence float64) number.Number {
	if elsewhere == nil {
		return number.Of(stats.Window, stats.None(stats.NoLabels), stats.Interval{Absent: stats.NoLabels})
	}
	p := elsewhere.pairs()
	var table stats.Confusion
	var all, squares []float64
	by := map[[2]bool][]float64{}
	for _, l := range weighed(p) {
		by[[2]bool{l.Test, l.Truth}] = append(by[[2]bool{l.Test, l.Truth}], l.Weight)
		all, squares = append(all, l.Weight), append(squares, l.Weight*l.Weight)
	}
	if len(all) > 0 && est.Level.Ok() {
		total := sum(all)
		scale := total / sum(squares) // Kish's effective number of labels over their sum
		table = stats.Confusion{TruePositive: scale * sum(by[[2]bool{true, true}]), FalsePositive: scale * sum(by[[2]bool{true, false}]),
			FalseNegative: scale * sum(by[[2]bool{false, true}]), TrueNegative: scale * sum(by[[2]bool{false, false}])}
	}
	n := interval.N
	if interval.Method == stats.MethodCensus || n <= 0 {
		n = float64(est.Domain)
	}
	got := stats.RoganGladen(est.Level.X, n, table, confidence)
	if !est.Level.Ok() {
		got.Level, got.Interval = est.Level, stats.Interval{Absent: est.Level.Absent}
	}
	out := number.Of(stats.Window, got.Level, got.Interval)
	out.N, out.Sampled, out.Answered, out.Applies = est.Size, est.Drawn, int64(len(p)), int64(len(p))
	return out
}

// means are the judge's mean, and what labels make of it.
func (c *checker) means() *Rates {
	k := c.column().Criterion
	least, most := stats.None(stats.Unbounded), stats.None(stats.Unbounded)
	if k.Min != nil {
		least = stats.Known(*k.Min)
	}
	if k.Max != nil {
		most = stats.Known(*k.Max)
	}
	strata := c.inputs()
	est := stats.Mean(strata, least, most)
	out := &Rates{Raw: number.Of(stats.Window, est.Level, stats.MeanInterval(strata, nil, stats.Window, least, most, c.o.Confidence))}
	out.Raw.N, out.Raw.Sampled, out.Raw.Answered, out.Raw.Applies = est.Size, est.Drawn, est.Observed, est.Domain
	out.Raw.Coverage, out.Raw.Low, out.Raw.High = est.Coverage.Pointer(), est.Low.Pointer(), est.High.Pointer()
	var labels []stats.ScoreLabel
	for i := range c.truths {
		t := &c.truths[i]
		truth, ok := float(t.value)
		if t.in && ok {
			labels = append(labels, stats.ScoreLabel{Stratum: c.place[c.e.Rows[t.row].Stratum], User: int(c.e.Rows[t.row].User),
				Test: c.x(t.row), Truth: truth, Probability: t.probability})
		}
	}
	got := stats.PredictionPowered(strata, c.cells(), labels, stats.Window, least, most, seed, c.o.Confidence)
	out.Corrected = number.Of(stats.Window, c.unless(got.Level), got.Interval)
	out.Corrected.N, out.Corrected.Sampled, out.Corrected.Answered, out.Corrected.Applies = est.Size, est.Drawn, int64(len(labels)), int64(len(labels))
	out.Transported = number.Of(stats.Window, stats.None(stats.NoLabels), stats.Interval{Absent: stats.NoLabels})
	out.Words = rateWords(out)
	return out
}

// seed of the folds that labels are put into: the same labels give the same number.
const seed = 1

// cells are what users' rows gave by stratum, which the folds need.
func (c *checker) cells() []stats.Cell {
	type key struct{ user, at int }
	lists := map[key][]float64{}
	for _, row := range c.rows {
		k := key{int(c.e.Rows[row].User), c.place[c.e.Rows[row].Stratum]}
		lists[k] = append(lists[k], c.x(row))
	}
	out := make([]stats.Cell, 0, len(lists))
	for k, list := range lists {
		out = append(out, stats.Cell{User: k.user, Stratum: k.at, Domain: int64(len(list)), Sum: sum(list)})
	}
	slices.SortFunc(out, func(a, b stats.Cell) int {
		if a.User != b.User {
			return a.User - b.User
		}
		return a.Stratum - b.Stratum
	})
	return out
}
