package stats

// Why the estimators of surveys, agreement, correction and planning are undefined. Codes are stable.
const (
	NotFinite        Absence = "not_a_number"           // a number that was given is NaN or infinite
	OutOfRange       Absence = "out_of_range"           // a number that was given is not one that the formula can hold
	LoneCluster      Absence = "lone_cluster"           // a stratum has one cluster, so nothing says how much they vary
	TooFewClusters   Absence = "too_few_clusters"       // too few independent groups for the method
	NoVariation      Absence = "no_variation"           // all that was observed is the same
	NoDisagreement   Absence = "no_disagreement"        // no two answers differ: an agreement of 1 whose error is unknown
	NothingPaired    Absence = "nothing_paired"         // no unit has two answers
	NoDiscordant     Absence = "no_discordant_pairs"    // no pair changed
	NoLabels         Absence = "no_labels"              // nothing was labelled
	NoPositives      Absence = "no_positive_labels"     // nothing is positive in truth
	NoNegatives      Absence = "no_negative_labels"     // nothing is negative in truth
	NonePositive     Absence = "nothing_tests_positive" // the test found no positive that was labelled
	NoneNegative     Absence = "nothing_tests_negative" // the test found no negative that was labelled
	NoProbability    Absence = "no_probability"         // a label does not say how likely it was to be drawn
	NotBetter        Absence = "no_better_than_chance"  // sensitivity + specificity <= 1: no inverse
	TooFewTrials     Absence = "too_few_trials"         // no group was tried often enough
	ExpectedTooSmall Absence = "expected_too_small"     // chi-square is not to be trusted and no exact test is at hand
	NoTests          Absence = "no_tests"               // there is nothing to adjust for
	Unreachable      Absence = "unreachable"            // no size or effect gives what was asked for
)

// How the intervals of those estimators are made. Codes are stable.
const (
	MethodKappa           Method = "fleiss_cohen_everitt" // kappa -+ z times its standard error where agreement is not chance
	MethodBootstrapT      Method = "cluster_bootstrap_t"  // studentised
	MethodSquareAdd       Method = "square_and_add"       // of a sum, from the intervals of its terms
	MethodFisherZ         Method = "fisher_z"
	MethodKnownTest       Method = "rogan_gladen_known" // sensitivity and specificity taken as known
	MethodLabelCorrected  Method = "label_corrected"
	MethodPredictionPower Method = "prediction_powered"
	MethodTasks           Method = "task_clusters" // Clopper-Pearson at the effective size of a variance between tasks
)
