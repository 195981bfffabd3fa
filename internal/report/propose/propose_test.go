package propose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/assay"
	"assay/internal/stats"
)

func frame(t *rapid.T) []Stratum {
	n := rapid.IntRange(1, 6).Draw(t, "strata")
	out := make([]Stratum, n)
	for i := range out {
		seen := rapid.Int64Range(0, 60).Draw(t, "seen")
		out[i] = Stratum{
			Stratum:  assay.Stratum{Day: fmt.Sprintf("2026-03-%02d", 1+i/2), Arm: []string{"a", "b"}[i%2]},
			Eligible: rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(20, 3000)).Draw(t, "eligible"),
			Seen:     seen, Hits: rapid.Int64Range(0, seen).Draw(t, "hits"),
		}
	}
	return out
}

func usd(x float64) *assay.USD {
	u := assay.USD(x * float64(assay.Dollar))
	return &u
}

func ptr[T any](x T) *T { return &x }

// Every proposal holds what it promises: no stratum gives more than it has, Neyman's least is kept, none has nothing,
// a budget is not crossed, a margin is met by what is expected, and the order of strata changes nothing.
func TestProposalsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := Request{Evidence: Evidence{Strata: frame(t)}, Seed: 1, Price: Price{Expected: usd(0.01), Least: usd(0.005), Most: usd(0.02)}}
		if rapid.Bool().Draw(t, "margin") {
			q.Margin = rapid.Float64Range(0.005, 0.4).Draw(t, "half")
		} else {
			q.Budget = usd(rapid.Float64Range(0, 50).Draw(t, "budget"))
		}
		if rapid.Bool().Draw(t, "expect") {
			q.Expect = ptr(rapid.Float64Range(0, 1).Draw(t, "rate"))
		}
		got, err := Make(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Proposals {
			if !p.Offered() {
				if q.Budget == nil || p.Absent != stats.Unreachable {
					t.Fatalf("%s is not offered: %+v", p.Split, p)
				}
				continue
			}
			var all int64
			for i, z := range p.Sizes {
				h := q.Strata[i]
				all += z.N
				switch {
				case z.Stratum != h.Stratum || z.N < 1 || z.N > h.Eligible:
					t.Fatalf("%s: %d of %d in %v", p.Split, z.N, h.Eligible, z.Stratum)
				case p.Split == Neyman && z.N < min(5, h.Eligible):
					t.Fatalf("neyman: %d of %d", z.N, h.Eligible)
				case p.Split == EqualCap && z.N != min(p.Cap, h.Eligible):
					t.Fatalf("equal: %d of %d with a cap of %d", z.N, h.Eligible, p.Cap)
				}
			}
			if all != p.Sessions || *p.Cost != assay.USD(all)**q.Price.Expected {
				t.Fatalf("%s: %d sessions for USD %s, the sizes have %d", p.Split, p.Sessions, p.Cost, all)
			}
			if q.Budget != nil && *p.Cost > *q.Budget {
				t.Fatalf("%s: USD %s of %s", p.Split, p.Cost, q.Budget)
			}
			if q.Margin > 0 && (p.Margin == nil || *p.Margin > q.Margin) {
				t.Fatalf("%s: margin %v of %v", p.Split, p.Margin, q.Margin)
			}
			if p.Margin != nil && (math.IsNaN(*p.Margin) || math.Abs(p.Interval.High-p.Interval.Low-2**p.Margin) > 1e-12) {
				t.Fatalf("%s: %v of %+v", p.Split, *p.Margin, *p.Interval)
			}
		}
		if again, err := Make(q); err != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("another time another proposal (%v)", err)
		}
		turned := q
		turned.Strata = slices.Clone(q.Strata)
		slices.Reverse(turned.Strata)
		other, err := Make(turned)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range other.Proposals {
			if !reflect.DeepEqual(p, got.Proposals[i]) {
				t.Fatalf("another order of strata gives\n%+v\nnot\n%+v", p, got.Proposals[i])
			}
		}
	})
}

