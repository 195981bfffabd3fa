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
	id       assay.RunID
	run      purse
	project  *purse
	name     string // of the project
	unpriced bool   // calls of unknown price may leave all the same

	month  *assay.USD // the project's limit as last read
	zone   *time.Location
	looked time.Time // when the project was last read
}

// refusal says that a budget has no room for a judge's next call.
type refusal struct {
	amount assay.USD // that was to be set aside
	// unknown says that nobody can tell that amount, and price what the model cost then; nil where that
	// was not known either.
	unknown bool
	price   *assay.Price
}

// lookEvery is how stale a project's budget may be.
const lookEvery = time.Second

// newBudget sums what the run spent so far.
func (g *Grader) newBudget(ctx context.Context, run assay.Run) (*budget, error) {
	b := &budget{g: g, id: run.ID, project: g.purses.purse(run.ProjectID), name: run.Project, unpriced: run.Spec.Unpriced}
	spend, err := g.o.Store.Items().Spend(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	b.run.base = spend.Charged()
	return b, b.look(ctx)
}

// due says that the project should be read again: a second has passed, or the month.
func (b *budget) due() bool {
	now := b.g.o.Now()
	return now.Sub(b.looked) >= lookEvery || b.month != nil && !b.project.spans().has(now)
}

// look reads the project's budget, and the month's spend where that is not known yet.
func (b *budget) look(ctx context.Context) error {
	now := b.g.o.Now()
	p, err := b.g.o.Store.Projects().Get(ctx, b.name)
	if err != nil {
		return err
	}
	b.month, b.zone = p.Settings.MonthBudget, p.Settings.Location()
	if month := monthOf(now, b.zone); b.month != nil && b.project.spans() != month {
		if err := b.project.load(ctx, b.g.o.Store, p.ID, month); err != nil {
			return err
		}
	}
	b.looked = now
	return nil
}

// set says whether there is anything to hold to.
func (b *budget) set(own *assay.USD) bool { return own != nil || b.month != nil }

// promise sets aside what a call that is opened at a time can cost at most, in both purses, or says that
// it may not leave.
func (b *budget) promise(at time.Time, reserved, own *assay.USD) *refusal {
	switch {
	case reserved == nil && b.set(own) && !b.unpriced:
		return &refusal{unknown: true}
	case reserved == nil:
		return nil
	case !b.run.promise(at, *reserved, own):
		return &refusal{amount: *reserved}
	case !b.project.promise(at, *reserved, b.month):
		b.run.withdraw(*reserved)
		return &refusal{amount: *reserved}
	}
	return nil
}

// why says as a cause to pause what a refused call lacks by what is spent now: more was set aside when it
// was refused.
func (b *budget) why(r *refusal, own *assay.USD) *pausing {
	now := b.g.o.Now()
	switch {
	case r.unknown:
		return &pausing{reason: assay.Reason(assay.ClassBudget),
			sentence: "there is a budget, and nobody knows what the next call can cost; give its price with `assay models set` or allow it with --allow-unpriced"}
	case r.amount > b.run.room(now, own):
		return b.ownReached(r.amount, own)
	}
	return b.monthReached(now, r.amount)
}

func (b *budget) ownReached(amount assay.USD, own *assay.USD) *pausing {
	return &pausing{reason: assay.Reason(assay.ClassBudget), sentence: fmt.Sprintf(
		"the next call may cost up to USD %s, and USD %s of the run's budget of USD %s are spent or set aside; raise it with `assay runs set %s --budget` and `assay resume %s`, or keep what it has with `assay end %s`",
		amount, b.run.spent(), own, b.id, b.id, b.id)}
}

func (b *budget) monthReached(at time.Time, amount assay.USD) *pausing {
	return &pausing{reason: assay.Reason(assay.ClassBudget), wake: monthOf(at, b.zone).to, sentence: fmt.Sprintf(
		"the next call may cost up to USD %s, and USD %s of project %s's budget of USD %s for the month are spent or set aside; it goes on next month, or raise it with `assay project set %s --month-budget` and `assay resume %s`",
		amount, b.project.spent(), b.name, b.month, b.name, b.id)}
}

// room is what may be promised now.
func (b *budget) room(own *assay.USD) assay.USD {
	now := b.g.o.Now()
	return min(b.run.room(now, own), b.project.room(now, b.month))
}

// stands says that a refusal would be made again. price is what the model costs now.
func (b *budget) stands(r *refusal, own *assay.USD, price *assay.Price) bool {
	if r.unknown {
		return b.set(own) && !b.unpriced && (price == nil || r.price != nil)
	}
	return r.amount > b.room(own)
}

// hopes says that a refused call may leave later without anybody's help: calls of the project's other
// runs are in flight, and may leave something of what is set aside for them.
func (b *budget) hopes(r *refusal, own *assay.USD) bool {
	now := b.g.o.Now()
	return !r.unknown && r.amount <= min(b.run.room(now, own), b.project.hope(now, b.month))
}

// over says that a budget was lowered below what is gone.
func (b *budget) over(own *assay.USD) bool { return b.run.over(own) || b.project.over(b.month) }

// withdraw takes a promise back: its call never got a row.
func (b *budget) withdraw(reserved *assay.USD) {
	if reserved != nil {
		b.run.withdraw(*reserved)
		b.project.withdraw(*reserved)
	}
}

// lost takes in calls that ended and could not be stored under the fence.
func (b *budget) lost(done []store.Outcome) {
	b.run.lost(done)
	b.project.lost(done)
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
