// Command testsummary runs go test and every fuzz target for a short time, and says at the end what
// was skipped and why: a skip that nobody sees is a test that does not exist.
//
//	go run ./internal/testsummary [-alone PACKAGE] [-fuzz 2s] -- [go test flags and packages]
//
// Where CI or ASSAY_REQUIRE_POSTGRES is set, a test that was skipped because PostgreSQL or the
// shared data is missing counts as failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	fuzz := flag.Duration("fuzz", 0, "run every fuzz target for this long; 0: not at all")
	alone := flag.String("alone", "", "a package that is tested when the others are done: it measures time")
	flag.Parse()
	args := flag.Args()
	if len(args) == 0 {
		args = []string{"./..."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, os.Stdout, args, *alone, *fuzz)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string, alone string, fuzz time.Duration) (bool, error) {
	began := time.Now()
	s := newSummary(out)
	rounds, err := split(ctx, args, alone)
	if err != nil {
		return false, err
	}
	tested := true
	for _, round := range rounds {
		passed, err := s.test(ctx, round)
		if err != nil {
			return false, err
		}
		tested = tested && passed
	}
	fuzzed, targets := true, 0
	if fuzz > 0 && tested {
		if fuzzed, targets, err = s.fuzz(ctx, packages(args), fuzz); err != nil {
			return false, err
		}
	}
	if fuzz > 0 && !tested {
		fmt.Fprintln(out, "\nfuzz targets were not run: tests failed first")
	}
	missing := s.close(strict(os.Getenv), targets, fuzz, time.Since(began))
	return tested && fuzzed && missing == 0, nil
}

// split are the arguments of go test, once for all packages but alone, and once for alone.
func split(ctx context.Context, args []string, alone string) ([][]string, error) {
	if alone == "" {
		return [][]string{args}, nil
	}
	flags := slices.DeleteFunc(slices.Clone(args), isPackage)
	list := func(patterns ...string) ([]string, error) {
		cmd := command(ctx, append([]string{"list"}, patterns...))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list packages: %w", err)
		}
		return strings.Fields(string(out)), nil
	}
	last, err := list(alone)
	if err != nil {
		return nil, err
	}
	all, err := list(packages(args)...)
	if err != nil {
		return nil, err
	}
	first := slices.DeleteFunc(all, func(p string) bool { return slices.Contains(last, p) })
	return [][]string{slices.Concat(flags, first), slices.Concat(flags, last)}, nil
}

// strict says whether this machine must have everything.
func strict(env func(string) string) bool {
	return env("CI") != "" || env("ASSAY_REQUIRE_POSTGRES") != ""
}

// packages are the arguments that are not flags.
func packages(args []string) (out []string) {
	for _, a := range args {
		if isPackage(a) {
			out = append(out, a)
		}
	}
	return out
}

func isPackage(arg string) bool {
	return strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "assay/")
}

// test runs go test and prints what it would have printed.
func (s *summary) test(ctx context.Context, args []string) (bool, error) {
	cmd := command(ctx, append([]string{"test", "-json"}, args...))
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("start go test: %w", err)
	}
	for dec := json.NewDecoder(events); ; {
		var e event
		if err := dec.Decode(&e); err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(s.out, "testsummary: go test's output could not be read:", err)
				_, _ = io.Copy(s.out, events) // the rest is better seen raw than lost
			}
			break
		}
		s.add(e)
	}
	return finished(cmd.Wait())
}

// finished tells a failed command from one that could not be run.
func finished(err error) (bool, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}

func command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test ends its children itself
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
