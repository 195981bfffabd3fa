package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// fuzz finds every fuzz target of the packages and runs each for a short time.
func (s *summary) fuzz(ctx context.Context, pkgs []string, each time.Duration) (ok bool, targets int, err error) {
	cmd := command(ctx, append([]string{"test", "-list", "^Fuzz"}, pkgs...))
	cmd.Stderr = os.Stderr
	listed, err := cmd.Output()
	if err != nil {
		return false, 0, fmt.Errorf("list fuzz targets: %w", err)
	}
	ok = true
	for _, t := range fuzzTargets(string(listed)) {
		targets++
		passed, err := s.fuzzOne(ctx, t, each)
		if err != nil {
			return false, targets, err
		}
		ok = ok && passed
	}
	return ok, targets, nil
}

// fuzzTries bounds how often a target is run whose run said nothing, see saysNothing.
const fuzzTries = 3

// fuzzOne runs one target until a run says something about it, at most fuzzTries times. Only a whole run
// without a complaint passes.
func (s *summary) fuzzOne(ctx context.Context, t key, each time.Duration) (bool, error) {
	for try := 1; ; try++ {
		var said bytes.Buffer
		// -run selects no test: they have run already.
		cmd := command(ctx, []string{"test", "-run", "^$", "-fuzz", "^" + t.test + "$", "-fuzztime", each.String(), t.pkg})
		cmd.Stdout, cmd.Stderr = &said, &said
		passed, err := finished(cmd.Run())
		if err != nil {
			return false, fmt.Errorf("run %s of %s: %w", t.test, t.pkg, err)
		}
		if passed {
			fmt.Fprintf(s.out, "fuzz\t%s\t%s\n", t.pkg, t.test)
			return true, nil
		}
		if try < fuzzTries && saysNothing(said.String(), t.test) {
			fmt.Fprintf(s.out, "fuzz\t%s\t%s: the toolchain reported its own deadline (golang/go#75804); run again\n", t.pkg, t.test)
			continue
		}
		s.failed = append(s.failed, t)
		_, err = said.WriteTo(s.out)
		return false, err
	}
}

// saysNothing tells a run that failed only because go test took the end of -fuzztime for an error of the
// target (golang/go#75804, mended in Go 1.27): its failure is one line, and no input was written down.
// A target that fails or hangs names the input, the test's line or a panic, and so is never taken for one.
func saysNothing(said, target string) bool {
	_, failure, found := strings.Cut(said, "--- FAIL: "+target+" (")
	if !found {
		return false
	}
	lines := strings.Split(failure, "\n")
	return len(lines) >= 3 && strings.TrimSpace(lines[1]) == "context deadline exceeded" && lines[2] == "FAIL"
}

// fuzzTargets reads `go test -list`: names, then a line "ok  package" that closes them.
func fuzzTargets(listed string) (out []key) {
	var names []string
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 1 && strings.HasPrefix(fields[0], "Fuzz"):
			names = append(names, fields[0])
		case len(fields) >= 2 && fields[0] == "ok":
			for _, n := range names {
				out = append(out, key{fields[1], n})
			}
			names = nil
		}
	}
	return out
}
