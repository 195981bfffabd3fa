package sqlite

import "strings"

// multi is an INSERT of many rows at a time: what a statement costs besides its rows is paid once
// for rowsAtOnce of them.
type multi struct {
	many, one string
	columns   int
}

const rowsAtOnce = 32

// newMulti makes a multi of head (INSERT … VALUES), the values of a row and tail (ON CONFLICT …). Of the
// values ?1 is the same in all rows. To bind one costs most of what a column costs, and a text twice as
// much as a number: what a row holds anyway is written into its values, and texts that are mostly empty
// are ifnull(?, ”).
func newMulti(head, row, tail string) multi {
	row = "(" + row + ")"
	return multi{
		many:    head + row + strings.Repeat(", "+row, rowsAtOnce-1) + tail,
		one:     head + row + tail,
		columns: strings.Count(row, "?") - strings.Count(row, "?1"),
	}
}

// orNull is an argument of ifnull(?, ”).
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// rowWriter collects rows for one transaction.
type rowWriter struct {
	multi
	t       tx
	shared  int   // how many of args are the same for all rows
	args    []any // those first
	changed int64 // rows so far
}

// on begins to write; shared is ?1, where there is one.
func (m multi) on(t tx, shared ...any) *rowWriter {
	return &rowWriter{multi: m, t: t, shared: len(shared), args: append(make([]any, 0, len(shared)+m.columns*rowsAtOnce), shared...)}
}

// add takes a row and writes once enough are there.
func (w *rowWriter) add(values ...any) error {
	w.args = append(w.args, values...)
	if len(w.args) < w.shared+w.columns*rowsAtOnce {
		return nil
	}
	err := w.exec(w.many, w.args)
	w.args = w.args[:w.shared]
	return err
}

func (w *rowWriter) exec(query string, args []any) error {
	n, err := w.t.exec(query, args...)
	w.changed += n
	return err
}

// flush writes what is left.
func (w *rowWriter) flush() error {
	for size := w.shared + w.columns; len(w.args) >= size; w.args = w.args[:len(w.args)-w.columns] {
		if err := w.exec(w.one, w.args[:size]); err != nil {
			return err
		}
		copy(w.args[w.shared:], w.args[size:])
	}
	return nil
}
