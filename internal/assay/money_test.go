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

// Amounts of one column have equally many decimals, and none that is not 0 looks like 0.
func TestDecimalsOfAColumn(t *testing.T) {
	for _, c := range []struct {
		amounts []USD
		want    []string
	}{
		{nil, nil},
		{[]USD{0, 12 * Dollar, Dollar / 3}, []string{"0.0000", "12.0000", "0.3333"}},
		{[]USD{Dollar, 50_000, 0}, []string{"1.00000", "0.00005", "0.00000"}},
		{[]USD{1, -Dollar}, []string{"0.000000001", "-1.000000000"}},
		{[]USD{99_999}, []string{"0.00010"}},
	} {
		decimals := Decimals(c.amounts...)
		for i, u := range c.amounts {
			if got := u.Fixed(decimals); got != c.want[i] {
				t.Errorf("%d billionths with %d decimals: %s, want %s", int64(u), decimals, got, c.want[i])
			}
		}
	}
	s := Spend{Cost: Dollar, Held: 1, Unpriced: 2}
	if got, want := s.CostColumn(5), "1.00000 to 1.00000 + unknown for 2 calls"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
