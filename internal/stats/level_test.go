package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowSpread is the formula of RateInterval as its comment has it, for strata that need no merge and users
// that are not known.
func slowSpread(strata []Stratum, target Target) (p, q, v, n, df float64) {
	var size, y, d, domain float64
	for _, h := range strata {
		size += float64(h.Size)
	}
	for _, h := range strata {
		if h.Size > 0 {
			y += float64(h.Size) / size * h.Sum / float64(h.Observed)
			d += float64(h.Size) / size * float64(h.Domain) / float64(h.Observed)
			n += float64(h.Domain)
			if df--; h.Domain == 0 {
				df++
			}
		}
	}
	p, df = y/d, df+n
	for _, h := range strata {
		if h.Size == 0 {
			continue
		}
		w, f := float64(h.Size)/size, float64(h.Observed)/float64(h.Size)
		var ys, ds []float64 // of each observed unit
		for i := range h.Observed {
			ys, ds = append(ys, 0), append(ds, 0)
			if i < h.Domain {
				ds[i] = 1
			}
			if float64(i) < h.Sum {
				ys[i] = 1
			}
		}
		mean := 0.0
		for i := range ys {
			mean += (ys[i] - p*ds[i]) / d / float64(len(ys))
		}
		if (h.Sum == 0 || h.Sum == float64(h.Domain)) && (target == Process || f < 1) {
			ys, ds = append(ys, 0, 1), append(ds, 1, 1)
		}
		var a, b, hits, inside float64
		for i := range ys {
			e := (ys[i] - p*ds[i]) / d
			a, b, hits = a+e/float64(len(ys)), b+e*e/float64(len(ys)), hits+ys[i]/float64(len(ys))
			inside += ds[i] / float64(len(ys))
		}
		left := 1.0
		if target == Window {
			left = 1 - f
		} else {
			v += w * mean * mean / size
		}
		v += w * w * left * max(b-a*a, 0) / max(float64(h.Observed)-1, 1)
		q, domain = q+w*hits, domain+w*inside
	}
	return p, min(q/domain, 1), v, n, df
}

// genLone are strata that need no merge.
func genLone(t *rapid.T) (out []Stratum) {
	for i := range rapid.IntRange(1, 8).Draw(t, "strata") {
		h := Stratum{Label: fmt.Sprint(i), Size: rapid.Int64Range(1, 300).Draw(t, "N")}
		h.Drawn = rapid.Int64Range(1, min(h.Size, 30)).Draw(t, "n")
		h.Observed = rapid.Int64Range(1, h.Drawn).Draw(t, "observed")
		h.Domain = rapid.Int64Range(0, h.Observed).Draw(t, "domain")
		h.Sum = float64(rapid.Int64Range(0, h.Domain).Draw(t, "hits"))
		out = append(out, h)
	}
	return out
}

func TestRateIntervalIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strata := genLone(t)
		target := rapid.SampledFrom([]Target{Window, Process}).Draw(t, "target")
		got := RateInterval(strata, nil, target, .95)
		p, q, v, n, df := slowSpread(strata, target)
		size, whole := 0.0, target == Window
		for _, h := range strata {
			size += float64(h.Size)
			whole = whole && h.Observed == h.Size
		}
		switch {
		case n == 0:
			if got.Absent != NothingInDomain {
				t.Fatalf("%+v", got)
			}
			return
		case whole:
			if !near(got.Low, p) || got.Width() != 0 || got.Method != MethodCensus {
				t.Fatalf("%+v, want %v", got, p)
			}
			return
		case df <= 0:
			if got.Absent != NoFreedom {
				t.Fatalf("%+v", got)
			}
			return
		}
		most := n
		if target == Window {
			most = n / (1 - n/size)
		}
		effective := most
		if v > 0 {
			effective = min(most, q*(1-q)/v)
		}
		if n > 1 {
			effective *= sq(tQuantile(.975, n-1) / tQuantile(.975, df))
		}
		want := ClopperPearson(p*effective, effective, .95)
		if math.Abs(got.Low-want.Low) > 1e-7 || math.Abs(got.High-want.High) > 1e-7 || !near(got.N, effective) || got.DF != df {
			t.Fatalf("%+v, want %+v with n* %v, df %v", got, want, effective, df)
		}
	})
}

