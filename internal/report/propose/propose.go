// Package propose says how many sessions of each stratum to grade, for a margin or for a budget.
//
// It owns the splits that are offered and what each is expected to give. It refuses to know how a sample is drawn and
// what a prompt costs. Its invariant: every proposal states the interval that it is expected to give and what that
// rests on, and none is offered whose n a stratum does not have.
//
// A margin is half the width of the interval that a report would print (stats.RateInterval), on average over samples
// that are made up at the expected rates: whole hits, spread over what chance may give (package file expect.go).
package propose

import (
	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// Target is what a margin is of.
type Target = stats.Target

const (
	Window  = stats.Window
	Process = stats.Process
)

// Split is how a sample is spread over strata.
type Split string

const (
	EqualCap     Split = "equal"        // the same n for each stratum, or all of it
	Proportional Split = "proportional" // to N_h, and at least one of each
	Neyman       Split = "neyman"       // to N_h times the expected standard deviation, and at least five of each
)

// Splits are all, in the order in which they are offered.
func Splits() []Split { return []Split{EqualCap, Proportional, Neyman} }

// ParseSplit reads a split; "" is none.
func ParseSplit(text string) (Split, error) {
	switch s := Split(text); s {
	case "", EqualCap, Proportional, Neyman:
		return s, nil
	}
	return "", assay.Errorf(assay.CodeInvalid, "there is no split %q", text).WithHint("use equal, proportional or neyman")
}

// Stratum is what is known of one before it is sampled.
type Stratum struct {
	assay.Stratum
	Eligible int64 `json:"eligible"`
	Seen     int64 `json:"seen" doc:"sessions that the judges graded before, whose rate is expected here"`
	Hits     int64 `json:"hits" doc:"of those passed"`
}

// User is how many eligible sessions one user has in one stratum.
type User struct {
	Stratum int // index into Request.Strata
	User    int // any number that is the same for the sessions of one user
	N       int64
}

// Request asks for a margin or for a budget.
type Request struct {
	Evidence
	Users      []User       // of the process; nil: every session is of a user of its own
	Margin     float64      // half the width of the interval, at Confidence; 0: not asked
	Budget     *assay.USD   // else
	Price      Price        // of grading one session by all judges
	Target     stats.Target // "" is the window
	Confidence float64      // 0 is 0.95
	Expect     *float64     // the rate that is expected everywhere; nil: by Evidence
	Seed       uint64
}

// Price is what grading one session by all judges costs; nil is not known.
type Price struct {
	Expected *assay.USD // answers as long as they were so far
	Least    *assay.USD
	Most     *assay.USD
}

// Proposals are what could be graded.
type Proposals struct {
	Target     stats.Target `json:"target"`
	Confidence float64      `json:"confidence"`
	Margin     float64      `json:"margin,omitempty"`
	Budget     *assay.USD   `json:"budget_usd,omitempty"`
	Expected   float64      `json:"expected_rate"`
	Basis      string       `json:"basis" doc:"in words: what the expected rate rests on"`
	Strata     []Stratum    `json:"strata"`
	Proposals  []Proposal   `json:"proposals"` // equal, proportional, neyman
	Best       Split        `json:"best,omitempty" doc:"the one with the fewest sessions for the margin, or the narrowest interval for the budget; absent where there is none"`
	Chosen     Split        `json:"chosen,omitempty" doc:"the one whose sizes the plan shows: that which was asked for, else the best"`
	Notes      []string     `json:"notes"`
}

// Proposal is one split.
type Proposal struct {
	Split    Split               `json:"split"`
	Sessions int64               `json:"sessions"`
	Cap      int64               `json:"per_stratum,omitempty" doc:"of equal: the n that --n takes"`
	Sizes    []assay.StratumSize `json:"sizes"`
	Cost     *assay.USD          `json:"expected_usd" nullable:"true" doc:"null is not known; sessions that were graded before cost nothing, and are in it all the same"`
	Least    *assay.USD          `json:"least_usd" nullable:"true"`
	Most     *assay.USD          `json:"most_usd" nullable:"true"`
	Interval *number.Interval    `json:"expected_interval"`
	Margin   *float64            `json:"expected_margin" doc:"half of its width"`
	Absent   stats.Absence       `json:"absent,omitempty" doc:"why there is no such proposal, or no interval"`
	Words    string              `json:"words"`
}

// Offered says whether there are sizes to grade by.
func (p Proposal) Offered() bool { return len(p.Sizes) > 0 }

// Make proposes.
func Make(q Request) (Proposals, error) {
	if err := q.check(); err != nil {
		return Proposals{}, err
	}
	m := newMaker(q)
	out := Proposals{Target: m.Target, Confidence: m.Confidence, Margin: q.Margin, Budget: q.Budget,
		Expected: m.overall(), Basis: m.basis(), Strata: m.Strata, Notes: []string{}}
	for _, split := range Splits() {
		out.Proposals = append(out.Proposals, m.propose(split))
	}
	out.Best = best(out.Proposals, q.Budget != nil)
	out.Notes = append(out.Notes, m.notes(out)...)
	return out, nil
}

// Pick is the proposal of a split, "" the best one. One that is not offered is refused.
func (p Proposals) Pick(split Split) (Proposal, error) {
	if split == "" {
		split = p.Best
	}
	for _, one := range p.Proposals {
		if one.Split == split || split == "" {
			if !one.Offered() {
				return one, assay.Errorf(assay.CodeInvalid, "there is no sample to grade: %s", one.Words).
					WithHint("ask for a larger margin or budget, or take more sessions into the frame")
			}
			return one, nil
		}
	}
	return Proposal{}, assay.Errorf(assay.CodeInvalid, "there is no split %q", string(split)).WithHint("use equal, proportional or neyman")
}

// best has the fewest sessions for a margin, or the narrowest interval for a budget; the first of equals.
func best(all []Proposal, budget bool) Split {
	var found *Proposal
	for i := range all {
		p := &all[i]
		if !p.Offered() || found != nil && !better(*p, *found, budget) {
			continue
		}
		found = p
	}
	if found == nil {
		return ""
	}
	return found.Split
}

func better(a, b Proposal, budget bool) bool {
	if !budget {
		return a.Sessions < b.Sessions
	}
	return a.Margin != nil && (b.Margin == nil || *a.Margin < *b.Margin)
}

func (q *Request) check() error {
	if q.Target == "" {
		q.Target = stats.Window
	}
	if q.Confidence == 0 {
		q.Confidence = 0.95
	}
	switch {
	case (q.Margin != 0) == (q.Budget != nil):
		return assay.Errorf(assay.CodeInvalid, "sizes are proposed for a margin or for a budget").WithHint("give one of margin and for_budget_usd")
	case q.Budget == nil && !(q.Margin > 0 && q.Margin < 0.5):
		return assay.Errorf(assay.CodeInvalid, "margin %v is out of range", q.Margin).WithHint("it is half the width of the interval of a rate, above 0 and below 0.5: 0.02 is two points to either side")
	case q.Budget != nil && *q.Budget < 0:
		return assay.Errorf(assay.CodeInvalid, "budget USD %s is less than 0", q.Budget)
	case q.Expect != nil && !(*q.Expect >= 0 && *q.Expect <= 1):
		return assay.Errorf(assay.CodeInvalid, "expected rate %v is out of range", *q.Expect).WithHint("it is the share that passes, 0 to 1")
	case q.Target != stats.Window && q.Target != stats.Process:
		return assay.Errorf(assay.CodeInvalid, "there is no target %q", string(q.Target)).WithHint("use window or process")
	case !(q.Confidence > 0 && q.Confidence < 1):
		return assay.Errorf(assay.CodeInvalid, "confidence %v is out of range", q.Confidence).WithHint("use for instance 0.95")
	case q.Budget != nil && q.Price.reckoned() == nil:
		return assay.Errorf(assay.CodeInvalid, "nobody knows what grading a session costs, so a budget gives no size").
			WithHint("give the price with `assay models set`, or ask for a margin")
	}
	for _, h := range q.Strata {
		if h.Eligible < 1 || h.Hits < 0 || h.Hits > h.Seen {
			return assay.Errorf(assay.CodeInternal, "stratum %q %q has %d eligible sessions, %d of %d passed", h.Day, h.Arm, h.Eligible, h.Hits, h.Seen)
		}
	}
	for _, u := range q.Users {
		if u.Stratum < 0 || u.Stratum >= len(q.Strata) || u.N < 0 {
			return assay.Errorf(assay.CodeInternal, "user %d has %d sessions in stratum %d of %d", u.User, u.N, u.Stratum, len(q.Strata))
		}
	}
	if len(q.Strata) == 0 {
		return assay.Errorf(assay.CodeInvalid, "no session is eligible in this frame, so nothing is proposed").WithHint("`assay plan` without a margin says what is left out")
	}
	return nil
}

// reckoned is what a budget is divided by: what is expected, else the most.
func (p Price) reckoned() *assay.USD {
	if p.Expected != nil {
		return p.Expected
	}
	return p.Most
}