// uneven is a week with one busy day, in which half of what fails is.
func uneven() []Stratum {
	return []Stratum{
		{Stratum: assay.Stratum{Day: "2026-03-01", Arm: "a"}, Eligible: 20000, Seen: 200, Hits: 190},
		{Stratum: assay.Stratum{Day: "2026-03-02", Arm: "a"}, Eligible: 900, Seen: 200, Hits: 100},
		{Stratum: assay.Stratum{Day: "2026-03-03", Arm: "a"}, Eligible: 700, Seen: 200, Hits: 196},
		{Stratum: assay.Stratum{Day: "2026-03-04", Arm: "a"}, Eligible: 12},
	}
}

// What a report prints of samples of the proposed sizes has the promised margin, on average and for sizes that are
// nearly the smallest. The samples are drawn here by themselves, from a frame with the expected rates.
func TestTheMarginIsMetWhenSampled(t *testing.T) {
	for _, c := range []struct {
		name   string
		target stats.Target
		margin float64
		alike  float64
		expect *float64
	}{
		{"window", stats.Window, 0.02, 0, nil},
		{"window, few failures", stats.Window, 0.01, 0, ptr(0.99)},
		{"window, small", stats.Window, 0.05, 0, ptr(0.99)},
		{"process", stats.Process, 0.03, 0, nil},
		{"process, users alike", stats.Process, 0.04, 0.2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			strata := uneven()
			q := Request{Evidence: Evidence{Strata: strata, Alike: c.alike, Alikes: true}, Margin: c.margin, Target: c.target, Expect: c.expect, Seed: 3}
			if c.target == stats.Process {
				q.Users = usersOf(strata, 400)
			}
			got, err := Make(q)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range got.Proposals {
				if p.Margin == nil {
					t.Fatalf("%s: %s", p.Split, p.Words)
				}
				met := sampled(q, p)
				if met > 1.03*c.margin || met < 0.93*c.margin && p.Split != EqualCap {
					t.Errorf("%s of %d: the margin is %.4f on average, promised %.4f of %.4f", p.Split, p.Sessions, met, *p.Margin, c.margin)
				}
			}
		})
	}
}

func usersOf(strata []Stratum, users int) (out []User) {
	for h, row := range strata {
		left := row.Eligible
		for u := range users {
			n := min(left, 1+row.Eligible/int64(users))
			if n > 0 {
				out = append(out, User{h, u, n})
			}
			left -= n
		}
	}
	return out
}

// sampled is the mean margin over samples that are made as reports are: a frame is made up, then a part of it drawn.
func sampled(q Request, p Proposal) float64 {
	random := rand.New(rand.NewPCG(99, 7))
	rates := q.expected(q.Expect)
	times := 800.0
	if q.Users != nil {
		times = 100
	}
	mean := 0.0
	for range int(times) {
		chance := map[int]float64{}
		var strata []stats.Stratum
		var cells []stats.Cell
		for h, row := range q.Strata {
			var who []int
			for _, u := range q.Users {
				for range u.N {
					if u.Stratum == h {
						who = append(who, u.User)
					}
				}
			}
			n := int(p.Sizes[h].N)
			s := stats.Stratum{Label: row.Day, Line: row.Arm, Size: row.Eligible, Drawn: int64(n), Observed: int64(n), Domain: int64(n)}
			for _, at := range random.Perm(int(row.Eligible))[:n] {
				u := random.Float64()
				if q.Users != nil {
					if _, ok := chance[who[at]]; !ok {
						chance[who[at]] = random.Float64()
					}
					if random.Float64() < math.Sqrt(q.Alike) {
						u = chance[who[at]]
					}
				}
				y := 0.0
				if u < rates[h] {
					y = 1
				}
				s.Sum += y
				if q.Users != nil {
					cells = append(cells, stats.Cell{User: who[at], Stratum: h, Domain: 1, Sum: y})
				}
			}
			strata = append(strata, s)
		}
		i := stats.RateInterval(strata, cells, q.Target, 0.95)
		mean += i.Width() / 2 / times
	}
	return mean
}

