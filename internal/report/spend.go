package report

import (
	"context"
	"fmt"
	"slices"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/store"
)

// loadSpend sums attempts by judge, over the whole chain: what was paid for a retry under way counts. What an extract
// kept needs no reading; a run that is in none is read as it is now.
func (f *facts) loadSpend(ctx context.Context, s store.Store) error {
	f.spend = map[int]assay.Spend{}
	head, estimated := f.chain.Head(), f.chain.Estimated()
	for i, e := range f.judges {
		for n, spent := range e.Spent {
			f.spend[i] = f.spend[i].Add(spent)
			if estimated[n] == head.ID {
				f.budgeted = f.budgeted.Add(spent)
			}
		}
		if len(e.Spent) > 0 && estimated[0] == head.ID {
			continue
		}
		spent, err := extract.Spent(ctx, s, head.ProjectID, head.ID, e.Judge)
		if err != nil {
			return err
		}
		f.spend[i], f.budgeted = f.spend[i].Add(spent), f.budgeted.Add(spent)
	}
	return nil
}

func (f *facts) judgeSpend(judge int) Spend {
	e := f.judges[judge]
	return sumOf(f.spend[judge], []*extract.Extract{e})
}

func (f *facts) spendOf() Spend {
	var all assay.Spend
	for i := range f.judges {
		all = all.Add(f.spend[i])
	}
	s := sumOf(all, f.judges)
	if head := f.chain.Head(); head.Budget != nil {
		s.Budget, s.Left = head.Budget, f.budgeted.Left(head.Budget)
	}
	return s
}

// sumOf is a sum as a report has it. Rules call nobody: that price is known.
func sumOf(all assay.Spend, judges []*extract.Extract) Spend {
	s := Spend{Attempts: all.Attempts, Lost: all.Unknown, Late: all.Late, Usage: all.Usage, Known: all.Cost, Held: all.Held, HeldN: all.HeldN, Unpriced: all.Unpriced, Unmetered: all.Unmetered}
	if !slices.ContainsFunc(judges, func(e *extract.Extract) bool { return e.Version.Kind != assay.JudgeRules }) {
		s.Known, s.Held, s.HeldN, s.Unpriced = 0, 0, 0, 0
	}
	if s.Unpriced == 0 && s.HeldN == 0 {
		s.Cost = new(s.Known)
	}
	return s
}

// ItemURL is where the API tells about an item.
func ItemURL(run assay.RunID, seq int64) string {
	return fmt.Sprintf("/api/v1/runs/%s/items/%d", run, seq)
}
