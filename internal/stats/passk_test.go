package stats

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The slow definition: go through all ways to choose k trials of a task.
func TestPassRatesAreTheirDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 4).Draw(t, "k")
		var tasks []Trials
		var hat, at, n float64
		for range rapid.IntRange(0, 12).Draw(t, "tasks") {
			trials := rapid.IntRange(0, 7).Draw(t, "trials")
			passes := rapid.IntRange(0, trials).Draw(t, "passes")
			tasks = append(tasks, Trials{int64(trials), int64(passes)})
			if trials < k {
				continue
			}
			n++
			var every, any, ways float64
			for set := range uint(1) << trials {
				if bits.OnesCount(set) != k {
					continue
				}
				ways++
				passed := bits.OnesCount(set & (1<<passes - 1))
				if passed == k {
					every++
				}
				if passed > 0 {
					any++
				}
			}
			hat += every / ways
			at += any / ways
		}
		for _, c := range []struct {
			got  PassRate
			want float64
		}{{PassHat(tasks, int64(k), .95), hat / n}, {PassAt(tasks, int64(k), .95), at / n}} {
			if n == 0 {
				if c.got.Level.Absent != TooFewTrials || c.got.Interval.Absent != TooFewTrials {
					t.Fatalf("%+v", c.got)
				}
				continue
			}
			if !near(c.got.Level.X, c.want) || c.got.Tasks != int(n) || c.got.Left != len(tasks)-int(n) {
				t.Fatalf("%+v, want %v", c.got, c.want)
			}
			if c.got.Interval.Ok() != (n > 1) || c.got.Interval.Ok() && !c.got.Interval.Has(c.got.Level.X) {
				t.Fatalf("%+v", c.got)
			}
			if !finite(c.got.Interval.Low, c.got.Interval.High) {
				t.Fatalf("%+v", c.got)
			}
		}
		other := append([]Trials{}, tasks...)
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		if PassHat(tasks, int64(k), .95) != PassHat(other, int64(k), .95) {
			t.Fatal("order matters")
		}
	})
}

func TestPassRateUndefined(t *testing.T) {
	if got := PassHat([]Trials{{4, 4}, {4, 4}, {4, 4}}, 1, .95); got.Level != Known(1) || got.Interval.Low > .6 {
		t.Errorf("three tasks that always pass are three, not twelve: %+v", got)
	}
	for name, tasks := range map[string][]Trials{"more passes than trials": {{3, 4}}, "negative": {{3, -1}}} {
		if got := PassHat(tasks, 1, .95); got.Level.Absent != OutOfRange {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := PassAt([]Trials{{4, 2}}, 0, .95); got.Level.Absent != OutOfRange {
		t.Errorf("k = 0: %+v", got)
	}
	if got := PassAt([]Trials{{4, 2}}, 2, .95); got.Interval.Absent != NoFreedom || !got.Level.Ok() {
		t.Errorf("one task: %+v", got)
	}
}

func TestPassHatHits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const tries, tasks = 2000, 30
	hits := 0
	for range tries {
		var rows []Trials
		for range tasks {
			p, c := r.Float64(), int64(0) // a task's own chance, even over 0 to 1: pass^2 is 1/3
			for range 4 {
				if r.Float64() < p {
					c++
				}
			}
			rows = append(rows, Trials{4, c})
		}
		if PassHat(rows, 2, .95).Interval.Has(1. / 3) {
			hits++
		}
	}
	if share := float64(hits) / tries; share < .93 || share > .99 {
		t.Errorf("hits %.3f of the time", share)
	}
}
