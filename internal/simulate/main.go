// Command simulate draws populations whose truth is known, samples them as Assay does, and counts how often the
// intervals and tests of package stats are right. `make simulate` prints the tables of docs/SIMULATION.md.
//
// It owns the bounds that a rule must hold (table.go) and refuses to know how a number is made: beside the rule
// it only holds the usual alternatives, written out plainly. The same seed gives the same tables on any number
// of processors.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"
)

func main() {
	only := flag.String("only", "", "one table: "+fmt.Sprint(names()))
	tries := flag.Int("tries", 1000, "populations a row")
	quick := flag.Bool("quick", false, "a few rows of each table")
	all := flag.Bool("all", false, "print all rows, not only some and those that are next to a bound")
	seed := flag.Uint64("seed", 1, "of everything that is drawn")
	flag.Parse()
	if *only != "" && !slices.Contains(names(), *only) {
		fmt.Fprintf(os.Stderr, "there is no table %q: %v\n", *only, names())
		os.Exit(2)
	}
	begin, missed := time.Now(), 0
	for _, t := range tables() {
		if *only == "" || *only == t.name {
			results := t.run(*tries, *quick, *seed)
			missed += print(os.Stdout, t, results, *all)
		}
	}
	fmt.Printf("%d populations a row (a row that misses a bound is drawn anew from %d), seed %d, %s/%s, %d processors, %s. %d rows miss a bound without a reason given.\n",
		*tries, again**tries, *seed, runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), time.Since(begin).Round(time.Second), missed)
	if missed > 0 {
		os.Exit(1)
	}
}

func tables() []table {
	return []table{rates(), users(), means(), lifts(), pairs(), weights(), differences(), sparse(), labels(), scores()}
}

func names() (out []string) {
	for _, t := range tables() {
		out = append(out, t.name)
	}
	return out
}

// print writes one table and says how many of its rows miss a bound for no reason that is known.
func print(w io.Writer, t table, results []result, all bool) (missed int) {
	fmt.Fprintf(w, "## %s\n\n%s\n\n%s", t.title, t.about, t.head())
	shown := 0
	for _, r := range results {
		verdict := r.verdict()
		if verdict != "" && r.row.why == "" {
			missed++
		}
		if all || r.row.quick || verdict != "" || r.close() {
			fmt.Fprint(w, t.line(r, verdict))
			shown++
		}
	}
	fmt.Fprintf(w, "\n%d of %d rows are shown. Of all rows: %s\n\n", shown, len(results), t.sum(results))
	return missed
}