// Where one stratum has most of the weight, a cap for all needs twice the sessions. Neyman's split needs no fewer than
// the proportional one: an interval takes no credit for a sample that is better than a simple random one.
func TestACapNeedsMore(t *testing.T) {
	got, err := Make(Request{Evidence: Evidence{Strata: uneven()}, Margin: 0.015, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	by := map[Split]float64{}
	for _, p := range got.Proposals {
		by[p.Split] = float64(p.Sessions)
	}
	if got.Best == EqualCap || by[Neyman] > 0.6*by[EqualCap] || math.Abs(by[Neyman]-by[Proportional]) > 0.03*by[Neyman] {
		t.Errorf("best %s: %v", got.Best, by)
	}
}

// Eighteen users cannot say what traffic does to a point, however many sessions they have.
func TestFewUsersLimitTheMargin(t *testing.T) {
	strata := []Stratum{{Stratum: assay.Stratum{Day: "d", Arm: "a"}, Eligible: 1800}}
	var users []User
	for u := range 18 {
		users = append(users, User{0, u, 100})
	}
	q := Request{Evidence: Evidence{Strata: strata, Alike: 0.3, Alikes: true}, Users: users, Margin: 0.02, Target: stats.Process}
	got, err := Make(q)
	if err != nil || got.Best != "" || got.Proposals[2].Absent != stats.Unreachable {
		t.Fatalf("%+v (%v)", got, err)
	}
	if _, err := got.Pick(""); assay.CodeOf(err) != assay.CodeInvalid {
		t.Errorf("picked: %v", err)
	}
	if want := "all 1,800 sessions give ± 14.6 points; they are of 18 users: more users narrow it, not more grading"; got.Proposals[2].Words != want {
		t.Errorf("%q, want %q", got.Proposals[2].Words, want)
	}
	q.Users = users[:7]
	q.Strata[0].Eligible = 700
	if got, err = Make(q); err != nil || got.Proposals[0].Words != "all 700 sessions give no interval: fewer than 8 users; they are of 7 users: more users narrow it, not more grading" {
		t.Errorf("%q (%v)", got.Proposals[0].Words, err)
	}
}

func TestRefusedRequests(t *testing.T) {
	ok := Evidence{Strata: uneven()}
	for name, q := range map[string]Request{
		"neither":         {Evidence: ok},
		"both":            {Evidence: ok, Margin: 0.1, Budget: usd(1), Price: Price{Most: usd(1)}},
		"margin":          {Evidence: ok, Margin: 0.5},
		"negative margin": {Evidence: ok, Margin: -0.1},
		"no number":       {Evidence: ok, Margin: math.NaN()},
		"expected":        {Evidence: ok, Margin: 0.1, Expect: ptr(1.5)},
		"expected nan":    {Evidence: ok, Margin: 0.1, Expect: ptr(math.NaN())},
		"target":          {Evidence: ok, Margin: 0.1, Target: "moon"},
		"unpriced":        {Evidence: ok, Budget: usd(1), Price: Price{Least: usd(1)}},
		"empty":           {Margin: 0.1},
	} {
		if _, err := Make(q); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A judge that costs nothing grades all that a budget asks about.
func TestFreeJudgesGradeAll(t *testing.T) {
	got, err := Make(Request{Evidence: Evidence{Strata: uneven()}, Budget: usd(0), Price: Price{Expected: usd(0)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Proposals {
		if p.Sessions != 21612 || *p.Margin != 0 || p.CostWords() != "USD 0" {
			t.Errorf("%+v", p)
		}
	}
}

func TestQuantilesAreTheBinomials(t *testing.T) {
	for _, n := range []int64{1, 7, 300, 5000} {
		for _, p := range []float64{0, 0.001, 0.3, 0.5, 0.93, 1} {
			mean, square := 0.0, 0.0
			const steps = 4000
			for i := range steps {
				x := quantile(n, p, (float64(i)+0.5)/steps)
				if x < 0 || x > float64(n) || x != math.Trunc(x) {
					t.Fatalf("%v of %d", x, n)
				}
				mean += x / steps
				square += x * x / steps
			}
			size := float64(n)
			if want := size * p; math.Abs(mean-want) > 0.02*math.Sqrt(size*p*(1-p))+1e-9 {
				t.Errorf("n %d p %v: mean %v, want %v", n, p, mean, want)
			}
			if want := size * p * (1 - p); math.Abs(square-mean*mean-want) > 0.03*want+1e-6 {
				t.Errorf("n %d p %v: variance %v, want %v", n, p, square-mean*mean, want)
			}
		}
	}
}
