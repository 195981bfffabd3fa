package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestPowerByHand(t *testing.T) {
	for name, c := range map[string]struct {
		got          Value
		want, within float64
	}{
		// R: power.prop.test(n = 50, p1 = .50, p2 = .75), as its help page prints it
		"R power.prop.test": {PowerTwo(.5, .75, 50, 50, .05), .740, .0005},
		// R: power.prop.test(p1 = .50, p2 = .75, power = .90), its help page: n = 76.7
		"R its size": {SizeForPower(.9, func(n float64) Value { return PowerTwo(.5, .75, n, n, .05) }), 77, 0},
		// no effect is found in one direction half as often as alpha says
		"no effect, two":    {PowerTwo(.3, .3, 50, 80, .05), .025, 1e-12},
		"no effect, paired": {PowerPaired(.1, .1, 200, .05), .025, 1e-12},
		"no effect, one":    {PowerOne(.3, .3, 50, .05), .025, 1e-12},
		"no effect":         {PowerOf(0, 2, .1), .05, 1e-12},
		// (1.959964 + 0.8416212) x 2
		"detectable": {DetectableEffect(2, .05, .8), 5.6031705, 1e-6},
		// 80 % power at the effect that is detectable with 80 %
		"and back": {PowerOf(5.6031705, 2, .05), .8, 1e-6},
		// n 50, 1.96 standard errors where the estimate lies half of one off: (1.96/0.5)^2 times as many
		"to decide":      {SizeToDecide(.01, .02, 100, .95), 1537, 0},
		"decided before": {SizeToDecide(-.5, .02, 100, .95), 100, 0},
	} {
		if !c.got.Ok() || math.Abs(c.got.X-c.want) > c.within {
			t.Errorf("%s: %+v, want %v", name, c.got, c.want)
		}
	}
}

// The slow definition: draw samples, test them, count.
func TestPowerIsHowOftenItIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 21))
	draw := func(n int, p float64) (k float64) {
		for range n {
			if r.Float64() < p {
				k++
			}
		}
		return k
	}
	const tries = 4000
	var two, paired, one int
	for range tries {
		a, b := draw(150, .6), draw(200, .45)
		pooled := (a + b) / 350
		if math.Abs(a/150-b/200) > 1.959964*math.Sqrt(pooled*(1-pooled)*(1./150+1./200)) {
			two++
		}
		var rise, fall int64
		for range 300 {
			if x := r.Float64(); x < .15 {
				rise++
			} else if x < .22 {
				fall++
			}
		}
		if p := McNemar(rise, fall).P; p.Ok() && p.X < .05 {
			paired++
		}
		if math.Abs(draw(200, .6)/200-.5) > 1.959964*math.Sqrt(.25/200) {
			one++
		}
	}
	for name, c := range map[string]struct {
		got  Value
		want int
	}{
		"two": {PowerTwo(.6, .45, 150, 200, .05), two}, "paired": {PowerPaired(.15, .07, 300, .05), paired}, "one": {PowerOne(.6, .5, 200, .05), one},
	} {
		if want := float64(c.want) / tries; math.Abs(c.got.X-want) > .03 {
			t.Errorf("%s: %v, found %v of the time", name, c.got, want)
		}
	}
}

func TestDetectableRateIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, n, m := rapid.Float64Range(0, 1).Draw(t, "base"), rapid.Float64Range(5, 5000).Draw(t, "n"), rapid.Float64Range(5, 5000).Draw(t, "m")
		above := rapid.Bool().Draw(t, "above")
		got := DetectableRate(base, n, m, .05, .8, above)
		if !got.Ok() {
			if got.Absent != Unreachable || got.X != 0 {
				t.Fatalf("%+v", got)
			}
			return
		}
		if p := PowerTwo(base, got.X, n, m, .05); math.Abs(p.X-.8) > 1e-6 || (got.X > base) != above {
			t.Fatalf("%v against %v: power %v", base, got, p)
		}
	})
}

func TestSizeForMargin(t *testing.T) {
	// The interval of rule 2 with that many is as narrow as asked for, and with one less it is not.
	rapid.Check(t, func(t *rapid.T) {
		p, margin := rapid.Float64Range(0, 1).Draw(t, "p"), rapid.Float64Range(.005, .3).Draw(t, "margin")
		got := SizeForMargin(p, margin, 1, 0, .95)
		if !got.Ok() {
			t.Fatalf("%+v", got)
		}
		if w := ClopperPearson(p*got.X, got.X, .95).Width(); w > 2*margin+1e-9 {
			t.Fatalf("%v are too few: %v", got, w)
		}
		if n := got.X - 1; n > 0 && ClopperPearson(p*n, n, .95).Width() < 2*margin-1e-9 {
			t.Fatalf("%v are too many", got)
		}
		size := rapid.Int64Range(1, 100000).Draw(t, "N")
		few := SizeForMargin(p, margin, 1, size, .95)
		if few.X > min(got.X, float64(size)) || few.X < 1 {
			t.Fatalf("%v of %v, %v of an endless population", few, size, got)
		}
	})
	// Where Wald's formula is right, they are close: 1.96^2 .25/.03^2 = 1068, of 5,000 880; the exact interval asks for a few more.
	for _, c := range []struct {
		size       int64
		effect     float64
		low, high_ float64
	}{{0, 1, 1068, 1105}, {0, 2, 2136, 2210}, {5000, 1, 880, 905}} {
		if got := SizeForMargin(.5, .03, c.effect, c.size, .95); got.X < c.low || got.X > c.high_ {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if got := SizeForMargin(0, .02, 1, 0, .95); got.X < 50 {
		t.Errorf("no hit expected still asks for units: %v", got)
	}
}

func TestPowerUndefined(t *testing.T) {
	nan := math.NaN()
	for name, got := range map[string]Value{
		"two that never vary": PowerTwo(0, 1, 10, 10, .05), "nobody": PowerTwo(.5, .6, 0, 10, .05), "a rate of two": PowerTwo(2, .6, 5, 10, .05),
		"nan": PowerTwo(nan, .6, 5, 10, .05), "pairs that never change": PowerPaired(0, 0, 10, .05), "too much change": PowerPaired(.6, .6, 10, .05),
		"one that never varies": PowerOne(0, .5, 10, .05), "no error": PowerOf(1, 0, .05), "no level": PowerOf(1, 1, 0), "no power": DetectableEffect(1, .05, .01),
		"no margin": SizeForMargin(.5, 0, 1, 0, .95), "no effect": SizeForMargin(.5, .1, 0, 0, .95), "decide on nan": SizeToDecide(nan, 1, 5, .95),
		"power of 2": SizeForPower(2, func(float64) Value { return Known(1) }),
	} {
		if got.Absent != OutOfRange {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, got := range map[string]Value{
		"on the limit": SizeToDecide(0, 1, 5, .95), "hardly off it": SizeToDecide(1e-30, 1, 5, .95),
		"no effect to find": SizeForPower(.9, func(n float64) Value { return PowerTwo(.5, .5, n, n, .05) }),
		"three units":       DetectableRate(.5, 3, 3, .05, .8, true),
		"at the end":        DetectableRate(1, 300, 300, .05, .8, true),
	} {
		if got.Absent != Unreachable {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
