package propose

import (
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/stats"
)

// BenchmarkMillion proposes for a margin of the process over a million sessions of 100,000 users.
func BenchmarkMillion(b *testing.B) {
	var strata []Stratum
	var users []User
	for day := range 14 {
		for arm := range 3 {
			h := len(strata)
			strata = append(strata, Stratum{Stratum: assay.Stratum{Day: fmt.Sprintf("2026-03-%02d", day+1), Arm: string(rune('a' + arm))}, Eligible: 24000})
			for u := range 12000 {
				users = append(users, User{h, (u*7 + h*4001) % 100_000, 2})
			}
		}
	}
	for _, margin := range []float64{0.02, 0.003} {
		for _, target := range []stats.Target{stats.Window, stats.Process} {
			b.Run(fmt.Sprint(target, margin), func(b *testing.B) {
				for b.Loop() {
					p, err := Make(Request{Evidence: Evidence{Strata: strata}, Users: users, Margin: margin, Target: target})
					if err != nil || p.Best == "" {
						b.Fatal(p, err)
					}
				}
			})
		}
	}
}
