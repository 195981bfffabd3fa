package grading

import (
	"context"
	"iter"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// reuseChunk is how many contents one look-up of reusable verdicts names.
const reuseChunk = 1000

func chunks(picks []pick) iter.Seq[[]pick] { return slices.Chunk(picks, reuseChunk) }

// reuses says whether a run adopts verdicts of others at all: not when it was forced, nor when it
// measures a judge's noise.
func reuses(spec assay.GradeSpec) bool { return !spec.Force && spec.Repeats == 1 }

// reusable finds the verdicts that judge i of a run may adopt for some picks: same project, judge
// version, content and repeat, stored at floor or later. A model name without a date is an alias,
// whose verdicts age. A built-in judge that was never applied has no version row and so no verdicts.
func (g *Grader) reusable(ctx context.Context, project assay.ProjectID, judge assay.RunJudge, repeat int, picks []pick, now, floor time.Time) (map[assay.ContentKey]store.Reuse, error) {
	v, err := g.o.Store.Judges().Version(ctx, project, judge.Version)
	if assay.CodeOf(err) == assay.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if aged := now.Add(-assay.AliasReuse); v.Alias && aged.After(floor) {
		floor = aged
	}
	contents := make([]assay.ContentKey, len(picks))
	for k, p := range picks {
		contents[k] = p.content
	}
	return g.o.Store.Plans().Reusable(ctx, project, v.ID, repeat, contents, floor)
}
