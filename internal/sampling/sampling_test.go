package sampling

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Digests computed with Python's hmac module, so that a sample drawn here is the sample of any
// other implementation of the rule.
func TestDigestIsTheDocumentedOne(t *testing.T) {
	for _, c := range []struct{ seed, user, session, digest string }{
		{"assay", "synthetic-user-0001", "s-1", "c2ade112f7647eaf3193f3d987f5087f4eabbbe5e4f819560461d7109d5c3f9e"},
		{"assay", "a", "bc", "b37485e09f2f95673975c5dc6b8f9f045c43043ef8d950256a01b34c4ce6d776"},
		{"assay", "ab", "c", "28ef916a8458bc2bfd3046b8d620c472f3bfe86aaea31d5e190105ceb849065e"},
		{"", "", "", "853c7403937d8b6239569b184eb7993fc5f751aefcea28f2c863858e2d29c50b"},
		{strings.Repeat("größe ☃", 20), "名前", strings.Repeat("x", 200), "3ff39ff0317148ce334283b43c8cc88ec58c82f473914363c48cda49b2a49182"},
	} {
		s := New(c.seed, 1)
		for range 2 { // the second use restores the saved state
			s.hash(c.user, c.session)
			if got := hex.EncodeToString(s.digest[:]); got != c.digest {
				t.Errorf("digest of %q %q under seed %q = %s, want %s", c.user, c.session, c.seed, got, c.digest)
			}
		}
	}
}

type offered struct {
	day, arm, user, session string
	ref                     int64
}

func population(t *rapid.T) []offered {
	n := rapid.IntRange(0, 200).Draw(t, "sessions")
	seen := map[[2]string]bool{}
	var all []offered
	for i := range n {
		o := offered{
			day:     rapid.SampledFrom([]string{"2026-03-01", "2026-03-02", "undated"}).Draw(t, "day"),
			arm:     rapid.SampledFrom([]string{"control", "treatment", "untagged"}).Draw(t, "arm"),
			user:    rapid.StringN(0, 6, -1).Draw(t, "user"),
			session: rapid.StringN(0, 6, -1).Draw(t, "session"),
			ref:     int64(i),
		}
		if key := [2]string{o.user, o.session}; !seen[key] {
			seen[key] = true
			all = append(all, o)
		}
	}
	return all
}

func draw(seed string, n int, all []offered) Sample {
	s := New(seed, n)
	for _, o := range all {
		s.Add(o.day, o.arm, o.user, o.session, o.ref)
	}
	return s.Result()
}

func TestSampleIsAFunctionOfItsInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := population(t)
		n := rapid.IntRange(0, 40).Draw(t, "n")
		seed := rapid.String().Draw(t, "seed")
		first := draw(seed, n, all)

		shuffled := slices.Clone(all)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		second := draw(seed, n, shuffled)
		if fmt.Sprint(describe(first)) != fmt.Sprint(describe(second)) {
			t.Fatalf("another input order gave another sample:\n%v\n%v", describe(first), describe(second))
		}

		size := map[name]int64{}
		for _, o := range all {
			size[name{o.day, o.arm}]++
		}
		if len(size) != len(first.Strata) || first.Size != int64(len(all)) {
			t.Fatalf("%d strata of %d sessions, want %d of %d", len(first.Strata), first.Size, len(size), len(all))
		}
		for _, h := range first.Strata {
			want := size[name{h.Day, h.Arm}]
			if h.Size != want || int64(len(h.Chosen)) != min(int64(n), want) {
				t.Fatalf("stratum %s/%s: N=%d n=%d, want N=%d n=%d", h.Day, h.Arm, h.Size, len(h.Chosen), want, min(int64(n), want))
			}
		}
	})
}

// describe drops the entries, which hold what the sampler alone may look at.
func describe(s Sample) (out []string) {
	for _, h := range s.Strata {
		out = append(out, fmt.Sprint(h.Day, h.Arm, h.Size, h.Chosen))
	}
	return append(out, fmt.Sprint(s.Order()))
}

func TestRaisingNKeepsTheSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := population(t)
		n := rapid.IntRange(0, 30).Draw(t, "n")
		small, large := draw("s", n, all), draw("s", n+rapid.IntRange(0, 30).Draw(t, "more"), all)
		for i, h := range small.Strata {
			if got := large.Strata[i].Chosen[:len(h.Chosen)]; !slices.Equal(got, h.Chosen) {
				t.Fatalf("stratum %s/%s: %v is no longer the beginning, which is %v", h.Day, h.Arm, h.Chosen, got)
			}
		}
	})
}

// sized offers sessions to a sampler with an n of its own for each stratum.
func sized(seed string, sizes []Size, all []offered) Sample {
	s := Sized(seed, sizes)
	for _, o := range all {
		s.Add(o.day, o.arm, o.user, o.session, o.ref)
	}
	return s.Result()
}

