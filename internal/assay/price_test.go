package assay

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPriceValidateRefuses(t *testing.T) {
	ok, below, above := Dollar, USD(-1), MaxUSD+1
	if err := (Price{Input: 0, Cached: &ok, Output: MaxUSD}).Validate(); err != nil {
		t.Error(err)
	}
	for name, p := range map[string]Price{
		"input": {Input: below}, "cached input": {Cached: &below}, "cache write": {CacheWrite: &above}, "output": {Output: above},
	} {
		var e *Error
		if err := p.Validate(); !errors.As(err, &e) || e.Code != CodeInvalid || e.Hint == "" || !strings.Contains(e.Message, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCost(t *testing.T) {
	cached, write := 3*Dollar/10, 375*Dollar/100
	sonnet := Price{Input: 3 * Dollar, Cached: &cached, CacheWrite: &write, Output: 15 * Dollar}
	for _, c := range []struct {
		name  string
		price Price
		usage Usage
		want  string
	}{
		{"plain", sonnet, Usage{Input: 1_000_000, Output: 1_000_000}, "18.00"},
		{"read from the cache", sonnet, Usage{Input: 1_000_000, Cached: 1_000_000}, "0.30"},
		{"written to it", sonnet, Usage{Input: 1_000_000, CacheWrite: 1_000_000}, "3.75"},
		{"all of them", sonnet, Usage{Input: 1000, Cached: 700, CacheWrite: 200, Output: 50}, "0.00201"},
		{"reasoning is part of the output", sonnet, Usage{Output: 100, Reasoning: 90}, "0.0015"},
		{"no cache price: as input", Price{Input: Dollar}, Usage{Input: 1_000_000, Cached: 500_000, CacheWrite: 500_000}, "1.00"},
		{"one token of GPT-5 nano", Price{Input: Dollar / 20}, Usage{Input: 1}, "0.00000005"},
		{"a part of a billionth is rounded up", Price{Input: 1}, Usage{Input: 1}, "0.000000001"},
		{"once for the whole sum", Price{Input: 400_000, Output: 600_000}, Usage{Input: 1, Output: 1}, "0.000000001"},
		{"nothing", sonnet, Usage{}, "0.00"},
		{"free", Price{}, Usage{Input: 1 << 40, Output: 1 << 40}, "0.00"},
		{"more cached than there is", sonnet, Usage{Input: 1_000_000, Cached: math.MaxInt64, CacheWrite: math.MaxInt64}, "0.30"},
		{"counts below zero", sonnet, Usage{Input: 1_000_000, Cached: math.MinInt64, CacheWrite: -5, Output: -7}, "3.00"},
	} {
		c.usage.Known = true
		if got := c.price.Cost(c.usage); got == nil || got.String() != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	if got := sonnet.Cost(Usage{Input: 5}); got != nil {
		t.Errorf("usage that is not known cost %v", *got)
	}
}

// A price that holds for shorter prompts only says nothing of a longer one.
func TestReservation(t *testing.T) {
	flat := &Price{Input: Dollar, Output: 2 * Dollar}
	stepped := &Price{Input: Dollar, Output: 2 * Dollar, UpTo: 200_000}
	for _, c := range []struct {
		name          string
		price         *Price
		input, output int64
		want          string // "" is not known
	}{
		{"flat", flat, 1_000_000, 500_000, "2.00"},
		{"free", &Price{}, 1 << 40, 1, "0.00"},
		{"up to the step", stepped, 200_000, 100_000, "0.40"},
		{"beyond the step", stepped, 200_001, 100_000, ""},
		{"no bound on the answer", flat, 1, 0, ""},
		{"no price", nil, 1, 1, ""},
	} {
		got := ""
		if most := c.price.Reservation(c.input, c.output); most != nil {
			got = most.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if cost := stepped.Cost(Usage{Known: true, Input: 200_001}); cost != nil {
		t.Errorf("a prompt beyond the step cost %s", cost)
	}
}

// amounts draws small, common and absurd ones.
func amounts() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 30_000_000_000), rapid.Int64())
}

func prices(t *rapid.T) Price {
	p := Price{Input: USD(amounts().Draw(t, "input price")), Output: USD(amounts().Draw(t, "output price"))}
	for _, part := range []**USD{&p.Cached, &p.CacheWrite} {
		if rapid.Bool().Draw(t, "priced apart") {
			u := USD(amounts().Draw(t, "cache price"))
			*part = &u
		}
	}
	return p
}

func TestWorstBoundsCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := prices(t)
		u := Usage{
			Known: true, Input: amounts().Draw(t, "input"), Output: amounts().Draw(t, "output"),
			Cached: amounts().Draw(t, "cached"), CacheWrite: amounts().Draw(t, "written"), Reasoning: amounts().Draw(t, "reasoning"),
		}
		input, output := u.Input, u.Output
		if rapid.Bool().Draw(t, "shorter than feared") {
			input = max(input, amounts().Draw(t, "at most input"))
			output = max(output, amounts().Draw(t, "at most output"))
		}
		cost, worst := p.Cost(u), p.Worst(input, output)
		if *cost < 0 || *cost > worst {
			t.Fatalf("%+v of %+v cost %v, at worst %v", u, p, *cost, worst)
		}
	})
}

// The cost is that of exact arithmetic, rounded up once.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := prices(t)
		input, output := max(0, amounts().Draw(t, "input")), max(0, amounts().Draw(t, "output"))
		cached := rapid.Int64Range(0, input).Draw(t, "cached")
		written := rapid.Int64Range(0, input-cached).Draw(t, "written")
		sum := new(big.Int)
		for _, part := range []struct {
			price  USD
			tokens int64
		}{{p.Input, input - cached - written}, {or(p.Cached, p.Input), cached}, {or(p.CacheWrite, p.Input), written}, {p.Output, output}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(int64(max(part.price, 0))), big.NewInt(part.tokens)))
		}
		sum.Add(sum, big.NewInt(999_999)).Div(sum, big.NewInt(1_000_000))
		want := USD(math.MaxInt64)
		if sum.IsInt64() {
			want = USD(sum.Int64())
		}
		got := p.Cost(Usage{Known: true, Input: input, Cached: cached, CacheWrite: written, Output: output})
		if *got != want {
			t.Fatalf("%+v: %d of which %d cached and %d written, %d out cost %d, want %d", p, input, cached, written, output, *got, want)
		}
	})
}

func BenchmarkWorst(b *testing.B) {
	write := 375 * Dollar / 100
	p := Price{Input: 3 * Dollar, CacheWrite: &write, Output: 15 * Dollar}
	b.ReportAllocs()
	for b.Loop() {
		p.Worst(9000, 4096)
	}
}
