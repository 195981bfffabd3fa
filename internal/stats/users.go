package stats

import (
	"cmp"
	"slices"
)

// MinUsers is the effective number of users below which nothing is said about the process.
const MinUsers = 8

// Cell is what one user's units gave in one stratum. Units of one user are alike, so a user is drawn or
// left out whole. A unit whose user is unknown is a user of its own.
type Cell struct {
	User    int // any number that is the same for the units of one user
	Stratum int // index into the strata
	Domain  int64
	Sum     float64
}

// visit is what one user adds in one group of units.
type visit struct {
	user, group     int
	residual, share float64
}

// crowd is a sample by user, over all strata: clusters nested in strata would take a user who is seen on
// two days for two.
type crowd struct {
	user     []int     // in rising order
	residual []float64 // of each user, sum of W_h/n_h (y - p) / D
	share    []float64 // of the weight
	in       []int     // of each group, the number of its users
	// effective is the effective number of users, 1 / sum share^2 (Kish, Survey Sampling, 1965, 11.7).
	effective float64
}

// users gathers cells; strata that do not count and cells outside of the domain are left out.
func (l *level) users(cells []Cell) *crowd {
	visits := make([]visit, 0, len(cells))
	for _, x := range cells {
		if g := l.of[x.Stratum]; g >= 0 && x.Domain > 0 {
			w := l.unit(l.groups[g]) / l.d
			visits = append(visits, visit{x.User, g, w * (x.Sum - l.p*float64(x.Domain)), w * float64(x.Domain)})
		}
	}
	return newCrowd(visits, len(l.groups))
}

func newCrowd(visits []visit, groups int) *crowd {
	byUser := func(a, b visit) int {
		if a.user != b.user {
			return cmp.Compare(a.user, b.user)
		}
		return cmp.Compare(a.group, b.group)
	}
	if !slices.IsSortedFunc(visits, byUser) { // sorting takes most of the time of a large report
		slices.SortFunc(visits, byUser)
	}
	c := &crowd{in: make([]int, groups)}
	var residuals, shares []float64
	for i, v := range visits {
		first := i == 0 || visits[i-1].user != v.user
		if first || visits[i-1].group != v.group {
			c.in[v.group]++
		}
		residuals, shares = append(residuals, v.residual), append(shares, v.share)
		if i+1 == len(visits) || visits[i+1].user != v.user {
			c.user = append(c.user, v.user)
			c.residual, c.share = append(c.residual, total(residuals)), append(c.share, total(shares))
			residuals, shares = residuals[:0], shares[:0]
		}
	}
	if sum := totalOf(c.share, sq); sum > 0 {
		c.effective = 1 / sum
	}
	return c
}

// jackknife is the delete-one-user variance (G-1)/G sum (p_(u) - p)^2, with p_(u) the level without user u
// and p_(u) - p = -residual/(1 - share) (Rust and Rao, Variance estimation for complex surveys using
// replication techniques, Statistical Methods in Medical Research 5, 1996: JK1).
func jackknife(influences []float64) float64 {
	g := float64(len(influences))
	if g == 0 {
		return 0
	}
	return (g - 1) / g * totalOf(influences, sq)
}

// freedom is the degrees of freedom of the jackknife's variance: at most `most`, and by Satterthwaite (An
// approximate distribution of estimates of variance components, Biometrics Bulletin 2, 1946) 2 v^2 / var(v), with
// the variance of v = sum x^2 as it was seen, sum x^4 - (sum x^2)^2/G. Of normal influences it is G; where two of
// a hundred users carry all hits, 4.
func freedom(influences []float64, most float64) float64 {
	second, fourth := totalOf(influences, sq), totalOf(influences, func(x float64) float64 { return sq(x * x) })
	if vary := fourth - second*second/float64(len(influences)); vary > 0 {
		return min(most, max(2*second*second/vary, 1))
	}
	return most
}

// influences are how much the level falls without each user.
func (c *crowd) influences() []float64 {
	out := make([]float64, len(c.user))
	for i := range out {
		out[i] = c.influence(i)
	}
	return out
}

// influence is 0 where one user is everything and there is no level without: effective says why nothing
// follows from it.
func (c *crowd) influence(i int) float64 {
	if c.share[i] >= 1 {
		return 0
	}
	return c.residual[i] / (1 - c.share[i])
}

// influenceOf is 0 for a user who is not there.
func (c *crowd) influenceOf(user int) float64 {
	if i, ok := slices.BinarySearch(c.user, user); ok {
		return c.influence(i)
	}
	return 0
}

// less are the influences on the difference of two levels of all users in either: one who is in both moves both.
func (c *crowd) less(b *crowd) (out []float64) {
	i, j := 0, 0
	for i < len(c.user) || j < len(b.user) {
		switch {
		case j == len(b.user) || i < len(c.user) && c.user[i] < b.user[j]:
			out = append(out, c.influence(i))
			i++
		case i == len(c.user) || b.user[j] < c.user[i]:
			out = append(out, -b.influence(j))
			j++
		default:
			out = append(out, c.influence(i)-b.influence(j))
			i, j = i+1, j+1
		}
	}
	return out
}

func (c *crowd) few() Absence {
	if c.effective < MinUsers {
		return TooFewUsers
	}
	return Defined
}

// apart is the most degrees of freedom that a difference of two levels has, by Welch (The generalization of
// Student's problem, Biometrika 34, 1947).
func (c *crowd) apart(b *crowd) float64 {
	return welch(spread{v: jackknife(c.influences()), df: c.effective - 1}, spread{v: jackknife(b.influences()), df: b.effective - 1})
}
