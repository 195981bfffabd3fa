package sqlite

import (
	"context"
	"errors"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"assay/internal/assay"
)

// translate turns an error of the driver into one of ours: the only place that knows SQLite's codes.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var ours *assay.Error
	if errors.As(err, &ours) {
		return err
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return assay.Errorf(assay.CodeInternal, "use the database: %w", err)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return because(err, assay.CodeUnavailable, "the database is busy: another process has been writing to it for seconds",
			"try again; if it stays so, look for a process that holds assay.db")
	case lib.SQLITE_FULL:
		return because(err, assay.CodeUnavailable, "the disk of the data folder is full: nothing was written", "make room and try again")
	case lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return because(err, assay.CodeUnavailable, "the database cannot be written to", "look at the permissions of the data folder")
	case lib.SQLITE_CANTOPEN:
		return because(err, assay.CodeUnavailable, "the database cannot be opened", "look at the path and the permissions of the data folder")
	case lib.SQLITE_IOERR:
		return because(err, assay.CodeUnavailable, "the disk failed under the database: "+e.Error(), "look at the disk, then run `assay doctor`")
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return because(err, assay.CodeInternal, "the database file is damaged: "+e.Error(), "stop, keep a copy of the data folder, and run `assay doctor`")
	}
	return assay.Errorf(assay.CodeInternal, "use the database: %w", err)
}

func because(cause error, code assay.Code, message, hint string) error {
	return &assay.Error{Code: code, Message: message, Hint: hint, Cause: cause}
}

// violates says whether err is a broken uniqueness.
func violates(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY)
}

func errClosed() error {
	return assay.Errorf(assay.CodeUnavailable, "the database is closed").WithHint("the process is shutting down")
}

func notFound(format string, args ...any) *assay.Error {
	return assay.Errorf(assay.CodeNotFound, format, args...)
}
