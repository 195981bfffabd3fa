package propose

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"

	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// propose makes the proposal of one split.
func (m *maker) propose(split Split) Proposal {
	p := Proposal{Split: split, Sizes: []assay.StratumSize{}}
	var size int64
	var o outcome
	if m.Budget == nil {
		if size, o = m.forMargin(split); size == 0 {
			p.Absent, p.Words = stats.Unreachable, m.unreachable(o)
			return p
		}
	} else {
		if size = m.forBudget(split, m.affordable()); size == 0 {
			p.Absent, p.Words = stats.Unreachable, "the budget is less than "+m.leastText(split)
			return p
		}
		o = m.expect(split, size)
	}
	n := m.sizes(split, size)
	for i, h := range m.Strata {
		p.Sizes = append(p.Sizes, assay.StratumSize{Stratum: h.Stratum, N: n[i]})
	}
	if p.Sessions = sum(n); split == EqualCap {
		p.Cap = size
	}
	p.Cost, p.Least, p.Most = times(m.Price.Expected, p.Sessions), times(m.Price.Least, p.Sessions), times(m.Price.Most, p.Sessions)
	if p.Absent = o.absent; o.absent == stats.Defined {
		p.Interval, _ = number.IntervalOf(o.interval)
		margin := o.margin()
		p.Margin = &margin
	}
	p.Words = words(p)
	return p
}

// affordable is how many sessions the budget pays for.
func (m *maker) affordable() int64 {
	each := *m.Price.reckoned()
	if each <= 0 {
		return m.total
	}
	return min(int64(*m.Budget/each), m.total)
}

func (m *maker) leastText(split Split) string {
	if split == Neyman {
		return fmt.Sprintf("%d sessions of each day and arm cost", stats.LeastPortion)
	}
	return "one session of each day and arm costs"
}

func times(each *assay.USD, n int64) *assay.USD {
	if each == nil || *each > 0 && n > math.MaxInt64/int64(*each) {
		return nil
	}
	all := *each * assay.USD(n)
	return &all
}

// unreachable says what limits the margin, which whole is that of everything graded.
func (m *maker) unreachable(whole outcome) string {
	text := fmt.Sprintf("all %s give ", sessions(m.total))
	if whole.absent != stats.Defined {
		text += "no interval: " + number.Why(whole.absent)
	} else {
		text += "± " + points(whole.margin())
	}
	switch effective, all := m.effectiveUsers(), m.people(); {
	case m.Target != stats.Process:
	case all == m.total:
		text += "; more traffic narrows it, not more grading"
	case effective < 0.95*float64(all):
		text += fmt.Sprintf("; they are of %s, who count as %s since some have more sessions: more users narrow it, not more grading",
			people(all), humanize.Comma(int64(math.Round(effective))))
	default:
		text += fmt.Sprintf("; they are of %s: more users narrow it, not more grading", people(all))
	}
	return text
}

// words say a proposal in a line.
func words(p Proposal) string {
	text := sessions(p.Sessions)
	if p.Cap > 0 {
		text += ", at most " + humanize.Comma(p.Cap) + " of each day and arm"
	}
	if p.Interval == nil {
		text += "; no interval: " + number.Why(p.Absent)
	} else {
		text += fmt.Sprintf("; %s to %s, ± %s", percent(p.Interval.Low), percent(p.Interval.High), points(*p.Margin))
	}
	return text + "; " + p.CostWords()
}

// CostWords say what a proposal costs, as far as it is known.
func (p Proposal) CostWords() string {
	switch {
	case p.Cost != nil && *p.Cost == 0:
		return "USD 0"
	case p.Cost != nil:
		return "about USD " + p.Cost.Short()
	case p.Least != nil && p.Most != nil:
		return "USD " + p.Least.Short() + " to " + p.Most.Short()
	case p.Least != nil:
		return "at least USD " + p.Least.Short()
	case p.Most != nil:
		return "at most USD " + p.Most.Short()
	}
	return "cost unknown"
}

func (m *maker) notes(p Proposals) (out []string) {
	if m.Target == stats.Process && (len(m.Users) == 0 || m.people() < m.total) {
		out = append(out, m.likeness())
	}
	if m.Budget != nil && m.Price.Expected == nil {
		out = append(out, "The budget is divided by the most that a session can cost: these judges have not answered yet.")
	}
	if p.Best != "" && m.Margin > 0 && m.Target == stats.Window {
		out = append(out, "The margin is of these sessions. What the agent does on traffic like this is less sure: --target process.")
	}
	return out
}

func (m *maker) likeness() string {
	switch {
	case len(m.Users) == 0:
		return "Users are not counted: where sessions of one user are alike the interval is wider."
	case !m.Alikes:
		return "Nothing tells yet how alike sessions of one user are: where they are, the interval is wider."
	}
	return fmt.Sprintf("Sessions of one user are expected to be as alike as they were: a correlation of %s.", strconv.FormatFloat(m.Alike, 'f', 2, 64))
}

// effectiveUsers is the effective number of users of the frame, 1/sum(share of the sessions)^2.
func (m *maker) effectiveUsers() float64 {
	by, users := m.sessions()
	count := make([]float64, users)
	for _, list := range by {
		for _, u := range list {
			count[u]++
		}
	}
	squares := 0.0
	for _, n := range count {
		squares += n / float64(m.total) * (n / float64(m.total))
	}
	return 1 / squares
}

func (m *maker) people() int64 {
	_, users := m.sessions()
	return int64(users)
}

func people(n int64) string {
	if n == 1 {
		return "1 user"
	}
	return humanize.Comma(n) + " users"
}

func sessions(n int64) string {
	if n == 1 {
		return "1 session"
	}
	return humanize.Comma(n) + " sessions"
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// points are those of percent: two digits of a small margin.
func points(x float64) string {
	if x < 0.01 {
		return strconv.FormatFloat(100*x, 'f', 2, 64) + " points"
	}
	return strconv.FormatFloat(100*x, 'f', 1, 64) + " points"
}
