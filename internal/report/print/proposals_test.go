package print_test

import (
	"bytes"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/print"
	"assay/internal/report/propose"
	"assay/internal/stats"
)

func TestProposals(t *testing.T) {
	each, most, budget := 12*assay.Dollar/1000, 20*assay.Dollar/1000, 3*assay.Dollar
	e := propose.Evidence{Judge: "solved", Strata: []propose.Stratum{
		{Stratum: assay.Stratum{Day: "2026-03-01", Arm: "a"}, Eligible: 20000, Seen: 200, Hits: 190},
		{Stratum: assay.Stratum{Day: "2026-03-02", Arm: "a"}, Eligible: 900, Seen: 200, Hits: 100},
		{Stratum: assay.Stratum{Day: "2026-03-03", Arm: "a"}, Eligible: 4},
	}}
	few := propose.Evidence{Strata: []propose.Stratum{{Stratum: assay.Stratum{Day: "2026-03-01", Arm: "a"}, Eligible: 300}}}
	var users []propose.User
	for u := range 30 {
		users = append(users, propose.User{User: u, N: 10})
	}
	for name, q := range map[string]propose.Request{
		"margin":      {Evidence: e, Margin: 0.02, Price: propose.Price{Expected: &each, Most: &most}, Seed: 1},
		"budget":      {Evidence: e, Budget: &budget, Price: propose.Price{Most: &most}, Seed: 1},
		"unreachable": {Evidence: few, Users: users, Margin: 0.02, Target: stats.Process, Seed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := propose.Make(q)
			if err != nil {
				t.Fatal(err)
			}
			p.Chosen = p.Best
			var out bytes.Buffer
			if err := print.Proposals(&out, p, 100); err != nil {
				t.Fatal(err)
			}
			golden(t, "proposals-"+name+".txt", out.Bytes())
		})
	}
}
