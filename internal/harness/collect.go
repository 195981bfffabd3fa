package harness

import (
	"context"
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
	for _, found := range resultfile.Written(j.def().Dir, j.def().Results, before) {
		for _, file := range found.Files {
			if err := c.file(p, found.Format, file); err != nil {
				return nil, err
			}
		}
		if found.None != nil {
			c.sums = append(c.sums, assay.ResultSum{Path: found.Path, Format: found.Format, Error: found.None.Error()})
		}
	}
	c.sums = bounded(c.sums)
	return c, p.flush()
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

// file reads one file. An error is the store's: what is wrong with the file stands in its sum.
func (c *collected) file(p *putter, format assay.ResultFormat, file resultfile.File) error {
	name := file.Path
	if rel, err := filepath.Rel(p.j.def().Dir, file.Path); err == nil {
		name = rel
	}
	sum := assay.ResultSum{Path: name, Format: format}
	err := c.read(p, &sum, file)
	if p.err != nil {
		return p.err
	}
	c.whole = c.whole || results.Whole(err)
	if err != nil {
		sum.Error = err.Error()
	}
	c.sums = append(c.sums, sum)
	return nil
}

func (c *collected) read(p *putter, sum *assay.ResultSum, file resultfile.File) error {
	f, err := file.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	return results.Read(sum.Format, sum.Path, steady{f, p}, file.Info.Size(), results.Options{Mask: p.mask}, func(one assay.Case) error {
		sum.Cases++
		c.tally.Add(one)
		return p.put(one)
	})
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
	batch []assay.Case
	bytes int
	seq   int64
	err   error
}

// Bounds of one transaction.
const (
	batchCases = 500
	batchBytes = 4 << 20
)

func (p *putter) put(c assay.Case) error {
	p.names.Place(&c)
	p.seq++
	c.Run, c.Seq = p.j.run.ID, p.seq
	p.batch = append(p.batch, c)
	p.bytes += size(c)
	if len(p.batch) < batchCases && p.bytes < batchBytes {
		return nil
	}
	return p.flush()
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

func (p *putter) flush() error {
	if len(p.batch) > 0 && p.err == nil {
		p.err = p.j.d.o.Store.Harnesses().PutCases(p.ctx, p.j.fence, p.batch, p.j.d.o.Now())
		p.batch, p.bytes = p.batch[:0], 0
	}
	if p.err == nil {
		p.err = p.j.beat(p.ctx)
	}
	return p.err
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
