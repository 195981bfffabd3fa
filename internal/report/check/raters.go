package check

import (
	"cmp"
	"maps"
	"slices"

	"assay/internal/assay"
	"assay/internal/stats"
)

// draws is how often the bootstrap of alpha draws.
const draws = 1000

// rate notes what each rater said of a row, in answer to the present wording, whatever the label may be used for. A
// decision is no rating.
func (c *checker) rate(row int32, all ballot) {
	for _, b := range all {
		if b.Decided || b.Version != "" && b.Version != c.question {
			continue
		}
		if c.ratings[row] == nil {
			c.ratings[row] = map[string]string{}
		}
		c.ratings[row][b.Rater] = plain(b.Value)
	}
}

// raters is how far people agree with each other.
func (c *checker) raters() Raters {
	out := Raters{Names: []string{}}
	names := map[string]bool{}
	var units [][]float64
	for _, row := range slices.Sorted(maps.Keys(c.ratings)) {
		var unit []float64
		for _, rater := range slices.Sorted(maps.Keys(c.ratings[row])) {
			names[rater] = true
			if x, ok := c.scaled(c.ratings[row][rater]); ok {
				unit = append(unit, x)
			}
		}
		if len(unit) > 1 {
			out.Both++
			units = append(units, unit)
		}
	}
	out.Names = append(out.Names, slices.Sorted(maps.Keys(names))...)
	metric := stats.Nominal
	switch c.column().Criterion.Type {
	case assay.Ordinal:
		metric = stats.Ordinal
	case assay.Number:
		metric = stats.IntervalM
	}
	a := stats.Alpha(units, metric, draws, seed, c.o.Confidence)
	out.Alpha = c.of(a.Alpha, a.Interval, a.Units)
	out.Pairs = c.raterPairs(out.Names)
	return out
}

// scaled is a rating as alpha takes it; ok is false of what is no answer to this question.
func (c *checker) scaled(raw string) (x float64, ok bool) {
	switch c.column().Criterion.Type {
	case assay.Boolean:
		if raw == "true" {
			return 1, true
		}
		return 0, raw == "false"
	case assay.Number:
		return float(raw)
	}
	at := slices.IndexFunc(c.column().Values, func(v string) bool { return quoted(v) == raw })
	return float64(at), at >= 0
}

// mostPairs is how many pairs of raters are told of, those with the most contents in common.
const mostPairs = 10

// raterPairs are kappas of raters who answered the same contents, of questions with few values.
func (c *checker) raterPairs(names []string) (out []RaterPair) {
	k := len(c.column().Values)
	w := stats.Weights(stats.Unweighted)
	switch c.column().Criterion.Type {
	case assay.Number:
		return nil
	case assay.Boolean:
		k = 2
	case assay.Ordinal:
		w = stats.Quadratic
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			table := make([][]int64, k)
			for n := range table {
				table[n] = make([]int64, k)
			}
			var n int64
			for _, said := range c.ratings {
				x, ok1 := c.scaled(said[a])
				y, ok2 := c.scaled(said[b])
				if ok1 && ok2 {
					table[int(x)][int(y)]++
					n++
				}
			}
			if n > 0 {
				got := stats.Kappa(table, w, c.o.Confidence)
				out = append(out, RaterPair{A: a, B: b, N: n, Kappa: c.of(got.Kappa, got.Interval, int(n))})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y RaterPair) int { return cmp.Compare(y.N, x.N) })
	return out[:min(len(out), mostPairs)]
}

// slices are the agreement in parts of the labelled sessions.
func (c *checker) slices(p []pair) (out []Slice) {
	for _, by := range [...]struct {
		name string
		of   func(row int32) string
	}{
		{"arm", func(row int32) string { return c.stratumOf(row).Arm }},
		{"day", func(row int32) string { return c.stratumOf(row).Day }},
		{"agent_version", func(row int32) string { return cmp.Or(c.e.Agents[c.e.Rows[row].Agent], "(none)") }},
		{"source", func(row int32) string { return cmp.Or(c.e.Sources[c.e.Rows[row].Source], "(none)") }},
	} {
		parts := map[string][]pair{}
		for _, x := range p {
			name := by.of(x.row)
			parts[name] = append(parts[name], x)
		}
		if len(parts) < 2 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			s := Slice{By: by.name, Name: name, Labels: int64(len(parts[name])), Agreement: c.exact(parts[name])}
			s.Agreement.N = s.Labels // how many graded sessions the part has is not told
			for _, x := range parts[name] {
				switch {
				case c.column().Criterion.Type != assay.Boolean || x.test == x.truth:
				case x.test == "true":
					s.Missed++
				default:
					s.Harsh++
				}
			}
			out = append(out, s)
		}
	}
	return out
}
