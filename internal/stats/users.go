package stats

// crowd is a sample by user, over all strata: clusters nested in strata would take a user who is seen on
// two days for two.
type crowd struct {
	at       map[int]int // of each user its place below
	residual []float64   // of each user, sum of W_h/n_h (y - p) / D
	share    []float64   // of the weight
	in       []int       // of each group, the number of its users
}

// users is nil where no users are known.
func (l *level) users(cells []Cell) *crowd {
	if cells == nil {
		return nil
	}
	c := &crowd{in: make([]int, len(l.groups)), at: make(map[int]int, len(cells))}
	type seat struct{ user, group int }
	met := make(map[seat]bool, len(cells))
	for _, x := range cells {
		g := l.of[x.Stratum]
		if g < 0 || x.Domain == 0 {
			continue
		}
		i := c.place(x.User)
		w := l.unit(l.groups[g]) / l.d
		c.residual[i] += w * (x.Sum - l.p*float64(x.Domain))
		c.share[i] += w * float64(x.Domain)
		if !met[seat{i, g}] {
			met[seat{i, g}] = true
			c.in[g]++
		}
	}
	return c
}

func (c *crowd) place(user int) int {
	i, ok := c.at[user]
	if !ok {
		i = len(c.residual)
		c.at[user] = i
		c.residual, c.share = append(c.residual, 0), append(c.share, 0)
	}
	return i
}

// effective is the effective number of users, 1 / sum share^2 (Kish, Survey Sampling, 1965, 11.7).
func (c *crowd) effective() float64 {
	sum := 0.0
	for _, s := range c.share {
		sum += s * s
	}
	if sum == 0 {
		return 0
	}
	return 1 / sum
}

// jackknife is the delete-one-user variance (G-1)/G sum (p_(u) - p)^2, with p_(u) the level without user u
// and p_(u) - p = -residual/(1 - share) (Rust and Rao, Variance estimation for complex surveys using
// replication techniques, Statistical Methods in Medical Research 5, 1996: JK1).
func (c *crowd) jackknife() float64 {
	g, sum := float64(len(c.residual)), 0.0
	for i := range c.residual {
		x := c.influence(i)
		sum += x * x
	}
	if g == 0 {
		return 0
	}
	return (g - 1) / g * sum
}

// influence is how much the level falls without a user. Where one user is everything there is no level
// without: it is 0, and effective says why nothing follows from it.
func (c *crowd) influence(i int) float64 {
	if c.share[i] >= 1 {
		return 0
	}
	return c.residual[i] / (1 - c.share[i])
}

func (c *crowd) cubes() (sum float64) {
	for i := range c.residual {
		x := c.influence(i)
		sum += x * x * x
	}
	return sum
}
