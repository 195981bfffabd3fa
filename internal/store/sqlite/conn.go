package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// conn is one connection of the driver with its prepared statements. It is used by one goroutine at
// a time.
type conn struct {
	raw   driver.Conn
	stmts map[string]statement
	args  []driver.NamedValue
}

type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func connect(ctx context.Context, c driver.Connector) (*conn, error) {
	raw, err := c.Connect(ctx)
	if err != nil {
		return nil, translate(err)
	}
	return &conn{raw: raw, stmts: map[string]statement{}}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// prepare returns the statement for query, which is prepared once. The texts of queries are few:
// they never hold values.
func (c *conn) prepare(query string) (statement, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	raw, err := c.raw.Prepare(query)
	if err != nil {
		return nil, translate(err)
	}
	s := raw.(statement)
	c.stmts[query] = s
	return s, nil
}

// bind turns args into what the driver takes. The slice is the connection's and is used again.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: toValue(a)})
	}
	return c.args
}

// exec runs a statement and returns how many rows it changed. It is not interrupted: writes are
// short.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, translate(err)
	}
	n, err := res.RowsAffected()
	return n, translate(err)
}

// insert is exec that returns the new row's number.
func (c *conn) insert(query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, translate(err)
	}
	id, err := res.LastInsertId()
	return id, translate(err)
}

// checkEvery is after how many rows a query looks whether its context has ended.
const checkEvery = 1024

// query calls each for every row. The row is valid during the call only; its texts stay valid.
func (c *conn) query(ctx context.Context, each func(row) error, query string, args ...any) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, c.bind(args))
	if err != nil {
		return translate(err)
	}
	defer func() {
		if e := rows.Close(); e != nil && err == nil {
			err = translate(e)
		}
	}()
	dest := make(row, len(rows.Columns()))
	for n := 1; ; n++ {
		switch err := rows.Next(dest); {
		case err == io.EOF:
			return nil
		case err != nil:
			return translate(err)
		}
		if err := each(dest); err != nil {
			return err
		}
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// first calls each for the first row and says whether there was one.
func (c *conn) first(ctx context.Context, each func(row) error, query string, args ...any) (bool, error) {
	found := false
	err := c.query(ctx, func(r row) error {
		found = true
		if err := each(r); err != nil {
			return err
		}
		return errStop
	}, query, args...)
	if err == errStop {
		err = nil
	}
	return found, err
}

// snapshot runs f on one state of the database, whatever is written meanwhile.
func (c *conn) snapshot(f func() error) (err error) {
	if _, err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if _, e := c.exec("ROLLBACK"); e != nil && err == nil { // nothing was written
			err = e
		}
	}()
	return f()
}

// errStop ends a query early without an error.
var errStop = errors.New("stop")
