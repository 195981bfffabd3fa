package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type labelImportCmd struct {
	Files     []string `arg:"" name:"file" help:"CSV with a header, or JSON lines; - is standard input."`
	Criterion string   `placeholder:"NAME" help:"The question of rows that name none. Default: the draw's, else pass."`
	Judge     string   `placeholder:"NAME" help:"The judge whose questions they are: answers are held to their types and kept with their wording."`
	Draw      int64    `placeholder:"N" help:"The draw that chose the sessions of rows that name none."`
	Rater     string   `placeholder:"NAME" help:"Who answered in rows that name nobody. Default: you."`
	Use       string   `placeholder:"USE" enum:"measure,queue,prompt," default:"" help:"What rows that do not say may be used for: measure (default), queue or prompt."`
	Blind     bool     `help:"The raters did not see what a judge said."`
}

func (labelImportCmd) Help() string {
	return `Columns, of which all but session and value may be left out: ` + strings.Join(labelColumns, ", ") + `. A row without a value is passed over: nobody has answered yet. probability is the chance with which the session was chosen to be labelled, 1 where all were; a draw knows it, and without either the label enters no estimate.

Good rows are stored, each bad one is reported as file:line: reason. Reading a file twice adds nothing. Exit status 6 when anything was rejected.

Example:

    assay label import labels.csv --judge resolved
    assay label draw --run r3 --csv to-label.csv && assay label import to-label.csv`
}

// labelBatch is how many labels are sent at once.
const labelBatch = 1000

// labelReject is a row that was not taken.
type labelReject struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// labelImport says what became of a file.
type labelImport struct {
	File      string        `json:"file"`
	New       int64         `json:"new"`
	Replaced  int64         `json:"replaced"`
	Unchanged int64         `json:"unchanged"`
	Empty     int64         `json:"empty"`
	Rejected  int64         `json:"rejected"`
	Rejects   []labelReject `json:"rejects,omitempty"`
}

func (c *labelImportCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	var rejected int64
	for _, name := range c.Files {
		sum, err := c.file(a, d, name)
		if err != nil {
			return assay.About(name, err)
		}
		rejected += sum.Rejected
	}
	if rejected > 0 {
		return assay.Errorf(assay.CodeRejected, "%s rejected", count(rejected, "row")).WithHint("mend them and import the file again: what is stored already is left")
	}
	return nil
}

func (c *labelImportCmd) file(a *app, d *door, name string) (labelImport, error) {
	from, shown, err := openLabels(a, name)
	if err != nil {
		return labelImport{}, err
	}
	defer from.Close()
	s := &labelSender{cmd: c, app: a, door: d, sum: labelImport{File: shown}, undrawn: map[string]bool{}}
	unknown, err := readLabels(from, s.add)
	if err == nil {
		err = s.send()
	}
	if err != nil {
		return s.sum, err
	}
	if len(unknown) > 0 {
		a.say("%s: not known and passed over: %s", shown, strings.Join(unknown, ", "))
	}
	return s.sum, s.print()
}

func openLabels(a *app, name string) (io.ReadCloser, string, error) {
	if name == "-" {
		return io.NopCloser(a.in), "stdin", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, "", assay.Errorf(assay.CodeNotFound, "open %s: %w", name, plain(err)).WithHint("name a file of labels, or - for standard input")
	}
	return f, name, nil
}

// labelSender sends rows in batches.
type labelSender struct {
	cmd     *labelImportCmd
	app     *app
	door    *door
	batch   []api.NewLabel
	lines   []int
	sum     labelImport
	undrawn map[string]bool // sessions of new labels that no draw is named for
}

func (s *labelSender) add(row labelRow) error {
	switch {
	case row.fault != nil:
		s.reject(row.line, row.fault.Error())
		return nil
	case row.empty:
		s.sum.Empty++
		return nil
	}
	l := row.label
	if l.Criterion == "" {
		l.Criterion = s.cmd.Criterion
	}
	if l.Draw == 0 {
		l.Draw = s.cmd.Draw
	}
	if l.Use == "" {
		l.Use = assay.LabelUse(s.cmd.Use)
	}
	if l.Use != "" && !l.Use.Valid() {
		s.reject(row.line, fmt.Sprintf("use %q is none of measure, queue and prompt", l.Use))
		return nil
	}
	if strings.TrimSpace(l.Rater) == "" {
		l.Rater = rater(s.cmd.Rater)
	}
	l.Blind = l.Blind || s.cmd.Blind
	s.batch, s.lines = append(s.batch, l), append(s.lines, row.line)
	if len(s.batch) == labelBatch {
		return s.send()
	}
	return nil
}

