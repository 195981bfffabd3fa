package harness

import "testing"

// onPostgres is the test whose worlds have a database.
const onPostgres = "TestOnPostgreSQL"

// What must hold with every store, once more.
func TestOnPostgreSQL(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a suite runs to its end":                  TestASuiteRunsToItsEnd,
		"how a harness ends":                       TestHowAHarnessEnds,
		"a killed owner loses nothing":             TestAKilledOwnerLosesNothing,
		"owners that are killed one after another": TestOwnersThatAreKilledOneAfterTheOther,
		"a killed shim":                            TestAKilledShimIsLostWithItsLog,
		"a lost run is started again":              TestALostRunIsStartedAgainWhileItMay,
		"a cancel after the owner was killed":      TestACancelAfterTheOwnerWasKilled,
		"a cancel ends the whole tree":             TestACancelEndsTheWholeTree,
		"a driver that lost its run":               TestADriverThatLostItsRun,
		"a run whose folder is gone":               TestARunWhoseFolderIsGone,
		"a launch in another folder":               TestALaunchInAnotherFolderIsNotRepeated,
		"results become cases":                     TestResultsBecomeCases,
	} {
		t.Run(name, test)
	}
}
