package grading

import (
	"context"
	"fmt"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// budget holds a run to its own budget and to its project's budget of the month.
type budget struct {
	g        *Grader
	run      purse
	project  *purse
	name     string // of the project
	unpriced bool   // calls of unknown price may leave all the same

	month  *assay.USD // the project's limit as last read
	zone   *time.Location
	looked time.Time // when the project was last read
}

// lookEvery is how stale a project's budget may be.
const lookEvery = time.Second

// newBudget sums what the run spent so far.
func (g *Grader) newBudget(ctx context.Context, run assay.Run) (*budget, error) {
	b := &budget{g: g, project: g.purses.purse(run.ProjectID), name: run.Project, unpriced: run.Spec.Unpriced}
	spend, err := g.o.Store.Items().Spend(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	b.run.base, b.run.unpriced = spend.Cost+spend.Held, spend.Unpriced
	return b, b.look(ctx)
}

// look reads the project's budget, and the month's spend where that is not known yet.
func (b *budget) look(ctx context.Context) error {
	now := b.g.o.Now()
	p, err := b.g.o.Store.Projects().Get(ctx, b.name)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(p.Settings.Zone)
	if err != nil {
		zone = time.UTC
	}
	b.month, b.zone, b.looked = p.Settings.MonthBudget, zone, now
	if b.month == nil {
		return nil
	}
	if month := monthOf(now, zone); b.project.spanned() != month {
		return b.project.load(ctx, b.g.o.Store, p.ID, month)
	}
	return nil
}

func (p *purse) spanned() span {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.month
}

// set says whether there is anything to hold to.
func (b *budget) set(own *assay.USD) bool { return own != nil || b.month != nil }

// promise sets aside what a call can cost at most, in both purses, or says why it may not leave.
func (b *budget) promise(reserved *assay.USD, own *assay.USD) *pausing {
	if reserved == nil {
		if b.set(own) && !b.unpriced {
			return b.nobodyKnows()
		}
		return nil
	}
	if !b.run.promise(*reserved, own) {
		return &pausing{reason: assay.Reason(assay.ClassBudget), sentence: fmt.Sprintf(
			"the next call may cost up to USD %s, and USD %s of the run's budget of USD %s are spent or set aside; raise it with `assay runs set RUN --budget` and `assay resume`, or `assay end`",
			reserved, b.run.spent(), own)}
	}
	if !b.project.promise(*reserved, b.month) {
		b.run.withdraw(*reserved)
		now := b.g.o.Now()
		return &pausing{reason: assay.Reason(assay.ClassBudget), wake: monthOf(now, b.zone).to.Sub(now), sentence: fmt.Sprintf(
			"the next call may cost up to USD %s, and USD %s of project %s's budget of USD %s for the month are spent or set aside; it goes on next month, or raise it with `assay project set %s --month-budget` and `assay resume`",
			reserved, b.project.spent(), b.name, b.month, b.name)}
	}
	return nil
}

func (b *budget) nobodyKnows() *pausing {
	return &pausing{reason: assay.Reason(assay.ClassBudget), sentence: "there is a budget, and nobody knows what the next call can cost; give its price with `assay models set` or allow it with --allow-unpriced"}
}

// withdraw takes a promise back: its call never got a row.
func (b *budget) withdraw(reserved *assay.USD) {
	if reserved != nil {
		b.run.withdraw(*reserved)
		b.project.withdraw(*reserved)
	}
}

// commit stores a batch and takes its money into both purses.
func (b *budget) commit(f func() error, batch *store.Batch) error {
	b.project.storing.RLock()
	defer b.project.storing.RUnlock()
	err := f()
	if err == nil {
		b.run.stored(*batch)
		b.project.stored(*batch)
	}
	return err
}

// due says that the project should be read again.
func (b *budget) due() bool { return b.g.o.Now().Sub(b.looked) >= lookEvery }
