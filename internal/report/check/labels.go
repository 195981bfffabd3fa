package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/number"
	"assay/internal/store"
)

// truth is what people said of one content that the run graded.
type truth struct {
	row         int32
	value       string // JSON
	raters      []string
	blind       bool
	draws       []int64
	recorded    float64 // the probability of a label that no draw chose; 0: not known
	use         assay.LabelUse
	probability float64 // of being labelled, among the graded sessions; 0: not known
	in          bool    // it enters estimates
}

// ballot are the labels of one content.
type ballot []store.ContentLabel

// count reads the labels of a criterion, content by content.
func (c *checker) count(ctx context.Context, s store.Store) error {
	var now ballot
	flush := func() {
		if len(now) > 0 {
			c.take(now)
		}
		now = now[:0]
	}
	err := s.Labels().Contents(ctx, c.project.ID, c.column().Criterion.Name, func(l *store.ContentLabel) error {
		if len(now) > 0 && now[0].Content != l.Content {
			flush()
		}
		now = append(now, *l)
		return nil
	})
	flush()
	slices.SortFunc(c.truths, func(a, b truth) int { return cmp.Compare(a.row, b.row) })
	return err
}

// take resolves the labels of one content.
func (c *checker) take(all ballot) {
	l := &c.out.Labels
	row, graded := c.rows[all[0].Content]
	if !graded {
		l.Elsewhere += int64(len(all))
		return
	}
	l.Total += int64(len(all))
	l.Contents++
	c.rate(row, all)
	var measure, apart ballot
	for _, b := range all {
		switch {
		case c.o.Rater != "" && b.Rater != c.o.Rater:
		case b.Version != "" && b.Version != c.question:
			l.Other++
		case b.Use == assay.UseQueue:
			l.Queue++
			apart = append(apart, b)
		case b.Use == assay.UsePrompt:
			l.Prompt++
			apart = append(apart, b)
		default:
			measure = append(measure, b)
		}
	}
	use := assay.UseMeasure
	if len(measure) == 0 {
		if measure = apart; len(apart) == 0 {
			return
		}
		use = apart[0].Use
	}
	value, ok := resolve(measure)
	if !ok {
		l.Tied++
		return
	}
	c.truths = append(c.truths, truthOf(row, value, use, measure))
}

func truthOf(row int32, value string, use assay.LabelUse, of ballot) truth {
	t := truth{row: row, value: value, use: use, blind: true}
	for _, b := range of {
		if !slices.Contains(t.raters, b.Rater) {
			t.raters = append(t.raters, b.Rater)
		}
		t.blind = t.blind && b.Blind
		if b.Draw != 0 && !slices.Contains(t.draws, b.Draw) {
			t.draws = append(t.draws, b.Draw)
		}
		if b.Draw == 0 {
			t.recorded = max(t.recorded, b.Probability)
		}
	}
	slices.Sort(t.raters)
	slices.Sort(t.draws)
	return t
}

// resolve is what several raters said together: a decision, else what most said; false where that is a tie.
func resolve(of ballot) (value string, ok bool) {
	var decided *store.ContentLabel
	votes := map[string]int{}
	for i := range of {
		if b := &of[i]; b.Decided && (decided == nil || b.ID > decided.ID) {
			decided = b
		}
		votes[plain(of[i].Value)]++
	}
	if decided != nil {
		return plain(decided.Value), true
	}
	most, tie := 0, false
	for v, n := range votes {
		switch {
		case n > most:
			value, most, tie = v, n, false
		case n == most:
			tie = true
		}
	}
	return value, !tie
}