// With sizes, a stratum draws what it would with its n for all; none that is not named is sampled, and it keeps its
// place in the frame; the order of sizes and sessions changes nothing; raising one n keeps all that was drawn.
func TestSizesDrawWhatTheirNDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := population(t)
		var sizes []Size
		for _, h := range draw("s", 0, all).Strata {
			if rapid.Bool().Draw(t, "named") {
				sizes = append(sizes, Size{h.Day, h.Arm, rapid.IntRange(0, 40).Draw(t, "n")})
			}
		}
		got := sized("s", sizes, all)
		n := map[name]int{}
		for _, z := range sizes {
			n[name{z.Day, z.Arm}] = z.N
		}
		for i, h := range got.Strata {
			alone := draw("s", n[name{h.Day, h.Arm}], all).Strata[i]
			if h.Size != alone.Size || !slices.Equal(h.Chosen, alone.Chosen) {
				t.Fatalf("stratum %s/%s: %d of %d, %v; alone %d of %d, %v", h.Day, h.Arm, len(h.Chosen), h.Size, h.Chosen, len(alone.Chosen), alone.Size, alone.Chosen)
			}
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1))
		other, shuffled := slices.Clone(sizes), slices.Clone(all)
		random.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := sized("s", other, shuffled); fmt.Sprint(describe(again)) != fmt.Sprint(describe(got)) {
			t.Fatalf("another order gave another sample:\n%v\n%v", describe(got), describe(again))
		}
		if len(sizes) == 0 {
			return
		}
		other[rapid.IntRange(0, len(other)-1).Draw(t, "raised")].N += rapid.IntRange(0, 20).Draw(t, "more")
		for i, h := range sized("s", other, all).Strata {
			if old := got.Strata[i].Chosen; len(h.Chosen) < len(old) || !slices.Equal(h.Chosen[:len(old)], old) {
				t.Fatalf("stratum %s/%s: %v is no longer the beginning, which is %v", h.Day, h.Arm, old, h.Chosen)
			}
		}
	})
}

func TestOrderBalancesEveryPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw("s", rapid.IntRange(1, 40).Draw(t, "n"), population(t))
		order := s.Order()
		if len(order) != s.Drawn() {
			t.Fatalf("%d picks of a sample of %d", len(order), s.Drawn())
		}
		done := make([]int, len(s.Strata))
		for _, p := range order {
			h := s.Strata[p.Stratum]
			if h.Chosen[done[p.Stratum]] != p.Ref {
				t.Fatal("a stratum is not graded in its own hash order")
			}
			// Before this pick no stratum lags or leads by more than one session of its share.
			share := float64(done[p.Stratum]) / float64(len(h.Chosen))
			for i, d := range done {
				n := float64(len(s.Strata[i].Chosen))
				if float64(d) < share*n-1e-9 || float64(d) > share*n+1+1e-9 {
					t.Fatalf("stratum %d has %d of %v where the share is %v", i, d, n, share)
				}
			}
			done[p.Stratum]++
		}
	})
}

func TestStrataAreSortedAndUndatedIsLast(t *testing.T) {
	s := draw("s", 5, []offered{
		{"undated", "a", "u", "1", 1}, {"2026-03-02", "b", "u", "2", 2}, {"2026-03-02", "a", "u", "3", 3}, {"2026-03-01", "z", "u", "4", 4}})
	var got []string
	sum := 0.0
	for i, h := range s.Strata {
		got = append(got, h.Day+"/"+h.Arm)
		sum += s.Weight(i)
	}
	if want := []string{"2026-03-01/z", "2026-03-02/a", "2026-03-02/b", "undated/a"}; !slices.Equal(got, want) {
		t.Errorf("strata %v, want %v", got, want)
	}
	if sum != 1 {
		t.Errorf("weights sum to %v", sum)
	}
}

func TestSeedChangesTheSample(t *testing.T) {
	var all []offered
	for i := range 1000 {
		all = append(all, offered{"d", "a", "u", fmt.Sprint(i), int64(i)})
	}
	in := map[int64]bool{}
	for _, seed := range []string{"one", "two"} {
		for _, ref := range draw(seed, 100, all).Strata[0].Chosen {
			in[ref] = true
		}
	}
	if n := len(slices.Collect(maps.Keys(in))); n < 170 || n == 100 {
		t.Errorf("two seeds drew %d different sessions of 2 x 100; about 190 are expected", n)
	}
}

func BenchmarkMillion(b *testing.B) {
	days, users, sessions := make([]string, 14), make([]string, 4096), make([]string, 4096)
	for i := range days {
		days[i] = fmt.Sprintf("2026-03-%02d", i+1)
	}
	for i := range users {
		users[i], sessions[i] = fmt.Sprintf("synthetic-user-%04d", i), fmt.Sprintf("session-%06d", i)
	}
	arms := []string{"control", "treatment", "untagged"}
	b.ReportAllocs()
	for b.Loop() {
		s := New("assay", 200)
		for i := range 1_000_000 {
			s.Add(days[i%14], arms[i%3], users[i%4096], sessions[i/4096], int64(i))
		}
		if got := s.Result().Drawn(); got != 14*3*200 {
			b.Fatal(got)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/session")
}
