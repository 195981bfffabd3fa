// Package number is the one shape of every estimate that Assay shows, and the words for one that there is not.
//
// It owns how an estimate and its reason are written as JSON and said in words. It refuses to know how one is made
// (stats) and where it is shown (print). Its invariant: a number that is not known is null with a reason.
package number

import "assay/internal/stats"

// Number is a weighted level with what must stand beside it.
type Number struct {
	Target         stats.Target  `json:"target" doc:"window: the level of exactly these sessions. process: what the agent does on traffic like this"`
	Value          *float64      `json:"value"`
	Absent         stats.Absence `json:"absent,omitempty" doc:"why there is no value"`
	Interval       *Interval     `json:"interval"`
	IntervalAbsent stats.Absence `json:"interval_absent,omitempty" doc:"why there is no interval"`
	N              int64         `json:"N" doc:"eligible sessions; of a part that is not drawn by itself, such as an agent version, those of the whole frame"`
	Sampled        int64         `json:"n" doc:"sampled sessions"`
	Answered       int64         `json:"answered" doc:"sessions with an answer to this question"`
	Applies        int64         `json:"applies" doc:"answered sessions that the question applies to"`
	Users          int64         `json:"users,omitempty" doc:"users of the answered sessions; one that is not known counts as one of its own; absent where they are not counted"`
	Coverage       *float64      `json:"coverage" doc:"weighted share of the sample with an answer"`
	Low            *float64      `json:"low" doc:"the value were everything missing lowest; no chance is in it"`
	High           *float64      `json:"high" doc:"the value were everything missing highest"`
	Merged         []stats.Merge `json:"merged,omitempty" doc:"strata without an answer and the neighbours that they were counted with"`
	Cut            *float64      `json:"cut_share,omitempty" doc:"share of the verdicts whose judge saw a transcript with a part left out; absent is none"`
}

// Interval is where a number may lie.
type Interval struct {
	Low        float64      `json:"low"`
	High       float64      `json:"high"`
	Confidence float64      `json:"confidence"`
	Method     stats.Method `json:"method"`
	Size       float64      `json:"effective_n,omitempty" doc:"the sample size that the method reckoned with"`
	DF         float64      `json:"df,omitempty" doc:"degrees of freedom of the variance, where the method has some"`
}

// Difference is a contrast of two levels. It is always about the process.
type Difference struct {
	Value          *float64      `json:"value"`
	Absent         stats.Absence `json:"absent,omitempty"`
	Interval       *Interval     `json:"interval"`
	IntervalAbsent stats.Absence `json:"interval_absent,omitempty"`
	P              *float64      `json:"p,omitempty" doc:"chance of a difference at least as large where there is none"`
	Q              *float64      `json:"q,omitempty" doc:"of exploratory ones: false discovery rate at which it would be found (Benjamini-Hochberg over what is shown)"`
	Primary        bool          `json:"primary,omitempty" doc:"the one declared comparison; all others are exploratory"`
	Marked         bool          `json:"marked,omitempty" doc:"an exploratory one with q below 0.1; its interval is adjusted for the choice"`
	Users          *float64      `json:"effective_users,omitempty"`
	Low            *float64      `json:"low" doc:"the difference were everything missing worst for it"`
	High           *float64      `json:"high"`
}

// Part is a number of a part of the frame: an arm, a day, an agent version.
type Part struct {
	Name   string `json:"name"`
	Number Number `json:"number"`
}

// Of is a level and its interval as a Number; counts, bounds and users are the caller's to add.
func Of(target stats.Target, level stats.Value, interval stats.Interval) Number {
	n := Number{Target: target, Value: level.Pointer(), Absent: level.Absent}
	n.Interval, n.IntervalAbsent = IntervalOf(interval)
	if n.Absent != stats.Defined {
		n.Interval, n.IntervalAbsent = nil, n.Absent
	}
	return n
}

// IntervalOf is nil with the reason where i is absent.
func IntervalOf(i stats.Interval) (*Interval, stats.Absence) {
	if !i.Ok() {
		return nil, i.Absent
	}
	return &Interval{Low: i.Low, High: i.High, Confidence: i.Confidence, Method: i.Method, Size: i.N, DF: i.DF}, ""
}

// DifferenceOf is a stats.Difference in its JSON shape.
func DifferenceOf(d stats.Difference) Difference {
	out := Difference{Value: d.Level.Pointer(), Absent: d.Level.Absent, P: d.P.Pointer(), Users: d.Users.Pointer()}
	out.Interval, out.IntervalAbsent = IntervalOf(d.Interval)
	return out
}
