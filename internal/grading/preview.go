package grading

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
)

// Preview draws the sample and looks up what would be reused. It writes nothing.
func (g *Grader) Preview(ctx context.Context, p assay.Project, q engine.GradeRequest, now time.Time) (engine.Preview, error) {
	r, err := g.resolve(ctx, p, q)
	if err != nil {
		return engine.Preview{}, err
	}
	d, err := g.draw(ctx, p.ID, r.spec, now, func() error { return ctx.Err() })
	if err != nil {
		return engine.Preview{}, err
	}
	sampled := int64(len(d.picks))
	out := engine.Preview{
		Spec: r.spec, AsOf: now, Strata: d.strata, Eligible: d.eligible, Sampled: sampled,
		Items: sampled * int64(len(r.spec.Judges)) * int64(r.spec.Repeats), Excluded: d.left,
	}
	for i, j := range r.spec.Judges {
		reused := int64(0)
		for part := range chunks(d.picks) {
			if !reuses(r.spec) {
				break
			}
			found, err := g.reusable(ctx, p.ID, j, 0, part, now, time.Time{})
			if err != nil {
				return engine.Preview{}, err
			}
			reused += int64(len(found))
		}
		items := sampled * int64(r.spec.Repeats)
		out.Judges = append(out.Judges, engine.JudgePreview{Name: j.Name, Kind: r.kinds[i], Version: j.Version, Items: items, Reused: reused, Calls: items - reused})
	}
	return out, nil
}