// A stratum of 90 of which 10 were graded and none passed, and one of 10 that was graded whole.
func TestRateIntervalByHand(t *testing.T) {
	strata := []Stratum{
		{Size: 90, Drawn: 10, Observed: 10, Domain: 10, Sum: 0},
		{Size: 10, Drawn: 10, Observed: 10, Domain: 10, Sum: 5},
	}
	q0 := 1. / 12
	window := .81 * (8. / 9) * q0 * (1 - q0) / 9
	process := .81*q0*(1-q0)/9 + .01*.25/9 + (.9*.05*.05+.1*.45*.45)/100
	for target, v := range map[Target]float64{Window: window, Process: process} {
		q, most := .9*q0+.1*.5, 20.
		if target == Window {
			most = 20 / (1 - .2)
		}
		n := min(most, q*(1-q)/v) * sq(tQuantile(.975, 19)/tQuantile(.975, 18))
		want := ClopperPearson(.05*n, n, .95)
		got := RateInterval(strata, nil, target, .95)
		if !near(got.N, n) || !near(got.Low, want.Low) || !near(got.High, want.High) || got.DF != 18 || got.Method != MethodSmoothed {
			t.Errorf("%s: %+v, want %+v", target, got, want)
		}
	}
}

// A frozen window that was graded whole is known: the plain mean, to the last bit.
func TestWindowGradedWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var strata []Stratum
		hits, n := 0.0, 0.0
		for i := range rapid.IntRange(1, 12).Draw(t, "strata") {
			size := rapid.Int64Range(1, 20_000).Draw(t, "N")
			k := float64(rapid.Int64Range(0, size).Draw(t, "hits"))
			hits, n = hits+k, n+float64(size)
			strata = append(strata, Stratum{Label: fmt.Sprint(i), Size: size, Drawn: size, Observed: size, Domain: size, Sum: k, Squares: k})
		}
		for _, i := range []Interval{
			RateInterval(strata, nil, Window, .95), MeanInterval(strata, nil, Window, Known(0), None(Unbounded), .95),
		} {
			if i.Low != hits/n || i.High != hits/n || i.Method != MethodCensus || Rate(strata).Level.X != hits/n {
				t.Fatalf("%+v, want %v", i, hits/n)
			}
		}
		if len(strata) < int(n) && !(RateInterval(strata, nil, Process, .95).Width() > 0) {
			t.Fatal("the process is not known from one window")
		}
	})
}

// peopled is a sample with its users.
type peopled struct {
	strata []Stratum
	cells  []Cell
}

func genPeopled(t *rapid.T) (out peopled) {
	users := rapid.IntRange(1, 40).Draw(t, "users")
	for i := range rapid.IntRange(1, 6).Draw(t, "strata") {
		h := Stratum{Label: fmt.Sprint(i), Line: rapid.SampledFrom([]string{"", "x"}).Draw(t, "line")}
		for u := range users {
			if n := rapid.Int64Range(0, 3).Draw(t, "n"); n > 0 {
				k := rapid.Int64Range(0, n).Draw(t, "hits")
				out.cells = append(out.cells, Cell{User: u, Stratum: i, Domain: n, Sum: float64(k)})
				h.Domain += n
				h.Sum += float64(k)
			}
		}
		h.Observed, h.Drawn = h.Domain, h.Domain
		h.Size = h.Observed + rapid.Int64Range(0, 200).Draw(t, "more")
		out.strata = append(out.strata, h)
	}
	return out
}

// shuffled has its cells, its strata and the numbers of its users in another order. Strata of a line keep
// theirs: which is whose neighbour is a part of what they say.
func (p peopled) shuffled(r *rand.Rand) peopled {
	order := r.Perm(len(p.strata))
	slices.SortStableFunc(order, func(a, b int) int {
		if p.strata[a].Line != "" && p.strata[a].Line == p.strata[b].Line {
			return a - b
		}
		return 0
	})
	inOrder := []int{}
	for i, h := range p.strata {
		if h.Line != "" {
			inOrder = append(inOrder, i)
		}
	}
	for at, k := 0, 0; at < len(order); at++ {
		if p.strata[order[at]].Line != "" {
			order[at] = inOrder[k]
			k++
		}
	}
	place := make([]int, len(order))
	var out peopled
	for at, i := range order {
		place[i] = at
		h := p.strata[i]
		h.Label = "renamed" + h.Label
		if h.Line != "" {
			h.Line = "renamed"
		}
		out.strata = append(out.strata, h)
	}
	for _, c := range p.cells {
		out.cells = append(out.cells, Cell{User: 1000 - 7*c.User, Stratum: place[c.Stratum], Domain: c.Domain, Sum: c.Sum})
	}
	r.Shuffle(len(out.cells), func(i, j int) { out.cells[i], out.cells[j] = out.cells[j], out.cells[i] })
	return out
}

func TestLevelsHoldTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genPeopled(t)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		b := a.shuffled(r)
		confidence := rapid.Float64Range(.5, .999).Draw(t, "confidence")
		if x, y := Rate(a.strata), Rate(b.strata); x.Level != y.Level || x.Low != y.Low || x.High != y.High || x.Coverage != y.Coverage {
			t.Fatalf("order or names matter: %+v and %+v", x, y)
		}
		for _, target := range []Target{Window, Process} {
			for _, users := range []bool{false, true} {
				ac, bc := a.cells, b.cells
				if !users {
					ac, bc = nil, nil
				}
				for i, f := range []func([]Stratum, []Cell) Interval{
					func(h []Stratum, c []Cell) Interval { return RateInterval(h, c, target, confidence) },
					func(h []Stratum, c []Cell) Interval {
						return MeanInterval(hits(h), c, target, Known(0), Known(1), confidence)
					},
				} {
					x, y := f(a.strata, ac), f(b.strata, bc)
					if x != y {
						t.Fatalf("order or names matter: %+v and %+v", x, y)
					}
					if !finite(x.Low, x.High, x.N, x.DF) || !x.Ok() && x.Low+x.High != 0 {
						t.Fatalf("%+v", x)
					}
					if level := Rate(a.strata).Level; x.Ok() && (!level.Ok() || !x.Has(level.X)) {
						t.Fatalf("%+v without its level %+v", x, level)
					}
					if i == 0 && x.Ok() && (x.Low < 0 || x.High > 1) {
						t.Fatalf("%+v is no share", x)
					}
				}
			}
		}
	})
}

func TestIntervalsUndefined(t *testing.T) {
	one := Stratum{Size: 100, Drawn: 1, Observed: 1, Domain: 1, Sum: 1, Squares: 1}
	ten := Stratum{Size: 100, Drawn: 10, Observed: 10, Domain: 10, Sum: 4, Squares: 4}
	same := Stratum{Size: 100, Drawn: 10, Observed: 10, Domain: 10, Sum: 30, Squares: 90}
	spread := func(users int) (out []Cell) {
		for u := range 10 {
			out = append(out, Cell{User: u % users, Domain: 1, Sum: float64(u % 2)})
		}
		return out
	}
	for name, c := range map[string]struct {
		strata     []Stratum
		users      []Cell
		target     Target
		rate, mean Absence
	}{
		"nothing":                     {nil, nil, Window, NoPopulation, NoPopulation},
		"an empty population":         {[]Stratum{{}}, nil, Window, NoPopulation, NoPopulation},
		"nothing graded":              {[]Stratum{{Size: 5, Drawn: 2}}, nil, Process, NothingObserved, NothingObserved},
		"a stratum without a verdict": {[]Stratum{ten, {Size: 5, Drawn: 2}}, nil, Window, StratumUnobserved, StratumUnobserved},
		"an empty stratum":            {[]Stratum{ten, {}}, nil, Window, Defined, Defined},
		"applies to none":             {[]Stratum{{Size: 5, Drawn: 2, Observed: 2}}, nil, Window, NothingInDomain, NothingInDomain},
		"one unit":                    {[]Stratum{one}, nil, Window, NoFreedom, NoFreedom},
		"one unit a stratum":          {[]Stratum{one, one, one}, nil, Process, NoFreedom, NoFreedom},
		"all the same number":         {[]Stratum{same}, nil, Window, OutOfRange, NoVariation},
		"one user":                    {[]Stratum{ten}, spread(1), Process, TooFewUsers, TooFewUsers},
		"five users":                  {[]Stratum{ten}, spread(5), Process, TooFewUsers, TooFewUsers},
		"ten users":                   {[]Stratum{ten}, spread(10), Process, Defined, Defined},
		"users that are not known":    {[]Stratum{ten}, []Cell{}, Process, TooFewUsers, TooFewUsers},
		"one user, but the window":    {[]Stratum{ten}, spread(1), Window, Defined, Defined},
	} {
		rate := RateInterval(c.strata, c.users, c.target, .95)
		mean := MeanInterval(c.strata, c.users, c.target, None(Unbounded), None(Unbounded), .95)
		if name != "all the same number" && rate.Absent != c.rate || mean.Absent != c.mean {
			t.Errorf("%s: %+v %+v", name, rate, mean)
		}
	}
	if i := MeanInterval([]Stratum{same}, nil, Window, Known(1), Known(5), .95); !(i.Width() > .3) {
		t.Errorf("ten scores of 3 do not prove that all are: %+v", i)
	}
	huge := Stratum{Size: 100, Drawn: 2, Observed: 2, Domain: 2, Sum: 1e300, Squares: math.Inf(1)}
	if i := MeanInterval([]Stratum{huge}, nil, Process, None(Unbounded), None(Unbounded), .95); i.Ok() || !finite(i.Low, i.High) {
		t.Errorf("too large to square: %+v", i)
	}
}

