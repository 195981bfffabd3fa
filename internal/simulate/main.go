package main

import (
	"fmt"
	"math/rand/v2"

	"assay/internal/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

func beta(r *rand.Rand, p, rho float64) float64 {
	if rho == 0 {
		return p
	}
	a := p * (1/rho - 1)
	return distuv.Beta{Alpha: a, Beta: a / p * (1 - p), Src: r}.Rand()
}

func lift(p, rho float64, G, size int, cap int, cross bool) {
	const reps = 800
	hit, sig, n, hitU := 0, 0, 0, 0
	width, sum := 0.0, 0.0
	for rep := range reps {
		r := rand.New(rand.NewPCG(uint64(rep), 9))
		type sess struct{ u, y int }
		var arms [2][14][]sess
		for u := range G {
			z := beta(r, 0.5, rho) - 0.5 // shift
			for range size {
				d := r.IntN(14)
				share := 0.05 + 0.45*float64(d)/13
				rate := p
				if d == 7 {
					rate = p * 0.4
				}
				arm := 0
				if cross {
					if r.Float64() < share {
						arm = 1
					}
				} else if float64(u%100)/100 < share {
					arm = 1
				}
				y := 0
				q := rate
				if rho > 0 {
					q = min(max(rate+z*min(rate, 1-rate)*1.2, 0), 1)
				}
				if r.Float64() < q {
					y = 1
				}
				arms[arm][d] = append(arms[arm][d], sess{u, y})
			}
		}
		days := make([]stats.Both, 14)
		cells := map[[3]int]*stats.ArmCell{}
		for a := range 2 {
			for d := range 14 {
				ss := arms[a][d]
				r.Shuffle(len(ss), func(i, j int) { ss[i], ss[j] = ss[j], ss[i] })
				h := stats.Arm{Size: int64(len(ss))}
				for _, s := range ss[:min(cap, len(ss))] {
					h.Observed++
					h.Hits += int64(s.y)
					c := cells[[3]int{s.u, d, a}]
					if c == nil {
						c = &stats.ArmCell{User: s.u, Day: d, Treatment: a == 1}
						cells[[3]int{s.u, d, a}] = c
					}
					c.Observed++
					c.Hits += int64(s.y)
				}
				if a == 1 {
					days[d].Treatment = h
				} else {
					days[d].Control = h
				}
			}
		}
		var list []stats.ArmCell
		for _, c := range cells {
			list = append(list, *c)
		}
		e := stats.Lift(days, list, .95)
		if !e.Interval.Ok() {
			continue
		}
		n++
		sum += e.Level.X
		if e.Interval.Has(0) {
			hit++
		}
		if e.P.X < .05 {
			sig++
		}
		if stats.Lift(days, nil, .95).Interval.Has(0) {
			hitU++
		}
		width += e.Interval.Width()
	}
	fmt.Printf("lift p %-5v rho %-4v users %-4d size %-3d cap %-4d cross %-5v hit %.3f width %.3f (no users %.3f) mean %.4f n %d\n", p, rho, G, size, cap, cross, float64(hit)/float64(n), width/float64(n), float64(hitU)/float64(n), sum/float64(n), n)
}

func paired(disc float64, tilt float64, rho float64, G, size, cap int) {
	const reps = 800
	hit, sig, n := 0, 0, 0
	width := 0.0
	truth := disc * tilt
	for rep := range reps {
		r := rand.New(rand.NewPCG(uint64(rep), 11))
		days := make([][][2]int, 14)
		for u := range G {
			q := beta(r, disc, rho)
			for range size {
				d := r.IntN(14)
				if r.Float64() < .6 {
					d = 13
				}
				v := 0
				if r.Float64() < q {
					v = -1
					if r.Float64() < (1+tilt)/2 {
						v = 1
					}
				}
				days[d] = append(days[d], [2]int{u, v})
			}
		}
		var strata []stats.Pairs
		cells := map[[2]int]*stats.PairCell{}
		for d, ss := range days {
			r.Shuffle(len(ss), func(i, j int) { ss[i], ss[j] = ss[j], ss[i] })
			h := stats.Pairs{Size: int64(len(ss)), Line: "a"}
			for _, s := range ss[:min(cap, len(ss))] {
				h.Drawn++
				h.Both++
				c := cells[[2]int{s[0], d}]
				if c == nil {
					c = &stats.PairCell{User: s[0], Stratum: d}
					cells[[2]int{s[0], d}] = c
				}
				c.Both++
				if s[1] > 0 {
					h.Rises++
					c.Rises++
				}
				if s[1] < 0 {
					h.Falls++
					c.Falls++
				}
			}
			strata = append(strata, h)
		}
		var list []stats.PairCell
		for _, c := range cells {
			list = append(list, *c)
		}
		e := stats.Paired(strata, list, .95, 1)
		if !e.Interval.Ok() {
			continue
		}
		n++
		if e.Interval.Has(truth) {
			hit++
		}
		if e.P.X < .05 {
			sig++
		}
		width += e.Interval.Width()
	}
	fmt.Printf("paired disc %-5v tilt %-3v rho %-4v users %-4d size %-3d cap %-4d hit %.3f width %.3f p<.05 %.3f n %d\n", disc, tilt, rho, G, size, cap, float64(hit)/float64(n), width/float64(n), float64(sig)/float64(n), n)
}

func main() {
	for _, disc := range []float64{.3, .05, .01} {
		for _, tilt := range []float64{0, .5, 1} {
			for _, rho := range []float64{.01, .3, .6} {
				for _, g := range [][3]int{{12, 50, 100000}, {30, 5, 1000}, {100, 20, 100000}, {100, 20, 10}, {100, 50, 100000}, {300, 3, 100000}} {
					paired(disc, tilt, rho, g[0], g[1], g[2])
				}
			}
		}
	}
}
