package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json` (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output
	Test       string
	Output     string
}

type key struct{ pkg, test string }

// summary prints events as go test without -v would, and remembers what was skipped.
type summary struct {
	out      io.Writer
	output   map[key][]string // of tests that have not ended, and of packages
	order    []key            // in which they began
	passed   int
	failed   []key
	skipped  map[string][]key // by reason
	packages int
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, output: map[key][]string{}, skipped: map[string][]key{}}
}

func (s *summary) add(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "output":
		if _, known := s.output[k]; !known {
			s.order = append(s.order, k)
		}
		s.output[k] = append(s.output[k], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(k, e.Action)
		} else {
			s.endTest(k, e.Action)
		}
	}
}

func (s *summary) endTest(k key, action string) {
	lines := s.take(k)
	switch action {
	case "pass":
		s.passed++
	case "skip":
		why := reason(lines)
		s.skipped[why] = append(s.skipped[why], k)
	case "fail":
		s.failed = append(s.failed, k)
		s.print(lines)
	}
}

// endPackage prints the package's closing lines; of a failed one everything that its unfinished
// tests said too, since a panic or a time limit ends them without an event of their own.
func (s *summary) endPackage(k key, action string) {
	s.packages++
	lines := s.take(k)
	if action == "fail" {
		for _, open := range slices.Clone(s.order) {
			if open.pkg == k.pkg {
				s.print(s.take(open))
			}
		}
		s.print(lines)
		if !slices.ContainsFunc(s.failed, func(f key) bool { return f.pkg == k.pkg }) {
			s.failed = append(s.failed, k)
		}
		return
	}
	for _, l := range lines {
		if strings.HasPrefix(l, "ok  ") || strings.HasPrefix(l, "?   ") {
			fmt.Fprint(s.out, l)
		}
	}
}

func (s *summary) take(k key) []string {
	lines := s.output[k]
	delete(s.output, k)
	s.order = slices.DeleteFunc(s.order, func(o key) bool { return o == k })
	return lines
}

func (s *summary) print(lines []string) {
	for _, l := range lines {
		if !strings.HasPrefix(l, "=== ") {
			fmt.Fprint(s.out, l)
		}
	}
}

var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// reason is what a test gave to t.Skip.
func reason(lines []string) string {
	var said []string
	for _, l := range lines {
		text := strings.TrimSpace(l)
		if text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") {
			continue
		}
		said = append(said, strings.TrimSpace(place.ReplaceAllString(l, "")))
	}
	if said == nil {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

// required says whether a machine that must have everything must have what this reason says is missing.
func required(reason string) bool {
	r := strings.ToLower(reason)
	return strings.Contains(r, "postgres") || strings.Contains(r, "shared/data") || strings.Contains(r, "no reason given")
}

// close prints the end of the report and returns how many skips are failures here.
func (s *summary) close(strict bool, targets int, fuzz time.Duration, took time.Duration) (missing int) {
	fmt.Fprintln(s.out)
	skips := 0
	for _, why := range sortedReasons(s.skipped) {
		tests := s.skipped[why]
		skips += len(tests)
		mark := "skipped"
		if strict && required(why) {
			mark = "MISSING"
			missing += len(tests)
		}
		fmt.Fprintf(s.out, "%s: %s\n", mark, why)
		for _, k := range tests {
			fmt.Fprintf(s.out, "    %s %s\n", k.pkg, k.test)
		}
	}
	for _, k := range s.failed {
		fmt.Fprintf(s.out, "failed: %s %s\n", k.pkg, k.test)
	}
	fmt.Fprintf(s.out, "%d packages, %d tests passed, %d failed, %d skipped; %d fuzz targets for %s each; %s\n",
		s.packages, s.passed, len(s.failed), skips, targets, fuzz, took.Round(time.Second))
	if missing > 0 {
		fmt.Fprintf(s.out, "%d skipped tests count as failed, because CI or ASSAY_REQUIRE_POSTGRES is set\n", missing)
	}
	return missing
}

func sortedReasons(by map[string][]key) []string {
	var out []string
	for why := range by {
		out = append(out, why)
	}
	slices.Sort(out)
	return out
}
