package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/harness/define"
	"assay/internal/harness/resultfile"
	"assay/internal/harness/results"
	"assay/internal/logs"
)

// notedFile is what the result files were before the launch.
const notedFile = "results.json"

// noteResults stores in the launch's folder which result files there are already: those that stay as they
// are when the harness has run are not its results.
func noteResults(dir string, def assay.SuiteDefinition) error {
	if len(def.Results) == 0 {
		return nil
	}
	if err := (durable.Disk{}).WriteJSON(dir, notedFile, resultfile.Note(def.Dir, def.Results)); err != nil {
		return fmt.Errorf("note which result files there are: %w", err)
	}
	return nil
}

// notes are what noteResults stored.
func notes(dir string) (before resultfile.Stamps, err error) {
	if err := durable.ReadJSON(dir, notedFile, &before); err != nil {
		return nil, fmt.Errorf("which files are older than the run is not known: %w", err)
	}
	return before, nil
}

// masker takes the launch's secrets out of what its harness wrote. A driver that did not launch it reads
// them again: they are stored nowhere.
func (j *job) masker(ctx context.Context) (*logs.Masker, error) {
	if j.mask != nil {
		return j.mask, nil
	}
	_, shown, secrets, err := define.Environ(ctx, *j.def(), j.run.Suite.Params, j.d.o.LookupEnv)
	for _, e := range j.facts.Env {
		if name, hidden := strings.CutSuffix(e, "=****"); err == nil && hidden && !slices.Contains(shown, e) {
			err = fmt.Errorf("the variable %s is not set", name)
		}
	}
	if err == nil {
		j.mask, err = logs.NewMasker(secrets)
	}
	if err != nil {
		return nil, fmt.Errorf("it was not read, because what was secret at the launch could not be masked in it: %w", err)
	}
	return j.mask, nil
}

// collected is what the result files of a run held.
type collected struct {
	sums  []assay.ResultSum
	tally assay.CaseTally
	whole bool // one file at least could be read whole
}

// collect reads result files into cases, from the start: who died over it leaves nothing behind.
func (j *job) collect(ctx context.Context) (*collected, error) {
	c, p := &collected{}, &putter{ctx: ctx, j: j}
	if len(j.def().Results) == 0 {
		return c, nil
	}
	before, err := notes(j.dir())
	if err == nil {
		p.mask, err = j.masker(ctx)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		for _, f := range j.def().Results {
			c.sums = append(c.sums, assay.ResultSum{Path: f.Path, Format: f.Format, Error: err.Error()})
		}
		return c, nil
	}
	if err := j.d.o.Store.Harnesses().ResetCases(ctx, j.fence); err != nil {
		return nil, err
	}
	var read []*resultSum
	for _, found := range resultfile.Written(j.def().Dir, j.def().Results, before) {
		for _, file := range found.Files {
			one := &resultSum{ResultSum: assay.ResultSum{Path: j.named(file.Path), Format: found.Format}}
			read = append(read, one)
			err := p.file(one, file)
			if p.err != nil {
				return nil, p.err
			}
			if one.whole = results.Whole(err); err != nil {
				one.Error = err.Error()
			}
		}
		if found.None != nil {
			read = append(read, &resultSum{ResultSum: assay.ResultSum{Path: found.Path, Format: found.Format, Error: found.None.Error()}})
		}
	}
	if p.flush(); p.err != nil {
		return nil, p.err
	}
	for _, one := range read {
		c.whole = c.whole || one.whole && one.refused == 0
		c.sums = append(c.sums, one.told())
	}
	c.sums, c.tally = bounded(c.sums), p.tally
	return c, nil
}

// resultSum is what comes of one file.
type resultSum struct {
	assay.ResultSum
	whole   bool
	refused int   // cases that the store does not take
	first   error // why, of the first of them
}

// mostRefused is how many of its cases may be refused before the rest of a file is left.
const mostRefused = 20

// told is the sum with what was refused.
func (r *resultSum) told() assay.ResultSum {
	sum := r.ResultSum
	if r.refused > 0 {
		sum.Error = strings.TrimPrefix(fmt.Sprintf("%s; %d of its cases cannot be stored: %s", sum.Error, r.refused, r.first), "; ")
	}
	return sum
}

// named is a file as it is shown.
func (j *job) named(path string) string {
	if rel, err := filepath.Rel(j.def().Dir, path); err == nil {
		return rel
	}
	return path
}

// mostSums bounds what is told of the files of a run: a pattern may mean ten thousand.
const mostSums = 100

