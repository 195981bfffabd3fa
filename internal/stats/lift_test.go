package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A ramp from 5 % to 50 % across one bad day without an effect: the two rates differ by 9.4 points, the lift
// is 0.
func TestLiftDuringARamp(t *testing.T) {
	var days []Both
	var apart [2]struct{ n, hits float64 }
	for d := range 10 {
		rate, treated := .9, int64(50)
		if d >= 8 {
			rate, treated = .4, 500
		}
		b := Both{Label: fmt.Sprint(d)}
		b.Treatment = Arm{treated, treated, int64(rate * float64(treated))}
		b.Control = Arm{1000 - treated, 1000 - treated, int64(rate * float64(1000-treated))}
		days = append(days, b)
		for i, a := range []Arm{b.Treatment, b.Control} {
			apart[i].n += float64(a.Size)
			apart[i].hits += float64(a.Hits)
		}
	}
	if naive := apart[0].hits/apart[0].n - apart[1].hits/apart[1].n; naive > -.25 {
		t.Fatalf("the rates apart should differ: %v", naive)
	}
	if got := Lift(days, nil, .95); math.Abs(got.Level.X) > 1e-12 || !got.Interval.Has(0) || got.P.X < .999 || got.Days != 10 {
		t.Errorf("%+v", got)
	}
}

func TestLiftByHand(t *testing.T) {
	days := []Both{
		{"mon", Arm{100, 20, 12}, Arm{300, 30, 15}},
		{"tue", Arm{200, 10, 10}, Arm{200, 20, 5}},
		{"wed", Arm{500, 0, 0}, Arm{10, 10, 5}},
	}
	w := []float64{75. / 175, 100. / 175}
	level := w[0]*(.6-.5) + w[1]*(1-.25)
	q := 11. / 12
	vt := sq(w[0])*.6*.4/19 + sq(w[1])*q*(1-q)/9
	vc := sq(w[0])*.25/29 + sq(w[1])*.25*.75/19
	vary := math.Pow(w[0], 4)*.6*.4*sq(.2)/8000 + math.Pow(w[1], 4)*q*(1-q)*sq(1-2*q)/1000 + math.Pow(w[1], 4)*.25*.75*sq(.5)/8000
	df := min(sq(vt+vc)/(vt*vt/28+vc*vc/48), 2*sq(vt+vc)/vary)
	half := tQuantile(.975, df) * math.Sqrt(vt+vc)
	got := Lift(days, nil, .95)
	if !near(got.Level.X, level) || !near(got.Interval.DF, df) || !near(got.Interval.Low, level-half) ||
		!near(got.Interval.High, min(level+half, 1)) || got.Users.Absent != NoUsers {
		t.Errorf("%+v, want %v -+ %v df %v", got, level, half, df)
	}
	if fmt.Sprint(got.Dropped) != "[wed]" || got.Days != 2 {
		t.Errorf("%+v", got)
	}
}

type experiment struct {
	days  []Both
	cells []ArmCell
}

func genExperiment(t *rapid.T) (out experiment) {
	users := rapid.IntRange(1, 40).Draw(t, "users")
	for d := range rapid.IntRange(1, 5).Draw(t, "days") {
		b := Both{Label: fmt.Sprint(d)}
		for u := range users {
			for _, treatment := range []bool{false, true} {
				if treatment != (u%2 == 0) && !rapid.Bool().Draw(t, "crosses") {
					continue
				}
				n := rapid.Int64Range(0, 3).Draw(t, "n")
				if n == 0 {
					continue
				}
				c := ArmCell{User: u, Day: d, Treatment: treatment, Observed: n, Hits: rapid.Int64Range(0, n).Draw(t, "hits")}
				a := &b.Control
				if treatment {
					a = &b.Treatment
				}
				a.Size, a.Observed, a.Hits = a.Size+n, a.Observed+n, a.Hits+c.Hits
				out.cells = append(out.cells, c)
			}
		}
		b.Treatment.Size += rapid.Int64Range(0, 300).Draw(t, "more")
		b.Control.Size += rapid.Int64Range(0, 300).Draw(t, "more")
		out.days = append(out.days, b)
	}
	return out
}

