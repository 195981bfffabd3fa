package main

import "testing"

func TestOnlyTheToolchainsDeadlineSaysNothing(t *testing.T) {
	const counts = "fuzz: elapsed: 2s, execs: 20821 (8571/sec), new interesting: 1 (total: 299)\n"
	const end = "FAIL\nexit status 1\nFAIL\tassay/x\t2.447s\n"
	for name, c := range map[string]struct {
		said string
		want bool
	}{
		"the deadline alone": {counts + "--- FAIL: FuzzX (2.44s)\n    context deadline exceeded\n" + end, true},
		"an input fails": {counts + "--- FAIL: FuzzX (0.05s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: wrong\n    \n" +
			"    Failing input written to testdata/fuzz/FuzzX/5b\n" + end, false},
		"an input fails with these words": {counts + "--- FAIL: FuzzX (0.05s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: context deadline exceeded\n    \n" +
			"    Failing input written to testdata/fuzz/FuzzX/5b\n" + end, false},
		"a worker hangs": {counts + "--- FAIL: FuzzX (12.44s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n" +
			"    Failing input written to testdata/fuzz/FuzzX/5b\n" + end, false},
		"the deadline, and an input": {counts + "--- FAIL: FuzzX (2.44s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzX/5b\n" + end, false},
		"another target":             {"--- FAIL: FuzzXY (2.44s)\n    context deadline exceeded\n" + end, false},
		"it does not build":          {"x_test.go:9: syntax error\nFAIL\tassay/x [build failed]\n", false},
	} {
		if got := saysNothing(c.said, "FuzzX"); got != c.want {
			t.Errorf("%s: taken for a run that says nothing: %t, want %t", name, got, c.want)
		}
	}
}
