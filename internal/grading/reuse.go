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

// reusable finds the verdicts that judge i of a run may adopt for some picks: same project, judge
// version, content and repeat. A model name without a date is an alias, whose verdicts age. A built-in
// judge that was never applied has no version row and so no verdicts either.
func (g *Grader) reusable(ctx context.Context, project assay.ProjectID, spec assay.GradeSpec, i int, picks []pick, now time.Time) (map[assay.ContentKey]store.Reuse, error) {
	if spec.Force || spec.Repeats > 1 {
		return nil, nil
	}
	v, err := g.o.Store.Judges().Version(ctx, project, spec.Judges[i].Version)
	if assay.CodeOf(err) == assay.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var since time.Time
	if v.Alias {
		since = now.Add(-assay.AliasReuse)
	}
	contents := make([]assay.ContentKey, len(picks))
	for k, p := range picks {
		contents[k] = p.content
	}
	return g.o.Store.Plans().Reusable(ctx, project, v.ID, 0, contents, since)
}