// slowLift is the formula by user: residuals from the arm's rate of the day.
func slowLift(e experiment) (level, v float64) {
	w, all := make([]float64, len(e.days)), 0.0
	for i, d := range e.days {
		if t, c := d.Treatment, d.Control; t.Observed > 0 && c.Observed > 0 {
			w[i] = 1 / (1/float64(t.Size) + 1/float64(c.Size))
			all += w[i]
		}
	}
	share, residual := map[[2]int]float64{}, map[[2]int]float64{} // by user and arm
	met := map[[3]int]bool{}
	for _, c := range e.cells {
		a, arm := e.days[c.Day].Control, 0
		if c.Treatment {
			a, arm = e.days[c.Day].Treatment, 1
		}
		if n := float64(a.Observed); w[c.Day] > 0 {
			k := [2]int{c.User, arm}
			share[k] += w[c.Day] / all * float64(c.Observed) / n
			residual[k] += w[c.Day] / all / n * math.Sqrt(n/max(n-1, 1)) * (float64(c.Hits) - float64(a.Hits)/n*float64(c.Observed))
			met[[3]int{c.User, arm, c.Day}] = true
		}
	}
	influence := func(user, arm int) float64 {
		k := [2]int{user, arm}
		if share[k] >= 1 {
			return 0
		}
		return residual[k] / (1 - share[k])
	}
	users := map[int]bool{}
	for k := range share {
		users[k[0]] = true
	}
	g := float64(len(users))
	for u := range users {
		v += (g - 1) / g * sq(influence(u, 1)-influence(u, 0))
	}
	for i, d := range e.days {
		for arm, a := range []Arm{d.Control, d.Treatment} {
			if w[i] == 0 {
				continue
			}
			level += w[i] / all * float64(2*arm-1) * float64(a.Hits) / float64(a.Observed)
			if a.Hits == 0 || a.Hits == a.Observed {
				g := 0.0
				for k := range met {
					if k[1] == arm && k[2] == i {
						g++
					}
				}
				q := 1 / (g + 2)
				v += sq(w[i]/all) * q * (1 - q) / max(g-1, 1)
			}
		}
	}
	return level, max(v, 0)
}

func TestLiftIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genExperiment(t)
		got := Lift(e.days, e.cells, .95)
		if !got.Level.Ok() {
			return
		}
		level, v := slowLift(e)
		if !near(got.Level.X, level) {
			t.Fatalf("%+v, want %v", got, level)
		}
		if i := got.Interval; i.Ok() && i.Low > -1 && i.High < 1 {
			if want := tQuantile(.975, i.DF) * math.Sqrt(v); math.Abs(i.Width()/2-want) > 1e-7 {
				t.Fatalf("%+v, want -+%v", i, want)
			}
		}
	})
}

func TestLiftHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genExperiment(t)
		confidence := rapid.Float64Range(.5, .999).Draw(t, "confidence")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
		order := r.Perm(len(e.days))
		other := experiment{cells: slices.Clone(e.cells)}
		for _, i := range order {
			d := e.days[i]
			d.Label = "renamed"
			other.days = append(other.days, d)
		}
		for i, c := range other.cells {
			other.cells[i].Day, other.cells[i].User = slices.Index(order, c.Day), 99-c.User
		}
		r.Shuffle(len(other.cells), func(i, j int) { other.cells[i], other.cells[j] = other.cells[j], other.cells[i] })
		for _, users := range []bool{false, true} {
			ac, bc := e.cells, other.cells
			if !users {
				ac, bc = nil, nil
			}
			a, b := Lift(e.days, ac, confidence), Lift(other.days, bc, confidence)
			if a.Difference != b.Difference || a.Days != b.Days || len(a.Dropped) != len(b.Dropped) {
				t.Fatalf("order or names matter: %+v and %+v", a, b)
			}
			if wrong := sound(a.Difference, confidence); wrong != "" || a.Days+len(a.Dropped) != len(e.days) {
				t.Fatalf("%s: %+v", wrong, a)
			}
		}
	})
}

func TestLiftUndefined(t *testing.T) {
	day := Both{Treatment: Arm{50, 20, 5}, Control: Arm{50, 20, 9}}
	for name, c := range map[string]struct {
		days           []Both
		users          []ArmCell
		level, because Absence
	}{
		"no days":                       {nil, nil, NoCommonDay, NoCommonDay},
		"no day with both arms":         {[]Both{{Treatment: Arm{50, 20, 5}}, {Control: Arm{50, 20, 5}}}, nil, NoCommonDay, NoCommonDay},
		"one unit an arm":               {[]Both{{Treatment: Arm{50, 1, 1}, Control: Arm{50, 1, 0}}}, nil, Defined, NoFreedom},
		"one user an arm":               {[]Both{day}, []ArmCell{{1, 0, true, 20, 5}, {2, 0, false, 20, 9}}, Defined, TooFewUsers},
		"users of the other arm":        {[]Both{day}, []ArmCell{{1, 0, true, 20, 5}}, Defined, TooFewUsers},
		"users that are not known":      {[]Both{day}, []ArmCell{}, Defined, TooFewUsers},
		"all hits here, all miss there": {[]Both{{Treatment: Arm{9, 9, 9}, Control: Arm{9, 9, 0}}}, nil, Defined, Defined},
	} {
		d := Lift(c.days, c.users, .95)
		if d.Level.Absent != c.level || d.Interval.Absent != c.because || d.P.Absent != c.because || sound(d.Difference, .95) != "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	sure := Lift([]Both{{Treatment: Arm{9, 9, 9}, Control: Arm{9, 9, 0}}}, nil, .95)
	if !(sure.Interval.Low < 1 && sure.Interval.Low > .5) {
		t.Errorf("nine units do not prove a difference of 1: %+v", sure)
	}
}