func TestConfidenceThatIsNone(t *testing.T) {
	strata := []Stratum{{Size: 100, Drawn: 10, Observed: 10, Domain: 10, Sum: 4, Squares: 4}}
	pairs := []Pairs{{Size: 100, Drawn: 20, Both: 20, Rises: 5, Falls: 2}}
	days := []Both{{Treatment: Arm{100, 20, 5}, Control: Arm{100, 20, 9}}}
	label := []Label{{Test: true, Truth: true, Probability: 1}, {Probability: 1}}
	var scores []Score
	var units []SurveyUnit
	var ratings [][]float64
	for i := range 20 {
		x := float64(i % 2)
		scores, units = append(scores, Score{Weight: 1, X: float64(i)}), append(units, SurveyUnit{Weight: 1, Y: x})
		ratings = append(ratings, []float64{x, float64(i % 3 % 2)})
	}
	for _, c := range []float64{0, 1, -1, 2, 95, math.NaN(), math.Inf(1)} {
		for name, i := range map[string]Interval{
			"rate":       RateInterval(strata, nil, Process, c),
			"mean":       MeanInterval(strata, nil, Process, Known(0), Known(1), c),
			"paired":     Paired(pairs, nil, c, 1).Interval,
			"lift":       Lift(days, nil, c).Interval,
			"difference": RateDifference(Sample{Strata: strata}, Sample{Strata: strata}, c).Interval,
			"wilson":     Wilson(3, 10, c),
			"exact":      ClopperPearson(3, 10, c),
			"labels":     LabelCorrected(strata, nil, label, Process, c).Interval,
			"scores":     MeanScore(scores).T(c),
			"bootstrap":  MeanScore(scores).Bootstrap(true, 20, 1, c),
			"survey":     SurveyMean(units, LoneRefuse).T(c),
			"korn":       SurveyMean(units, LoneRefuse).KornGraubard(c),
			"kappa":      Kappa([][]int64{{9, 2}, {1, 8}}, Unweighted, c).Interval,
			"alpha":      Alpha(ratings, Nominal, 20, 1, c).Interval,
			"pass":       PassHat([]Trials{{4, 2}, {4, 1}}, 2, c).Interval,
			"confusion":  Confusion{9, 2, 1, 8}.Of(c).Balanced.Interval,
			"mcc":        Confusion{9, 2, 1, 8}.Of(c).MCC.Interval,
			"weighed":    WeighConfusion([]WeighedLabel{{1, true, true}, {1, false, false}}, c).MCC.Interval,
			"rogan":      RoganGladen(.5, 100, Confusion{9, 2, 1, 8}, c).Interval,
			"powered":    PredictionPower([]float64{1, 0, 1}, []float64{1, 0, 0}, []float64{1, 0}, None(NoTests), c).Interval,
		} {
			if i.Absent != OutOfRange || i.Confidence != 0 {
				t.Errorf("%s at %v: %+v", name, c, i)
			}
		}
	}
	for _, i := range []Interval{Wilson(0, 0, .95), ClopperPearson(0, math.NaN(), .95)} {
		if i.Absent != NothingObserved {
			t.Errorf("%+v", i)
		}
	}
	for _, i := range []Interval{Wilson(-1, 5, .95), ClopperPearson(6, 5, .95), Wilson(math.NaN(), 5, .95)} {
		if i.Absent != OutOfRange {
			t.Errorf("%+v", i)
		}
	}
}