// bounded leaves out files in the middle of a list, those without a fault first, and says what they were.
func bounded(sums []assay.ResultSum) []assay.ResultSum {
	over := len(sums) - (mostSums - 1)
	if over <= 1 {
		return sums
	}
	var kept []assay.ResultSum
	var rest assay.ResultSum
	faulty := 0
	for _, s := range sums {
		if s.Error != "" {
			faulty++
		}
	}
	whole, broken := max(0, mostSums-1-faulty), mostSums-1
	for _, s := range sums {
		room := &whole
		if s.Error != "" {
			room = &broken
		}
		if *room > 0 {
			*room--
			kept = append(kept, s)
			continue
		}
		rest.Format, rest.Cases = s.Format, rest.Cases+s.Cases
	}
	rest.Path = fmt.Sprintf("and %d more files", len(sums)-len(kept))
	if more := faulty - (mostSums - 1); more > 0 {
		rest.Error = fmt.Sprintf("something is wrong with %d of them", more)
	}
	return append(kept, rest)
}

// file reads one file. What is wrong with it is the error; what is wrong with the store is p.err.
func (p *putter) file(sum *resultSum, file resultfile.File) error {
	f, err := file.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	p.sum = sum
	return results.Read(sum.Format, sum.Path, steady{f, p}, file.Info.Size(), results.Options{Mask: p.mask}, p.put)
}

// steady is a file whose reading keeps the run's heartbeat, and ends with its driver: a large one takes
// minutes, and may hold no case.
type steady struct {
	io.ReaderAt
	p *putter
}

func (s steady) ReadAt(b []byte, at int64) (int, error) {
	if s.p.err == nil {
		s.p.err = s.p.ctx.Err()
	}
	if s.p.err == nil {
		s.p.err = s.p.j.beat(s.p.ctx)
	}
	if s.p.err != nil {
		return 0, s.p.err
	}
	return s.ReaderAt.ReadAt(b, at)
}

// putter stores cases in batches.
type putter struct {
	ctx   context.Context
	j     *job
	mask  *logs.Masker
	names results.Names
	sum   *resultSum // of the file that is read
	batch []assay.Case
	of    []*resultSum // of each case of the batch
	bytes int
	tally assay.CaseTally // of those that are stored
	err   error           // of the store, not of a case
}

// Bounds of one transaction.
const (
	batchCases = 500
	batchBytes = 4 << 20
)

func (p *putter) put(c assay.Case) error {
	p.names.Place(&c)
	c.Run = p.j.run.ID
	p.batch, p.of = append(p.batch, c), append(p.of, p.sum)
	p.bytes += size(c)
	if len(p.batch) >= batchCases || p.bytes >= batchBytes {
		p.flush()
	}
	if p.err == nil && p.sum.refused >= mostRefused {
		return errors.New("the rest was not read")
	}
	return p.err
}

// size is about what a case takes.
func size(c assay.Case) int {
	const rest = 1000 // what is small
	n := rest + len(c.Input) + len(c.Output) + len(c.Expected) + len(c.Error) + len(c.Extra)
	for _, f := range c.Findings {
		n += rest + len(f.Value) + len(f.Reason)
	}
	return n
}

// flush stores the batch. Where the store refuses a case, each is stored by itself: those that it refuses are
// their files' fault, and no run runs on for them.
func (p *putter) flush() {
	if len(p.batch) > 0 && p.err == nil && p.store(p.batch, p.of) != nil {
		for i := 0; i < len(p.batch) && p.err == nil; i++ {
			if refused := p.store(p.batch[i:i+1], p.of[i:i+1]); refused != nil {
				if p.of[i].refused++; p.of[i].first == nil {
					p.of[i].first = refused
				}
			}
		}
	}
	p.batch, p.of, p.bytes = p.batch[:0], p.of[:0], 0
	if p.err == nil {
		p.err = p.j.beat(p.ctx)
	}
}

// store stores cases of files.
func (p *putter) store(cases []assay.Case, of []*resultSum) (refused error) {
	for i := range cases {
		cases[i].Seq = p.tally.Total + int64(i) + 1
	}
	err := p.j.d.o.Store.Harnesses().PutCases(p.ctx, p.j.fence, cases, p.j.d.o.Now())
	switch {
	case err == nil:
		for i, c := range cases {
			p.tally.Add(c)
			of[i].Cases++
		}
	case assay.CodeOf(err) == assay.CodeInvalid:
		return err
	default:
		p.err = err
	}
	return nil
}

// success says what the success rule makes of how a harness ended by itself.
func success(def assay.SuiteDefinition, code int, c *collected) (why assay.Reason, sentence string) {
	if !results.ExitOK(def.Success, code) {
		return assay.ReasonExitCode, ""
	}
	ok, said := results.Meet(def.Success, c.tally, c.whole)
	switch {
	case ok:
		return assay.ReasonNone, ""
	case def.Success.NeedResults && !c.whole:
		return assay.ReasonResultsMissing, said
	}
	return assay.ReasonCasesFailed, said
}
