package assay

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseUSD(t *testing.T) {
	for in, want := range map[string]USD{
		"0": 0, "0.00": 0, "12.50": 12*Dollar + Dollar/2, "$12.50": 12*Dollar + Dollar/2, " 3 ": 3 * Dollar,
		"0.000000001": 1, "12.1": 12_100_000_000, "007": 7 * Dollar, "1.5000000000000": Dollar + Dollar/2,
		"1000000": MaxUSD, "1e-9": 1, "1E2": 100 * Dollar, "2.5e-3": 2_500_000, "10e-10": 1, "0e30": 0,
	} {
		if got, err := ParseUSD(in); err != nil || got != want {
			t.Errorf("ParseUSD(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}

func TestParseUSDRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"": "is not", " ": "is not", ".5": "is not", "5.": "is not", "1.2.3": "is not", "+5": "is not", "$$1": "is not",
		"1,000": "is not", "12,50": "is not", "1_000": "is not", "0x10": "is not", "NaN": "is not", "Inf": "is not",
		"12 dollars": "is not", "١٢": "is not", "e5": "is not", "1e": "is not", "1e5.0": "is not", "1e99999999999": "is not", "1/3": "is not",
		"-1": "is negative", "-0.01": "is negative", "$-5": "is negative", "-1e-9": "is negative",
		"0.0000000001": "more than nine decimals", "0.30000000000000004": "more than nine decimals", "1e-10": "more than nine decimals",
		"1000000.000000001": "is more than 1000000.00", "1e7": "is more than", "9999999999999999999999": "is more than", "1e30": "is more than",
	} {
		got, err := ParseUSD(in)
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeInvalid || e.Hint == "" || !strings.Contains(e.Message, why) || got != 0 {
			t.Errorf("ParseUSD(%q) = %v, %v; want an error that says %q and a hint", in, got, err, why)
		}
	}
}

func TestUSDInJSON(t *testing.T) {
	for u, want := range map[USD]string{
		0: "0.00", 1: "0.000000001", 100: "0.0000001", Dollar / 2: "0.50", 12*Dollar + 340_000_000: "12.34",
		math.MaxInt64: "9223372036.854775807", -1: "-0.000000001", math.MinInt64: "-9223372036.854775808",
	} {
		if got, err := json.Marshal(u); err != nil || string(got) != want {
			t.Errorf("%d is %s, %v; want %s", u, got, err, want)
		}
	}
	for _, in := range []string{`1e-9`, `1E-09`, `0.1e-8`, `0.000000001`, `10e-10`} {
		var u USD
		if err := json.Unmarshal([]byte(in), &u); err != nil || u != 1 {
			t.Errorf("%s is %d, %v", in, u, err)
		}
	}
	for _, in := range []string{`-1`, `-0.5`, `"12.50"`, `true`, `{}`, `[1]`, `1e10`, `1e-10`, `1e400`} {
		u := USD(7)
		err := json.Unmarshal([]byte(in), &u)
		var e *Error
		if !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s is %d, %v; want an error with a hint", in, u, err)
		}
	}
	var budget struct {
		Budget *USD `json:"budget_usd"`
	}
	if err := json.Unmarshal([]byte(`{"budget_usd": null}`), &budget); err != nil || budget.Budget != nil {
		t.Errorf("no budget: %v, %v", budget.Budget, err)
	}
	var price Price
	if err := json.Unmarshal([]byte(`{"input_per_million": null}`), &price); err == nil {
		t.Error("a price of null became a price of 0")
	}
}

func TestUSDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := USD(rapid.Int64Min(0).Draw(t, "usd"))
		text, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var back USD
		if err := json.Unmarshal(text, &back); err != nil || back != u {
			t.Fatalf("%d became %s and then %d, %v", u, text, back, err)
		}
		// The whole of an object survives a program that writes numbers in its own way.
		number, _ := new(big.Rat).SetString(string(text))
		if err := json.Unmarshal([]byte(new(big.Float).SetPrec(200).SetRat(number).Text('e', 18)), &back); err != nil || back != u {
			t.Fatalf("%s with an exponent became %d, %v", text, back, err)
		}
		if u <= MaxUSD {
			if back, err := ParseUSD(u.String()); err != nil || back != u || u.Validate() != nil {
				t.Fatalf("%q became %d, %v, %v", u.String(), back, err, u.Validate())
			}
		}
	})
}

func TestValidateRefuses(t *testing.T) {
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

func TestSumsDoNotOverflow(t *testing.T) {
	for _, c := range []struct{ a, b, want USD }{
		{1, 2, 3}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64}, {math.MaxInt64 - 1, 1, math.MaxInt64},
		{5, -7, -2}, {math.MinInt64, -1, math.MinInt64}, {math.MinInt64, math.MaxInt64, -1}, {math.MaxInt64, math.MinInt64, -1},
	} {
		if got := add(c.a, c.b); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	dear := Price{Input: math.MaxInt64, Output: math.MaxInt64}
	if got := dear.Worst(math.MaxInt64, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("the dearest call costs %d", got)
	}
	most := Spend{Cost: math.MaxInt64, Held: math.MaxInt64 - 1}
	if sum := most.Add(Spend{Cost: 1, Held: 2}); sum.Cost != math.MaxInt64 || sum.Held != math.MaxInt64 {
		t.Errorf("spend wrapped round: %+v", sum)
	}
}

func FuzzParseUSD(f *testing.F) {
	for _, s := range []string{"12.50", "1e-9", "$3", "-1", "1e30", "0.0000000001", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUSD(s)
		if err != nil {
			return
		}
		exact, ok := new(big.Rat).SetString(strings.TrimPrefix(strings.TrimSpace(s), "$"))
		if !ok || exact.Cmp(big.NewRat(int64(u), int64(Dollar))) != 0 || u.Validate() != nil {
			t.Errorf("%q became %d", s, u)
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
