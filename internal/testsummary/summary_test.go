package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func feed(s *summary, events ...event) {
	for _, e := range events {
		s.add(e)
	}
}

func TestSkipsAreNamedWithTheirReason(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	feed(s,
		event{Action: "output", Package: "p", Test: "TestA", Output: "=== RUN   TestA\n"},
		event{Action: "output", Package: "p", Test: "TestA", Output: "    a_test.go:7: PostgreSQL's binaries are not installed\n"},
		event{Action: "output", Package: "p", Test: "TestA", Output: "--- SKIP: TestA (0.00s)\n"},
		event{Action: "skip", Package: "p", Test: "TestA"},
		event{Action: "output", Package: "p", Test: "TestB", Output: "    b_test.go:8: short\n"},
		event{Action: "skip", Package: "p", Test: "TestB"},
		event{Action: "output", Package: "p", Test: "TestC", Output: "noise\n"},
		event{Action: "pass", Package: "p", Test: "TestC"},
		event{Action: "output", Package: "p", Output: "PASS\n"},
		event{Action: "output", Package: "p", Output: "ok  \tp\t0.1s\n"},
		event{Action: "pass", Package: "p"},
	)
	if missing := s.close(true, 3, time.Second, time.Minute); missing != 1 {
		t.Errorf("%d skips count as failed, want the one about PostgreSQL", missing)
	}
	want := "ok  \tp\t0.1s\n\n" +
		"MISSING: PostgreSQL's binaries are not installed\n    p TestA\n" +
		"skipped: short\n    p TestB\n" +
		"1 packages, 1 tests passed, 0 failed, 2 skipped; 3 fuzz targets for 1s each; 1m0s\n" +
		"1 skipped tests count as failed, because CI or ASSAY_REQUIRE_POSTGRES is set\n"
	if out.String() != want {
		t.Errorf("printed:\n%s\nwant:\n%s", out.String(), want)
	}
	if missing := s.close(false, 0, 0, 0); missing != 0 {
		t.Errorf("%d skips count as failed on a machine that need not have everything", missing)
	}
}

func TestFailuresAreShownWhole(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	feed(s,
		event{Action: "build-output", ImportPath: "q", Output: "q.go:1: broken\n"},
		event{Action: "output", Package: "q", Output: "FAIL\tq [build failed]\n"},
		event{Action: "fail", Package: "q"},
		event{Action: "output", Package: "p", Test: "TestHangs", Output: "it began\n"},
		event{Action: "output", Package: "p", Test: "TestFails", Output: "    a_test.go:7: wrong\n"},
		event{Action: "fail", Package: "p", Test: "TestFails"},
		event{Action: "output", Package: "p", Output: "panic: test timed out\n"},
		event{Action: "output", Package: "p", Output: "FAIL\tp\t1s\n"},
		event{Action: "fail", Package: "p"},
	)
	s.close(false, 0, 0, 0)
	for _, want := range []string{"q.go:1: broken", "[build failed]", "a_test.go:7: wrong", "it began", "test timed out", "FAIL\tp\t1s", "failed: q", "failed: p TestFails"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not shown in:\n%s", want, out.String())
		}
	}
}

func TestFuzzTargetsAreFound(t *testing.T) {
	got := fmt.Sprint(fuzzTargets("ok  \tassay/a\t0.1s\nFuzzX\nFuzzY\nok  \tassay/b\t0.1s\n?   \tassay/c\t[no test files]\nFuzzZ\nok  \tassay/d\t0.2s\n"))
	if want := "[{assay/b FuzzX} {assay/b FuzzY} {assay/d FuzzZ}]"; got != want {
		t.Errorf("targets %s, want %s", got, want)
	}
}

func TestAPackageIsTestedAlone(t *testing.T) {
	rounds, err := split(t.Context(), []string{"-count=1", "assay/internal/testsummary", "assay/internal/price"}, "assay/internal/price")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(rounds), "[[-count=1 assay/internal/testsummary] [-count=1 assay/internal/price]]"; got != want {
		t.Errorf("rounds %s, want %s", got, want)
	}
	if _, err := split(t.Context(), []string{"assay/internal/price"}, "assay/internal/nosuch"); err == nil {
		t.Error("a package that there is not is passed over")
	}
}