// plain is a JSON value as it is compared: 1 and 1.0 are one number.
func plain(raw string) string {
	var v any
	if json.Unmarshal([]byte(raw), &v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return string(out)
}

// cell is what decides how likely a session was to be drawn: its stratum and, of a draw by verdict, what the judge of
// the draw said.
type cell struct {
	stratum assay.Stratum
	answer  extract.Answer
}

// chances are a draw's probabilities: by cell, times the share of the cell's members that was labelled, since members
// are labelled in the order of a draw, any beginning of which is a draw of fewer. cells has every session that could be
// drawn.
type chances struct {
	p     map[cell]float64
	cells map[assay.ContentKey]cell
}

// of is the chance of a content, 0 where it could not be drawn.
func (ch chances) of(content assay.ContentKey) float64 {
	at, ok := ch.cells[content]
	if !ok {
		return 0
	}
	return ch.p[at]
}

// weigh gives each truth its probability and says which of them enter estimates: those of draws, or those that were
// recorded, whichever are more. Two designs cannot be one sample without knowing how they overlap.
func (c *checker) weigh(ctx context.Context, s store.Store) error {
	var recorded, drawn int
	labelled := map[int64]map[int32]bool{}
	for i := range c.truths {
		t := &c.truths[i]
		switch {
		case t.use != assay.UseMeasure:
		case len(t.draws) > 0:
			drawn++
			for _, d := range t.draws {
				if labelled[d] == nil {
					labelled[d] = map[int32]bool{}
				}
				labelled[d][t.row] = true
			}
		case t.recorded > 0:
			recorded++
		default:
			c.out.Labels.Unknown++
		}
	}
	if recorded >= drawn {
		c.useRecorded(recorded)
		return nil
	}
	return c.useDraws(ctx, s, labelled)
}

func (c *checker) useRecorded(n int) {
	for i := range c.truths {
		t := &c.truths[i]
		switch {
		case t.use != assay.UseMeasure:
		case len(t.draws) > 0:
			c.out.Labels.Apart++
		case t.recorded > 0:
			t.probability, t.in = t.recorded, true
		}
	}
	if n > 0 {
		c.out.Labels.Design = fmt.Sprintf("recorded beforehand, for %s of %s graded sessions", number.Whole(int64(n)), number.Whole(c.graded))
	}
}

func (c *checker) useDraws(ctx context.Context, s store.Store, labelled map[int64]map[int32]bool) error {
	var all []chances
	var parts []string
	for _, id := range slices.Sorted(keys(labelled)) {
		d, err := s.Labels().Draw(ctx, c.project.ID, id)
		if err != nil {
			return err
		}
		if d.Method == assay.DrawQueue {
			continue
		}
		ch, members, err := c.chancesOf(ctx, s, d, labelled[id])
		if err != nil {
			return err
		}
		all = append(all, ch)
		c.out.Labels.Draws = append(c.out.Labels.Draws, id)
		how := "random within strata"
		if d.Method == assay.DrawVerdicts {
			how = "by verdict within strata"
		}
		parts = append(parts, fmt.Sprintf("draw %d of %s, %s, %d of %d labelled", id, d.Run, how, len(labelled[id]), members))
	}
	c.out.Labels.Design = strings.Join(parts, "; ")
	for i := range c.truths {
		t := &c.truths[i]
		switch {
		case t.use != assay.UseMeasure:
		case len(t.draws) == 0:
			if t.recorded > 0 {
				c.out.Labels.Apart++
			}
		default:
			missed := 1.0
			for _, ch := range all {
				missed *= 1 - ch.of(c.e.Rows[t.row].Content)
			}
			if t.probability = 1 - missed; t.probability > 0 {
				t.in = true
			} else {
				c.out.Labels.Unknown++
			}
		}
	}
	return nil
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// frameOf is every session that a draw could draw, by cell: those that its run had graded then. What is drawn at
// random has its chance whatever the judge said.
func (c *checker) frameOf(ctx context.Context, s store.Store, d assay.Draw) (map[assay.ContentKey]cell, error) {
	e, chain, at := c.e, c.chain, c.at
	if d.Run != c.run.ID || d.Version != c.e.Judge.Version {
		run, err := s.Runs().Get(ctx, d.Run)
		if err != nil {
			return nil, err
		}
		judge := slices.IndexFunc(run.Spec.Judges, func(j assay.RunJudge) bool { return j.Version == d.Version })
		if judge < 0 {
			return nil, assay.Errorf(assay.CodeInternal, "draw %d names a judge that run %s does not have", d.ID, d.Run)
		}
		if chain, err = extract.ChainOf(ctx, s, run); err != nil {
			return nil, err
		}
		if e, err = extract.Load(ctx, s, chain, judge); err != nil {
			return nil, err
		}
		at = slices.IndexFunc(e.Columns, func(k extract.Column) bool { return k.Criterion.Name == d.Criterion })
	}
	strata := map[int32]assay.Stratum{}
	for _, h := range chain.Strata {
		strata[int32(h.Index)] = h.Stratum
	}
	frame := make(map[assay.ContentKey]cell, len(e.Rows))
	for i := range e.Rows {
		if at < 0 || e.Columns[at].Answers[i] < 0 {
			continue
		}
		to := cell{stratum: strata[e.Rows[i].Stratum]}
		if d.Method == assay.DrawVerdicts {
			to.answer = e.Columns[at].Answers[i]
		}
		frame[e.Rows[i].Content] = to
	}
	return frame, nil
}

// chancesOf reads a draw's members: all of one cell have one probability.
func (c *checker) chancesOf(ctx context.Context, s store.Store, d assay.Draw, labelled map[int32]bool) (chances, int, error) {
	type counted struct{ p, members, worked float64 }
	frame, err := c.frameOf(ctx, s, d)
	if err != nil {
		return chances{}, 0, err
	}
	cells := map[cell]*counted{}
	members := 0
	err = s.Labels().Drawn(ctx, d.ID, func(content assay.ContentKey, _ assay.Stratum, p float64) error {
		members++
		at, ok := frame[content]
		if !ok {
			return nil // erased since
		}
		if cells[at] == nil {
			cells[at] = &counted{p: p}
		}
		cells[at].members++
		if row, here := c.rows[content]; here && labelled[row] {
			cells[at].worked++
		}
		return nil
	})
	out := chances{p: map[cell]float64{}, cells: frame}
	for at, n := range cells {
		out.p[at] = n.p * n.worked / n.members
	}
	for content := range c.rows {
		if _, ok := frame[content]; !ok {
			c.undrawn++
		}
	}
	return out, members, err
}
