package main

import (
	"fmt"
	"math/rand/v2"

	"assay/internal/stats"
)

func rate(p, rho float64, G, size, cap, mode int) {
	const reps = 800
	hit, n := 0, 0
	width := 0.0
	for rep := range reps {
		r := rand.New(rand.NewPCG(uint64(rep), 9))
		type sess struct{ u, y int }
		days := make([][]sess, 14)
		for u := range G {
			pu := 0.0
			if rho >= 1 {
				if r.Float64() < p {
					pu = 1
				}
			} else {
				pu = beta(r, p, rho)
			}
			for range size {
				d := r.IntN(14)
				if r.Float64() < 0.6 {
					d = 13
				}
				y := 0
				if r.Float64() < pu {
					y = 1
				}
				days[d] = append(days[d], sess{u, y})
			}
		}
		var strata []stats.Stratum
		cells := map[[2]int]*stats.Cell{}
		for d, ss := range days {
			r.Shuffle(len(ss), func(i, j int) { ss[i], ss[j] = ss[j], ss[i] })
			h := stats.Stratum{Size: int64(len(ss)), Line: "a"}
			for _, s := range ss[:min(cap, len(ss))] {
				h.Drawn++
				h.Observed++
				h.Domain++
				h.Sum += float64(s.y)
				c := cells[[2]int{s.u, d}]
				if c == nil {
					c = &stats.Cell{User: s.u, Stratum: d}
					cells[[2]int{s.u, d}] = c
				}
				c.Domain++
				c.Sum += float64(s.y)
			}
			strata = append(strata, h)
		}
		var list []stats.Cell
		for _, c := range cells {
			list = append(list, *c)
		}
		i := stats.RateInterval(strata, list, stats.Process, .95)
		if !i.Ok() {
			continue
		}
		n++
		if i.Has(p) {
			hit++
		}
		width += i.Width()
	}
	fmt.Printf("mode %d p %-5v rho %-4v users %-4d size %-3d cap %-6d hit %.3f width %.3f n %d\n", mode, p, rho, G, size, cap, float64(hit)/float64(n), width/float64(n), n)
}
