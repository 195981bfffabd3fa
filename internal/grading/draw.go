package grading

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/filter"
	"assay/internal/sampling"
	"assay/internal/store"
)

// drawing is the frozen frame of a run and its sample.
type drawing struct {
	strata   []assay.PlannedStratum
	picks    []pick // in dispatch order
	eligible int64
	left     assay.Excluded
	users    []engine.UserCount // where they were asked for
}

type pick struct {
	session assay.SessionKey
	content assay.ContentKey
	stratum int
}

// pulse is called now and then during long work; an error stops it.
type pulse func() error

// draw scans the frame as it was at asOf and takes the sample. It writes nothing.
func (g *Grader) draw(ctx context.Context, project assay.ProjectID, spec assay.GradeSpec, asOf time.Time, beat pulse) (drawing, error) {
	return g.drawCounting(ctx, project, spec, asOf, beat, nil)
}

// drawCounting is draw that counts users as well, unless census is nil.
func (g *Grader) drawCounting(ctx context.Context, project assay.ProjectID, spec assay.GradeSpec, asOf time.Time, beat pulse, c *census) (drawing, error) {
	if spec.Frame.Session != "" {
		return g.drawOne(ctx, project, spec)
	}
	q, broken, err := g.query(ctx, project, spec)
	if err != nil {
		return drawing{}, err
	}
	var d drawing
	var met []pick               // every eligible session, by ref
	accepted := asOf.UnixMicro() // stores keep microseconds
	settled := asOf.Add(-spec.Settings.Settle).UnixMicro()
	before := eligibleBefore(spec)
	windowed := spec.Frame.From != nil || spec.Frame.To != nil
	sampler := samplerOf(spec)
	seen := 0
	err = g.o.Store.Sessions().Scan(ctx, project, q, func(row *store.FrameRow) error {
		if seen++; seen%4096 == 0 {
			if err := beat(); err != nil {
				return err
			}
		}
		switch {
		case row.ArrivedAt > accepted: // before all else: its head at asOf is gone
			d.left.Late++
		case before(row): // nor is it left out: it belongs to an earlier run
		case row.Empty:
			d.left.Empty++
		case row.Undated && windowed && !spec.Frame.Undated:
			d.left.Undated++
		case row.SettleFrom > settled:
			d.left.Unsettled++
		default:
			sampler.Add(row.Day, row.Arm, row.UserID, row.SessionID, int64(len(met)))
			met = append(met, pick{session: row.Key, content: row.Content})
			c.add(row)
		}
		return nil
	})
	if err == nil {
		err = *broken
	}
	if err != nil {
		return drawing{}, err
	}
	d.eligible = int64(len(met))
	d.take(sampler.Result(), met)
	d.users = c.in(d.strata)
	return d, nil
}

// samplerOf draws per_stratum sessions of each stratum, or of those that have sizes as many as those say.
func samplerOf(spec assay.GradeSpec) *sampling.Sampler {
	if len(spec.Sizes) == 0 {
		return sampling.New(spec.Seed, spec.PerStratum)
	}
	sizes := make([]sampling.Size, len(spec.Sizes))
	for i, z := range spec.Sizes {
		sizes[i] = sampling.Size{Day: z.Day, Arm: z.Arm, N: int(z.N)}
	}
	return sampling.Sized(spec.Seed, sizes)
}

// eligibleBefore says of a session that was there at AsOf whether it was eligible at the frame's Since.
func eligibleBefore(spec assay.GradeSpec) func(*store.FrameRow) bool {
	if spec.Frame.Since == nil {
		return func(*store.FrameRow) bool { return false }
	}
	arrived, settled := spec.Frame.Since.UnixMicro(), spec.Frame.Since.Add(-spec.Settings.Settle).UnixMicro()
	return func(row *store.FrameRow) bool { return row.ArrivedAt <= arrived && row.SettleFrom <= settled }
}

func (d *drawing) take(s sampling.Sample, met []pick) {
	for i := range s.Strata {
		h := &s.Strata[i]
		d.strata = append(d.strata, assay.PlannedStratum{
			Stratum: assay.Stratum{Day: h.Day, Arm: h.Arm}, Index: i, Eligible: h.Size, Sampled: int64(len(h.Chosen)),
		})
	}
	for _, p := range s.Order() {
		chosen := met[p.Ref]
		chosen.stratum = p.Stratum
		d.picks = append(d.picks, chosen)
	}
}

// query turns a frame into a scan. broken receives the first error of the filter, which is looked at
// after the scan because a match cannot fail.
func (g *Grader) query(ctx context.Context, project assay.ProjectID, spec assay.GradeSpec) (q store.SessionQuery, broken *error, err error) {
	broken = new(error)
	// Undated sessions are always scanned, so that those left out can be counted.
	q = store.SessionQuery{From: spec.Frame.From, To: spec.Frame.To, Undated: true, Labelled: spec.Frame.Labelled}
	if spec.Frame.Set != "" {
		set, err := g.o.Store.Sets().Get(ctx, project, spec.Frame.Set)
		if err != nil {
			return q, broken, err
		}
		q.Set = set.ID
	}
	if spec.Frame.Filter != "" {
		f, err := filter.Compile(spec.Frame.Filter)
		if err != nil {
			return q, broken, err
		}
		q.Match = func(h *assay.Head) bool {
			ok, err := f.Match(h)
			if err != nil && *broken == nil {
				*broken = err
			}
			return ok
		}
	}
	return q, broken, nil
}

// drawOne is the frame of a single run: one session, settled or not.
func (g *Grader) drawOne(ctx context.Context, project assay.ProjectID, spec assay.GradeSpec) (drawing, error) {
	user, id, err := assay.ParseSessionName(spec.Frame.Session)
	if err != nil {
		return drawing{}, err
	}
	head, err := g.o.Store.Sessions().Get(ctx, project, user, id)
	if err != nil {
		return drawing{}, err
	}
	return drawing{
		strata:   []assay.PlannedStratum{{Stratum: assay.Stratum{Day: head.Day, Arm: head.Arm}, Eligible: 1, Sampled: 1}},
		picks:    []pick{{session: head.Key, content: head.Content}},
		eligible: 1,
	}, nil
}
