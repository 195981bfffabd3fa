package stats

import (
	"math"
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
		g, sum, cubes, squares, all := float64(len(s.seen())), 0.0, 0.0, 0.0, 0.0
		for u := range s.seen() {
			x := l.p - s.deleted(u)
			sum, cubes = sum+x*x, cubes+x*x*x
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
		if !near(c.jackknife(), (g-1)/g*sum) || !near(c.cubes(), cubes) || !near(c.effective(), all*all/squares) {
			t.Fatalf("%v %v %v, want %v %v %v", c.jackknife(), c.cubes(), c.effective(), (g-1)/g*sum, cubes, all*all/squares)
		}
	})
}

// Of two crowds: what users in both take off, and the cubes of their influence on the difference.
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
		var shared, cubes float64
		for u := range 10 {
			x, y := a.influenceOf(u), b.influenceOf(u)
			shared, cubes = shared+2*x*y, cubes+math.Pow(x-y, 3)
		}
		if s, c := a.less(b); !near(s, shared) || !near(c, cubes) {
			t.Fatalf("%v %v, want %v %v", s, c, shared, cubes)
		}
	})
}

func TestCrowdCountsUsersOnce(t *testing.T) {
	c := newCrowd([]visit{{5, 0, .1, .25}, {3, 0, .2, .25}, {5, 1, .3, .25}, {5, 0, -.1, .25}}, 3)
	if len(c.user) != 2 || c.user[0] != 3 || !near(c.residual[1], .3) || !near(c.share[1], .75) || c.in[0] != 2 || c.in[1] != 1 || c.in[2] != 0 {
		t.Errorf("%+v", c)
	}
	if one := newCrowd([]visit{{1, 0, .1, 1}}, 1); one.jackknife() != 0 || one.effective() != 1 {
		t.Errorf("one user: %+v", one)
	}
	if none := newCrowd(nil, 1); none.jackknife() != 0 || none.effective() != 0 {
		t.Errorf("no user: %+v", none)
	}
}