func (s *labelSender) reject(line int, reason string) {
	s.sum.Rejected++
	s.sum.Rejects = append(s.sum.Rejects, labelReject{line, reason})
}

func (s *labelSender) send() error {
	if len(s.batch) == 0 {
		return nil
	}
	out, err := s.door.PutLabels(s.app.ctx, s.app.Project, api.NewLabels{Judge: s.cmd.Judge, Labels: s.batch})
	if err != nil {
		return err
	}
	for i, r := range out.Results {
		switch {
		case r.Result == api.LabelRefused:
			s.reject(s.lines[i], r.Reason)
		case r.Result == api.LabelNew && unmeasured(s.batch[i]):
			user, id, _ := assay.ParseSessionName(s.batch[i].Session) // it was not refused
			s.undrawn[assay.SessionName(user, id)] = true
		}
	}
	s.sum.New, s.sum.Replaced, s.sum.Unchanged = s.sum.New+out.New, s.sum.Replaced+out.Replaced, s.sum.Unchanged+out.Unchanged
	s.batch, s.lines = s.batch[:0], s.lines[:0]
	return nil
}

// unmeasured says whether a new label could measure a judge but for the chance with which its session was chosen. One
// that replaces another keeps that one's.
func unmeasured(l api.NewLabel) bool {
	return l.Draw == 0 && l.Probability == nil && (l.Use == "" || l.Use == assay.UseMeasure)
}

func (s *labelSender) print() error {
	a, sum := s.app, s.sum
	if a.JSON {
		if err := a.printLine(sum); err != nil {
			return err
		}
		return s.sayDraws()
	}
	a.print("%s: %s new, %s replaced, %s unchanged, %s rejected", sum.File, humanize.Comma(sum.New), humanize.Comma(sum.Replaced), humanize.Comma(sum.Unchanged), humanize.Comma(sum.Rejected))
	if sum.Empty > 0 {
		a.print(", %s without a value", humanize.Comma(sum.Empty))
	}
	a.print("\n")
	for _, r := range sum.Rejects {
		a.say("%s:%d: %s", sum.File, r.Line, r.Reason)
	}
	return s.sayDraws()
}

// lookedDraws is how many draws are looked at for sessions that they chose.
const lookedDraws = 20

// sayDraws says which draw chose the sessions of labels that were read without one.
func (s *labelSender) sayDraws() error {
	if len(s.undrawn) == 0 {
		return nil
	}
	a := s.app
	a.say("%s: the chance with which %s chosen is not known, so no estimate takes those labels; the column probability tells it, 1 where every session is labelled",
		s.sum.File, wereChosen(len(s.undrawn)))
	draws, err := s.door.Draws(a.ctx, a.Project, store.Page{Limit: lookedDraws})
	if err != nil {
		return err
	}
	for _, d := range draws.Items {
		if d.Method == assay.DrawQueue {
			continue // it knows no chance
		}
		n := 0
		if err := a.eachMember(s.door, d.ID, false, "", 0, func(m assay.DrawMember) error {
			if s.undrawn[assay.SessionName(m.UserID, m.SessionID)] {
				n++
			}
			return nil
		}); err != nil {
			return err
		}
		if n > 0 {
			a.say("draw %d chose %s of them: with --draw %d the labels have its probabilities", d.ID, humanize.Comma(int64(n)), d.ID)
		}
	}
	return nil
}

func wereChosen(n int) string {
	if n == 1 {
		return "1 session was"
	}
	return count(int64(n), "session") + " were"
}

type labelExportCmd struct {
	labelFlags
	Use string `placeholder:"USE" enum:"measure,queue,prompt," default:"" help:"Only labels of this use: measure, queue or prompt."`
}

func (labelExportCmd) Help() string {
	return `CSV with the columns that import reads; with --json one label a line. Draws are known by number in this project: leave the column draw out of a file for another one, and its column probability is taken.

Example:

    assay label export --criterion pass > labels.csv`
}

func (c *labelExportCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	q := c.query()
	q.Use = assay.LabelUse(c.Use)
	w := csv.NewWriter(a.out)
	if !a.JSON {
		if err := w.Write(labelColumns); err != nil {
			return err
		}
	}
	show := terminal(a.out)
	if _, err := a.eachLabel(d, q, 0, func(l assay.Label) error {
		if a.JSON {
			return a.printLine(newLabel(l))
		}
		return w.Write(safeCells(show, cellsOf(newLabel(l))))
	}); err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

// safeCells takes control characters out of cells that go to a terminal; a file keeps them.
func safeCells(terminal bool, cells []string) []string {
	if terminal {
		for i := range cells {
			cells[i] = clean(cells[i])
		}
	}
	return cells
}
