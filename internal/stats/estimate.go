package stats

// Absence is why an estimate is undefined. Codes are stable.
type Absence string

const (
	Defined           Absence = ""
	NoPopulation      Absence = "empty_population"       // there is nothing to speak about
	NothingObserved   Absence = "nothing_graded"         // no unit of the sample was observed
	StratumUnobserved Absence = "stratum_without_graded" // a stratum was not observed and has no neighbour to merge with
	NothingInDomain   Absence = "nothing_applies"        // the question applies to no observed unit
	Unbounded         Absence = "unbounded"              // worst cases of a number need its smallest and largest value
	NothingRepeated   Absence = "nothing_repeated"       // no unit was measured twice
	NoInterval        Absence = "no_interval"            // nothing here estimates one rightly (FlipRate says why)
	NoFreedom         Absence = "no_degrees_of_freedom"  // one observation a stratum: nothing says how much they vary
	NoCommonDay       Absence = "no_common_day"          // no day has graded units in both arms
	NoUsers           Absence = "no_users"               // users are not known
	TooFewUsers       Absence = "too_few_users"          // the effective number of users is below MinUsers
)

// Value is a number, or the reason that there is none.
type Value struct {
	X      float64
	Absent Absence // Defined when X holds
}

// Known is a defined value.
func Known(x float64) Value { return Value{X: x} }

// None is an undefined one.
func None(why Absence) Value { return Value{Absent: why} }

// Ok says whether X holds.
func (v Value) Ok() bool { return v.Absent == Defined }

// Pointer is nil where the value is undefined.
func (v Value) Pointer() *float64 {
	if !v.Ok() {
		return nil
	}
	return &v.X
}

// Stratum is one cell of a stratified sample. 0 <= Domain <= Observed <= Drawn.
type Stratum struct {
	Label string // for naming merges
	Line  string // strata of one line are neighbours, in the order given; "" has no neighbours
	Size  int64  // N_h, units in the population
	Drawn int64  // n_h, measurements asked for
	// Observed counts the measurements that gave an answer, Domain those of them to which the question
	// applies, and Sum adds up what was measured in the domain: the hits of a rate.
	Observed int64
	Domain   int64
	Sum      float64
	Squares  float64 // sum of squares of what Sum adds up; intervals of means need it, those of rates do not
}

// Target is what an estimate is about.
type Target string

const (
	// Window is the level in this frozen population, had every unit been observed: chance is only in the draw.
	Window Target = "window"
	// Process is what produced the population: chance is in the population too. Differences are always
	// about the process, or two whole populations that come from one process would always differ.
	Process Target = "process"
)

// Estimate is a weighted level: of a rate, Sum being hits, or of a mean.
type Estimate struct {
	Level Value
	// Low and High are the levels had everything missing come out worst or best. They bound the
	// sample's own level against what is missing, not against chance.
	Low, High Value
	Coverage  Value // sum of W_h observed_h/n_h
	Size      int64
	Drawn     int64
	Observed  int64
	Domain    int64
	Merged    []Merge
}

// Merge names a stratum without observations and the neighbour that it was counted with.
type Merge struct {
	Empty string `json:"empty"`
	Into  string `json:"into"`
}
