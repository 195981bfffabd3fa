package stats

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// deleted is the level without a user, all weights of units as they were.
func (p peopled) deleted(user int) float64 {
	var y, d float64
	for _, c := range p.cells {
		if c.User != user {
			h := p.strata[c.Stratum]
			w := float64(h.Size) / float64(h.Observed)
			y, d = y+w*c.Sum, d+w*float64(c.Domain)
		}
	}
	return y / d
}

func (p peopled) seen() (users map[int]bool) {
	users = map[int]bool{}
	for _, c := range p.cells {
		users[c.User] = true
	}
	return users
}

// The jackknife is the level worked out again without each user.
func TestJackknifeIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genPeopled(t)
		l, why := newLevel(hits(s.strata), Known(0), Known(1))
		if why != Defined || len(s.seen()) < 2 || len(l.groups) < len(s.strata) {
			return
		}
		g, sum, squares, all := float64(len(s.seen())), 0.0, 0.0, 0.0
		for u := range s.seen() {
			x := l.p - s.deleted(u)
			sum += x * x
			own := 0.0
			for _, c := range s.cells {
				w := float64(c.Domain) * float64(s.strata[c.Stratum].Size) / float64(s.strata[c.Stratum].Observed)
				all += w
				if c.User == u {
					own += w
				}
			}
			squares += own * own
		}
		all /= g
		c := l.users(s.cells)
		if !near(jackknife(c.influences()), (g-1)/g*sum) || !near(c.effective, all*all/squares) {
			t.Fatalf("%v %v, want %v %v", jackknife(c.influences()), c.effective, (g-1)/g*sum, all*all/squares)
		}
	})
}

// Of two crowds: users in both move both.
func TestCrowdsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) *crowd {
			var visits []visit
			for range rapid.IntRange(0, 12).Draw(t, name) {
				visits = append(visits, visit{
					rapid.IntRange(0, 9).Draw(t, "user"), rapid.IntRange(0, 2).Draw(t, "group"),
					rapid.Float64Range(-1, 1).Draw(t, "residual"), rapid.Float64Range(0, .05).Draw(t, "share"),
				})
			}
			return newCrowd(visits, 3)
		}
		a, b := draw("a"), draw("b")
		var want []float64
		for u := range 10 {
			if x := a.influenceOf(u) - b.influenceOf(u); x != 0 {
				want = append(want, x)
			}
		}
		got := slices.DeleteFunc(a.less(b), func(x float64) bool { return x == 0 })
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestCrowdCountsUsersOnce(t *testing.T) {
	c := newCrowd([]visit{{5, 0, .1, .25}, {3, 0, .2, .25}, {5, 1, .3, .25}, {5, 0, -.1, .25}}, 3)
	if len(c.user) != 2 || c.user[0] != 3 || !near(c.residual[1], .3) || !near(c.share[1], .75) || c.in[0] != 2 || c.in[1] != 1 || c.in[2] != 0 {
		t.Errorf("%+v", c)
	}
	if one := newCrowd([]visit{{1, 0, .1, 1}}, 1); jackknife(one.influences()) != 0 || one.effective != 1 {
		t.Errorf("one user: %+v", one)
	}
	if none := newCrowd(nil, 1); jackknife(none.influences()) != 0 || none.effective != 0 {
		t.Errorf("no user: %+v", none)
	}
}

// Of normal influences as many as users; of a few large ones as many as those.
func TestFreedom(t *testing.T) {
	alike := make([]float64, 50)
	for i := range alike {
		alike[i] = .01
	}
	if df := freedom(alike, 49); !near(df, 49) {
		t.Errorf("all alike: %v", df)
	}
	two := make([]float64, 100)
	two[3], two[7] = .5, .5
	if df := freedom(two, 99); !near(df, 2/(1./2-1./100)) {
		t.Errorf("two of a hundred: %v", df)
	}
	if df := freedom(make([]float64, 20), 19); !near(df, 19) {
		t.Errorf("no influence at all: %v", df)
	}
}
