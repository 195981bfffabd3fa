package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"assay/internal/assay"
)

// Spending sums attempts. Every sum is over rows: nothing keeps a running total.
type Spending interface {
	// Charged is what a budget must count of the project's attempts that were opened in [from, to): the
	// sum of assay.Attempt.Charge, and how many attempts have none. Deleted runs do not exist.
	Charged(ctx context.Context, project assay.ProjectID, from, to time.Time) (charged assay.USD, unpriced int64, err error)
	// Lines groups by day (of OpenedAt in q.Zone), run, judge and served model, in that order, newest day
	// first. Attempts of q.Project only.
	Lines(ctx context.Context, q SpendQuery) ([]assay.SpendLine, error)
	// Typical averages the newest attempts of a judge version that brought an answer, TypicalAttempts at most.
	Typical(ctx context.Context, project assay.ProjectID, version assay.Hash) (Typical, error)
}

// Typical is what a call of a judge version has been like. With N 0 nothing is known.
type Typical struct {
	N       int64
	Seconds float64 // from call to answer
	Output  float64 // tokens of the answer
}

// SpendQuery selects attempts. Zero fields select all but Project and Zone, which must be given.
type SpendQuery struct {
	Project  assay.ProjectID
	Run      assay.RunID
	From, To *time.Time // on OpenedAt, [From, To)
	Zone     *time.Location
}

// SpendSum makes lines of attempts, or of groups of them that were opened in one quarter of an hour:
// days of every zone begin on one.
type SpendSum struct {
	zone  *time.Location
	lines map[spendKey]*assay.SpendLine

	last    spendKey // most attempts are of the same line as the one before
	line    *assay.SpendLine
	quarter int64 // since 1970, and its day
	day     string
}

type spendKey struct {
	day   string
	run   assay.RunID
	judge int
	model string
}

// NewSpendSum sums by the days of a zone.
func NewSpendSum(zone *time.Location) *SpendSum {
	return &SpendSum{zone: zone, lines: map[spendKey]*assay.SpendLine{}, quarter: -1}
}

// QuarterHour is in the unit of stored times.
const QuarterHour = int64(15 * time.Minute / time.Microsecond)

// Add adds what was spent by attempts of a run's judge, given by its index, that were opened at a time
// in microseconds.
func (s *SpendSum) Add(opened int64, run assay.RunID, judge int, model string, spend assay.Spend) {
	if q := opened / QuarterHour; q != s.quarter {
		s.quarter, s.day = q, time.UnixMicro(opened).In(s.zone).Format(time.DateOnly)
	}
	key := spendKey{s.day, run, judge, model}
	if s.line == nil || key != s.last {
		if s.line = s.lines[key]; s.line == nil {
			s.line = &assay.SpendLine{Day: key.day, Run: run, Model: model}
			s.lines[key] = s.line
		}
		s.last = key
	}
	s.line.Spend = s.line.Spend.Add(spend)
}

// Lines are in their order; name tells a run's judge.
func (s *SpendSum) Lines(name func(run assay.RunID, judge int) assay.RunJudge) []assay.SpendLine {
	keys := slices.SortedFunc(maps.Keys(s.lines), func(a, b spendKey) int {
		return cmp.Or(cmp.Compare(b.day, a.day), cmp.Compare(a.run, b.run), cmp.Compare(a.judge, b.judge), cmp.Compare(a.model, b.model))
	})
	var list []assay.SpendLine
	for _, key := range keys {
		line, judge := *s.lines[key], name(key.run, key.judge)
		line.Judge, line.Version = judge.Name, judge.Version
		list = append(list, line)
	}
	return list
}

// TypicalAttempts is how many attempts Typical looks at.
const TypicalAttempts = 500
