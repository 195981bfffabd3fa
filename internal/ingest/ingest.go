// Package ingest brings a file of recorded sessions into the store.
//
// It owns the way from bytes to rows: pieces are read, encoded and compressed on all cores, in order,
// and written by one writer in short transactions. It refuses to know the formats' fields (session's)
// and what is stored already (the store's). Its invariants: memory is bounded whatever the size of the
// file; a bad piece costs that piece alone and is recorded with its place; reading a file twice adds
// nothing.
package ingest

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"

	"assay/internal/assay"
	"assay/internal/session"
	"assay/internal/store"
)

// Import reads r into project p and returns the totals. Pieces that could not be read do not make an
// error: they are counted in Rejected and kept as rejects. An error means that nothing was begun
// (CodeInvalid: the format is not known), that a strict import met a reject and stored nothing
// (CodeRejected), or that it broke off; then the sessions before are stored, and importing the file
// again adds the rest.
func Import(ctx context.Context, st store.Store, p assay.Project, r io.Reader, o assay.ImportOptions, now func() time.Time) (store.Import, error) {
	zone, err := time.LoadLocation(p.Settings.Zone)
	if err != nil {
		return store.Import{}, assay.Errorf(assay.CodeInvalid, "zone %q of project %s: %w", p.Settings.Zone, p.Name, err)
	}
	i := &importing{store: st, project: p, zone: zone, options: o, now: now}
	if !o.Strict {
		return i.write(ctx, r)
	}
	file, err := spool(r, o.Spool)
	if err != nil {
		return store.Import{}, err
	}
	defer file.Close()
	if totals, err := i.check(ctx, file); err != nil {
		return totals, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return store.Import{}, assay.Errorf(assay.CodeInternal, "read the copy of %s again: %w", o.File, err)
	}
	return i.write(ctx, file)
}

// importing is one import under way.
type importing struct {
	store   store.Store
	project assay.Project
	zone    *time.Location
	options assay.ImportOptions
	now     func() time.Time
}

func (i *importing) open(r io.Reader) (*source, error) {
	s := &source{in: r}
	var err error
	s.Reader, s.format, err = session.Open(s, session.Options{Format: i.options.Format, Spool: i.options.Spool})
	if err != nil && assay.CodeOf(err) != assay.CodeInvalid {
		return nil, assay.Errorf(assay.CodeInternal, "read %s: %w", i.options.File, err)
	}
	return s, err
}

// write reads r and stores what it holds.
func (i *importing) write(ctx context.Context, r io.Reader) (store.Import, error) {
	in, err := i.open(r)
	if err != nil {
		return store.Import{}, err
	}
	defer in.Close()
	w, err := i.writer(ctx, in)
	if err != nil {
		return store.Import{}, err
	}
	err = pipe(ctx, in, i.prepare, w.take)
	if err == nil {
		err = w.flush()
	}
	return w.finish(err)
}

// check reads r and stores nothing, unless there are rejects: then those, as a failed import.
func (i *importing) check(ctx context.Context, r io.Reader) (store.Import, error) {
	in, err := i.open(r)
	if err != nil {
		return store.Import{}, err
	}
	defer in.Close()
	var rejects []store.Reject
	var rejected int64
	err = pipe(ctx, in, i.prepare, func(p prepared) error {
		if p.reject != nil {
			rejected++
			if len(rejects) < store.MaxRejects {
				rejects = append(rejects, *p.reject)
			}
		}
		return nil
	})
	if err != nil {
		return store.Import{}, assay.Errorf(assay.CodeOf(err), "check %s: %w", i.options.File, err)
	}
	if rejected == 0 {
		return store.Import{}, nil
	}
	w, err := i.writer(ctx, in)
	if err != nil {
		return store.Import{}, err
	}
	w.rejects, w.totals.Rejected = rejects, rejected
	return w.finish(assay.Errorf(assay.CodeRejected, "%d of the pieces of %s cannot be read (the first: line %d: %s), so nothing was stored",
		rejected, i.options.File, rejects[0].Line, rejects[0].Reason).
		WithHint("mend them, or import without --strict to keep the good ones"))
}

// source is an open file; it counts the bytes that were read of it.
type source struct {
	session.Reader
	in     io.Reader
	n      atomic.Int64
	format string
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.in.Read(b)
	s.n.Add(int64(n))
	return n, err
}

// spool copies r into a temporary file that has no name any more: it goes with the process.
func spool(r io.Reader, dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "assay-import-*")
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "make a temporary file for a strict import: %w", err)
	}
	_ = os.Remove(f.Name())
	if _, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, assay.Errorf(assay.CodeInternal, "copy the file for a strict import: %w", err).
			WithHint("a strict import needs room for the file in the temporary folder")
	}
	return f, nil
}
