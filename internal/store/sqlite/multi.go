package sqlite

import "strings"

// multi is an INSERT of many rows at a time: what a statement costs besides its rows is paid once
// for rowsAtOnce of them.
type multi struct {
	many, one string
	columns   int
}

const rowsAtOnce = 32

// newMulti makes a multi of head (INSERT … VALUES) and tail (ON CONFLICT …).
func newMulti(head string, columns int, tail string) multi {
	group := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return multi{
		many:    head + group + strings.Repeat(", "+group, rowsAtOnce-1) + tail,
		one:     head + group + tail,
		columns: columns,
	}
}

// rowWriter collects rows for one transaction.
type rowWriter struct {
	multi
	t       tx
	args    []any
	changed int64 // rows so far
}

func (m multi) on(t tx) *rowWriter {
	return &rowWriter{multi: m, t: t, args: make([]any, 0, m.columns*rowsAtOnce)}
}

// add takes a row and writes once enough are there.
func (w *rowWriter) add(values ...any) error {
	w.args = append(w.args, values...)
	if len(w.args) < w.columns*rowsAtOnce {
		return nil
	}
	err := w.exec(w.many, w.args)
	w.args = w.args[:0]
	return err
}

func (w *rowWriter) exec(query string, args []any) error {
	n, err := w.t.exec(query, args...)
	w.changed += n
	return err
}

// flush writes what is left.
func (w *rowWriter) flush() error {
	for rest := w.args; len(rest) > 0; rest = rest[w.columns:] {
		if err := w.exec(w.one, rest[:w.columns]); err != nil {
			return err
		}
	}
	w.args = w.args[:0]
	return nil
}
