package grading

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// blind is a store that can be written and whose projects cannot be read.
type blind struct {
	store.Store
	closed atomic.Bool
}

func (b *blind) Projects() store.Projects { return blindProjects{b.Store.Projects(), b} }

type blindProjects struct {
	store.Projects
	b *blind
}

func (p blindProjects) Get(ctx context.Context, name string) (assay.Project, error) {
	if p.b.closed.Load() {
		return assay.Project{}, assay.Errorf(assay.CodeInternal, "read project %s: the row is damaged", name)
	}
	return p.Projects.Get(ctx, name)
}

// While a project's row cannot be read no call starts, and the log says so once a minute.
func TestAnUnreadableProjectIsSaidOnceAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 2000)
		w.serve(tenth())
		b := &blind{Store: s}
		var lines atomic.Int64
		o := w.grader.o
		o.Store, o.Log = b, slog.New(slog.NewTextHandler(counter{&lines}, nil))
		w.grader = New(o)
		stop := w.drive()
		defer stop()
		id := w.grade(engine.GradeRequest{PerStratum: ptr(2000), Concurrency: ptr(1)}).ID
		time.Sleep(5 * time.Second)
		b.closed.Store(true)
		time.Sleep(3 * time.Second)
		before := w.counts(id).Graded
		time.Sleep(3 * time.Minute)
		if n := lines.Load(); n < 3 || n > 5 {
			t.Errorf("%d lines in three minutes", n)
		}
		if graded := w.counts(id).Graded; graded != before {
			t.Errorf("%d graded though nobody knows the budget", graded-before)
		}
		b.closed.Store(false)
		time.Sleep(5 * time.Second)
		if graded := w.counts(id).Graded; graded == before {
			t.Error("it does not go on")
		}
		if _, err := w.engine.Cancel(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
		w.until(id, assay.RunCancelled)
	})
}

// counter counts the lines that say that a run cannot be read.
type counter struct{ n *atomic.Int64 }

var _ io.Writer = counter{}

func (c counter) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "read or write run") {
		c.n.Add(1)
	}
	return len(line), nil
}

// What a pause for a budget says of it is true when the run has paused: calls that were in flight when the
// next was refused have settled since.
func TestAPauseSaysWhatIsSpentThen(t *testing.T) {
	for name, month := range map[string]bool{"the run's": false, "the month's": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s store.Store) {
				w := newWorld(t, s, 10)
				p := tenth()
				p.answer = slowly(time.Second, assay.Usage{Known: true, Input: 1000, Output: 90})
				w.serve(p)
				budget := assay.USD(5_000_000) // for two calls; what they leave is too little for a third
				q := engine.GradeRequest{Concurrency: ptr(4)}
				if q.Budget = &budget; month {
					q.Budget = nil
					settings := w.project.Settings
					settings.MonthBudget = &budget
					var err error
					if w.project, err = s.Projects().Update(t.Context(), w.project.ID, settings, false); err != nil {
						t.Fatal(err)
					}
				}
				stop := w.drive()
				defer stop()
				run := w.until(w.grade(q).ID, assay.RunPaused)
				spend, err := s.Items().Spend(t.Context(), run.ID)
				if err != nil {
					t.Fatal(err)
				}
				if want := "USD " + spend.Charged().String() + " of "; spend.Attempts != 2 || !strings.Contains(run.Sentence, want) {
					t.Errorf("no %q after %d calls in %q", want, spend.Attempts, run.Sentence)
				}
			})
		})
	}
}
