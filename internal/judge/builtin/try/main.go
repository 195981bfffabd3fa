// Command try asks the real model that the environment names (docs/BUILTINS.md) about a built-in judge's
// own labelled set, and prints where it agrees with the right answers and where it does not:
//
//	go run ./internal/judge/builtin/try JUDGE [SESSION …]
//
// It owns its output and nothing else: it keeps no verdict and knows no run, no budget and no limit but
// how many calls are under way at once.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/builtin"
	"assay/internal/judge/kinds"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "try:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, lookup func(string) (string, bool), out io.Writer) error {
	flags := flag.NewFlagSet("try", flag.ContinueOnError)
	flags.SetOutput(out)
	parallel := flags.Int("parallel", 4, "how many sessions are asked about at once")
	flags.Usage = func() {
		fmt.Fprintf(out, "usage: try [-parallel N] JUDGE [SESSION ...]\nJUDGE is one of %s\n", strings.Join(builtin.Names(), ", "))
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 || *parallel < 1 {
		flags.Usage()
		return fmt.Errorf("no judge is named")
	}
	name := flags.Arg(0)
	examples, err := chosen(name, flags.Args()[1:])
	if err != nil {
		return err
	}
	env := kinds.Env{LookupEnv: lookup}
	j, version, err := builtin.Get(name, env)
	if err != nil {
		return err
	}
	asked, err := kinds.Build(version, j.Settings, env)
	if err != nil {
		return err
	}
	defer asked.Close()
	fmt.Fprintf(out, "%s, version %.12s", name, string(version.ID))
	if m, ok := asked.(judge.Metered); ok {
		fmt.Fprintf(out, ", %s", m.Model())
	}
	fmt.Fprintf(out, ": %d sessions\n\n", len(examples))
	t := trial{judge: asked, results: make([]result, len(examples))}
	t.ask(ctx, examples, *parallel)
	t.print(out, examples)
	if i := slices.IndexFunc(t.results, func(r result) bool { return r.failed != "" }); i >= 0 {
		return fmt.Errorf("not every session was graded: %s", t.results[i].failed)
	}
	return nil
}

// chosen are the examples of a set, or those with the given ids.
func chosen(name string, ids []string) ([]builtin.Example, error) {
	all, err := builtin.Set(name)
	if err != nil || len(ids) == 0 {
		return all, err
	}
	var some []builtin.Example
	for _, id := range ids {
		i := slices.IndexFunc(all, func(e builtin.Example) bool { return e.Session.SessionID == id })
		if i < 0 {
			return nil, fmt.Errorf("the set of %s has no session %q", name, id)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// trial asks a judge about examples.
type trial struct {
	judge   judge.Judge
	results []result // of the examples, in their order
}

// result is what became of one example.
type result struct {
	answers []assay.Answer
	failed  string // why there are none
	calls   int
	usage   assay.Usage
}

func (t *trial) ask(ctx context.Context, examples []builtin.Example, parallel int) {
	places := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i := range examples {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.results[i] = grade(ctx, t.judge, examples[i].Session)
		})
	}
	all.Wait()
}

// print lists every answer that differs, then each criterion's agreement.
func (t *trial) print(out io.Writer, examples []builtin.Example) {
	type tally struct{ right, asked int }
	counts := map[string]*tally{}
	var order []string
	var sum result
	quotes, found, failed := 0, 0, 0
	for i, e := range examples {
		r := t.results[i]
		sum.calls += r.calls
		sum.usage.Input += r.usage.Input
		sum.usage.Output += r.usage.Output
		if r.failed != "" {
			failed++
			fmt.Fprintf(out, "%s: NOT GRADED, %s\n", e.Session.SessionID, r.failed)
			continue
		}
		for _, m := range e.Marks(r.answers) {
			name := m.Criterion
			if m.Unit == "" && len(e.Answers) > 1 {
				name += " (session)"
			}
			if counts[name] == nil {
				counts[name] = &tally{}
				order = append(order, name)
			}
			counts[name].asked++
			if m.Right() {
				counts[name].right++
				continue
			}
			fmt.Fprintf(out, "%s %s %s: right is %s, the judge says %s\n", e.Session.SessionID, m.Unit, m.Criterion, m.Want, m.Got)
			if m.Reason != "" {
				fmt.Fprintf(out, "    its reason: %s\n    ours: %s\n", m.Reason, e.Why)
			}
		}
		q, f := quoted(r.answers)
		quotes, found = quotes+q, found+f
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CRITERION\tRIGHT\tASKED\tAGREEMENT")
	for _, name := range order {
		c := counts[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%.0f %%\n", name, c.right, c.asked, 100*float64(c.right)/float64(c.asked))
	}
	_ = w.Flush() // out is a terminal or a buffer
	fmt.Fprintf(out, "\n%d sessions not graded; %d of %d quotes stand in their session; %d calls, %d tokens in, %d out\n", failed, found, quotes, sum.calls, sum.usage.Input, sum.usage.Output)
}

// quoted counts the quotes about units, or about a session that has none, and those that were found.
func quoted(answers []assay.Answer) (all, found int) {
	for _, a := range answers {
		if a.Unit == "" && len(answers) > 1 {
			continue // rolled up from the others
		}
		for _, f := range a.Findings {
			for _, e := range f.Evidence {
				all++
				if e.Verified {
					found++
				}
			}
		}
	}
	return all, found
}
