package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func tauUnits(t *testing.T) []SurveyUnit {
	rows := inputs(t, "tau_airline_rewards.csv")
	var out []SurveyUnit
	for i := range rows.rows {
		out = append(out, SurveyUnit{Cluster: rows.text(i, "task_id"), Weight: 1, Y: rows.number(i, "reward")})
	}
	return out
}

func TestReferenceTau(t *testing.T) {
	py := reference[struct {
		Mean, SE float64
		IID      float64            `json:"se_iid_ddof1"`
		CR0      float64            `json:"se_clustered_CR0"`
		CR1      float64            `json:"se_clustered_CR1_G/(G-1)"`
		Pass     map[string]float64 `json:"pass^k"`
	}](t, "tau_airline_gpt4o")
	r := reference[struct{ Est, SE, DF float64 }](t, "tau_airline_clustered")
	var scores, alone []Score
	tasks := map[string]*Trials{}
	for _, u := range tauUnits(t) {
		scores = append(scores, Score{Cluster: u.Cluster, Weight: 1, X: u.Y})
		alone = append(alone, Score{Weight: 1, X: u.Y})
		if tasks[u.Cluster] == nil {
			tasks[u.Cluster] = &Trials{}
		}
		tasks[u.Cluster].Trials++
		tasks[u.Cluster].Passes += int64(u.Y)
	}
	m := MeanScore(scores)
	printedValue(t, "mean", m.Level, py.Mean, 1e-12)
	printedValue(t, "CR0", m.CR0, py.CR0, 1e-12)
	printedValue(t, "CR1", m.CR1, py.CR1, 1e-12)
	printedValue(t, "CR1 as in R survey", m.CR1, r.SE, 1e-12)
	printedValue(t, "without clusters", MeanScore(alone).CR1, py.IID, 1e-12)
	if i := m.T(.95); !near(i.DF, r.DF) {
		t.Errorf("degrees of freedom %v, want %v", i.DF, r.DF)
	}
	s := SurveyMean(tauUnits(t), LoneRefuse)
	printedValue(t, "survey", s.SE, r.SE, 1e-12)
	printed(t, "survey's degrees of freedom", s.DF(), r.DF, 0)

	var list []Trials
	for _, x := range tasks {
		list = append(list, *x)
	}
	for k := range int64(4) {
		got := PassHat(list, k+1, .95)
		printedValue(t, fmt.Sprint("pass^", k+1), got.Level, py.Pass[fmt.Sprint(k+1)], 1e-12)
		if !got.Interval.Has(got.Level.X) || got.Tasks != 50 {
			t.Errorf("pass^%d: %+v", k+1, got)
		}
	}
	beta := reference[struct{ CI []float64 }](t, "tau_airline_svyciprop_beta")
	printedInterval(t, "pass^1 is the clustered share", PassHat(list, 1, .95).Interval, beta.CI, 1e-9)
}

func genScores(t *rapid.T, least int) []Score {
	var out []Score
	for i := range rapid.IntRange(least, 40).Draw(t, "n") {
		s := Score{Weight: rapid.Float64Range(.1, 9).Draw(t, "w"), X: rapid.Float64Range(-3, 3).Draw(t, "x")}
		if rapid.Bool().Draw(t, "clustered") {
			s.Cluster = fmt.Sprint(i % 7)
		}
		out = append(out, s)
	}
	return out
}

func TestMeanScoreIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := genScores(t, 1)
		var w, s float64
		for _, r := range rows {
			w, s = w+r.Weight, s+r.Weight*r.X
		}
		// By pairs: the sum over all pairs of rows of one cluster of the product of their residuals.
		v, clusters := 0.0, map[string]bool{}
		for i, a := range rows {
			name := a.Cluster
			if name == "" {
				name = fmt.Sprint("row", i)
			}
			clusters[name] = true
			for j, b := range rows {
				if i == j || a.Cluster != "" && a.Cluster == b.Cluster {
					v += a.Weight * (a.X - s/w) * b.Weight * (b.X - s/w) / w / w
				}
			}
		}
		got, g := MeanScore(rows), float64(len(clusters))
		if !near(got.Level.X, s/w) || got.Clusters != len(clusters) {
			t.Fatalf("%+v, want %v of %v clusters", got, s/w, g)
		}
		if g < 2 {
			if got.CR1.Absent != NoFreedom || got.T(.95).Absent != NoFreedom {
				t.Fatalf("one cluster: %+v", got)
			}
			return
		}
		if math.Abs(got.CR0.X-math.Sqrt(max(v, 0))) > 1e-7 || !near(got.CR1.X, got.CR0.X*math.Sqrt(g/(g-1))) {
			t.Fatalf("%+v, want SE %v", got, math.Sqrt(v))
		}
	})
}

func TestScoresInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := genScores(t, 10)
		other := append([]Score{}, rows...)
		r := rand.New(rand.NewPCG(2, rapid.Uint64().Draw(t, "seed")))
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		for i := range other {
			if other[i].Cluster != "" {
				other[i].Cluster = "renamed" + string('z'-other[i].Cluster[0]+'a')
			}
		}
		a, b := MeanScore(rows), MeanScore(other)
		for _, studentised := range []bool{false, true} {
			if x, y := a.Bootstrap(studentised, 50, 7, .9), b.Bootstrap(studentised, 50, 7, .9); x != y || a.T(.9) != b.T(.9) {
				t.Fatalf("%+v and %+v", x, y)
			}
		}
	})
}

// Where scores are many and tame, all three intervals are the same.
func TestBootstrapAgreesWithT(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var rows []Score
	for i := range 2000 {
		rows = append(rows, Score{Cluster: fmt.Sprint(i / 4), Weight: 1 + r.Float64(), X: r.NormFloat64() + float64(i/4%3)})
	}
	m := MeanScore(rows)
	want := m.T(.95)
	for _, studentised := range []bool{false, true} {
		got := m.Bootstrap(studentised, 4000, 1, .95)
		if math.Abs(got.Low-want.Low) > .06*want.Width() || math.Abs(got.High-want.High) > .06*want.Width() {
			t.Errorf("studentised %v: %+v, want about %+v", studentised, got, want)
		}
	}
	if a, b := m.Bootstrap(true, 100, 1, .95), m.Bootstrap(true, 100, 2, .95); a == b {
		t.Error("the seed changes nothing")
	}
}

func TestScoresUndefined(t *testing.T) {
	many := func(n int, x float64) (out []Score) {
		for range n {
			out = append(out, Score{Weight: 1, X: x})
		}
		return out
	}
	for name, c := range map[string]struct {
		rows               []Score
		level, t, boostrap Absence
	}{
		"nothing":      {nil, NothingObserved, NothingObserved, NothingObserved},
		"not a number": {many(3, math.Inf(1)), NotFinite, NotFinite, NotFinite},
		"no weight":    {[]Score{{X: 1}}, OutOfRange, OutOfRange, OutOfRange},
		"one":          {many(1, 2), Defined, NoFreedom, NoFreedom},
		"few":          {append(many(3, 2), many(3, 1)...), Defined, Defined, TooFewClusters},
		"all the same": {many(20, 2), Defined, NoVariation, NoVariation},
	} {
		m := MeanScore(c.rows)
		if m.Level.Absent != c.level || m.T(.95).Absent != c.t || m.Bootstrap(true, 50, 1, .95).Absent != c.boostrap {
			t.Errorf("%s: %+v %+v", name, m, m.T(.95))
		}
	}
}
