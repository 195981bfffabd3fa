package number

import "assay/internal/stats"

// why says each absence in a few words that stand behind "absent: " and in a table's cell.
var why = map[stats.Absence]string{
	stats.NoPopulation:      "no sessions",
	stats.NothingObserved:   "nothing graded",
	stats.StratumUnobserved: "empty stratum",
	stats.NothingInDomain:   "applies to none",
	stats.Unbounded:         "no limits",
	stats.NothingRepeated:   "no session has two answers",
	stats.NoInterval:        "no method",
	stats.NoFreedom:         "one session a stratum",
	stats.NoCommonDay:       "no day with both arms",
	stats.NoUsers:           "users not known",
	stats.TooFewUsers:       "fewer than 8 users",
	stats.NotFinite:         "not a number",
	stats.OutOfRange:        "out of range",
	stats.LoneCluster:       "one cluster",
	stats.TooFewClusters:    "too few groups",
	stats.NoVariation:       "all alike",
	stats.NoDisagreement:    "no disagreement",
	stats.NothingPaired:     "no pairs",
	stats.NoDiscordant:      "no pair changed",
	stats.NoLabels:          "no labels",
	stats.NoPositives:       "no positive label",
	stats.NoNegatives:       "no negative label",
	stats.NonePositive:      "no label where the judge passed",
	stats.NoneNegative:      "no label where the judge failed",
	stats.NoProbability:     "label without probability",
	stats.NotBetter:         "judge no better than chance",
	stats.TooFewTrials:      "too few trials",
	stats.ExpectedTooSmall:  "too few to test",
	stats.NoTests:           "nothing to adjust",
	stats.Unreachable:       "no size is enough",
}

// Why says an absence in a few words; an unknown code as it is, "" for a number that is there.
func Why(a stats.Absence) string {
	if words, ok := why[a]; ok {
		return words
	}
	return string(a)
}
