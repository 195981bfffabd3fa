package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"assay/internal/assay"
)

// SQLSTATEs that are handled by name.
const (
	uniqueViolation      = "23505"
	notNullViolation     = "23502"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014" // statement_timeout
	idleInTransaction    = "25P03"
	indexRowTooLong      = "54000"
	insufficientRights   = "42501"
)

// translate turns an error of pgx into one of ours: the only place that knows SQLSTATEs' meaning to
// callers. The end of the caller's context stays what it is; a time limit of our own is a server that
// does not answer.
func translate(ctx context.Context, err error) error {
	var theirs callerError
	if errors.As(err, &theirs) {
		return theirs.error
	}
	var ours *assay.Error
	if err == nil || errors.As(err, &ours) {
		return err
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if disconnected(err) {
			return because(err, assay.CodeUnavailable, "PostgreSQL does not answer: "+plain(err),
				"look whether the server runs and can be reached, then try again")
		}
		return because(err, assay.CodeInternal, "use PostgreSQL: "+plain(err), faultHint)
	}
	switch class := pg.Code[:min(2, len(pg.Code))]; {
	case pg.Code == lockNotAvailable, pg.Code == queryCanceled, pg.Code == serializationFailure, pg.Code == deadlockDetected:
		return because(err, assay.CodeUnavailable, "the database is busy: "+pg.Message, "try again; if it stays so, look for long transactions in pg_stat_activity")
	case pg.Code == indexRowTooLong:
		return because(err, assay.CodeInvalid, "a name or an id is too long to be indexed: "+pg.Message, "keep ids, arms and names under 800 bytes")
	case pg.Code == insufficientRights:
		return because(err, assay.CodeUnavailable, "PostgreSQL refuses this user: "+pg.Message, "grant the user of the database URL all rights on its schema")
	case class == "28", class == "3D":
		return because(err, assay.CodeUnavailable, "PostgreSQL refuses the connection: "+pg.Message, "look at user, password and database in the database URL")
	case class == "53":
		return because(err, assay.CodeUnavailable, "PostgreSQL is out of room: "+pg.Message, "look at its disk, memory and max_connections")
	case disconnected(err):
		return because(err, assay.CodeUnavailable, "PostgreSQL ended the connection: "+pg.Message, "look whether the server runs, then try again")
	}
	return because(err, assay.CodeInternal, "use PostgreSQL: "+pg.Message, faultHint)
}

const faultHint = "this is a fault of the program or of the database; run `assay doctor` and report it"

func because(cause error, code assay.Code, message, hint string) error {
	return &assay.Error{Code: code, Message: message, Hint: hint, Cause: cause}
}

func notFound(format string, args ...any) *assay.Error {
	return assay.Errorf(assay.CodeNotFound, format, args...)
}

// plain is the innermost text of an error of pgx, whose outer texts repeat the connection string.
func plain(err error) string {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		err = connect.Unwrap()
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// disconnected says whether err ended the connection, or prevented one.
func disconnected(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return fatal(pg)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// acquireError tells a closed store from an ended context.
func acquireError(err error) error {
	if errors.Is(err, puddle.ErrClosedPool) {
		return because(err, assay.CodeUnavailable, "the database is closed", "the process is shutting down")
	}
	return err
}

func fatal(pg *pgconn.PgError) bool {
	return pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC" || pg.Code == idleInTransaction
}

// violates says whether err is a broken uniqueness; constraint "" is any.
func violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == uniqueViolation && (constraint == "" || pg.ConstraintName == constraint)
}

func isNull(err error, column string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == notNullViolation && pg.ColumnName == column
}

// callerError is what a caller's function returned: it goes back as it came.
type callerError struct{ error }

func (e callerError) Unwrap() error { return e.error }

func callers(err error) error {
	if err == nil {
		return nil
	}
	return callerError{err}
}
