package main

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type labelDrawCmd struct {
	RunID     string `name:"run" required:"" placeholder:"RUN" help:"Run whose graded sessions are drawn from, e.g. r3; last is the project's newest."`
	Judge     string `placeholder:"NAME" help:"One of the run's judges, where it has several."`
	Criterion string `placeholder:"NAME" help:"What shall be answered. Default: pass."`
	N         int    `short:"n" name:"n" default:"100" help:"How many sessions."`
	Method    string `enum:"random,verdicts,disagreements" default:"random" help:"random: the same number of each day and arm. verdicts: half of them among what passed, half among what failed. disagreements: where judges, or a judge and a label, disagree; no estimate takes their labels."`
	Against   string `placeholder:"RUN" help:"Of disagreements: another run of the same sessions. Default: the labels."`
	Seed      string `placeholder:"TEXT" help:"Another seed chooses other sessions."`
	CSV       string `name:"csv" placeholder:"FILE" help:"Write a file to fill in, for label import; - is standard output."`
}

func (labelDrawCmd) Help() string {
	return `A draw is kept with the chance of each session, which is what an honest estimate from its labels needs. Label from the top: any beginning of a draw is a draw of fewer. The file to fill in does not say what the judge said.

Example:

    assay label draw --run r3 -n 100 --csv to-label.csv
    assay label draw --run last --method disagreements -n 20`
}

func (c *labelDrawCmd) Run(a *app) error {
	d, run, err := runArg{c.RunID}.open(a, a.look)
	if err != nil {
		return err
	}
	n := api.NewDraw{Run: run, Judge: c.Judge, Criterion: c.Criterion, Method: assay.DrawMethod(c.Method), N: c.N, Seed: c.Seed, By: who()}
	if c.Against != "" {
		if _, n.Against, err = (runArg{c.Against}).open(a, func() (*door, error) { return d, nil }); err != nil {
			return err
		}
	}
	if c.N < 1 {
		return misuse("-n %d draws nothing", c.N).WithHint("draw one session or more")
	}
	if err := free(c.CSV); err != nil {
		return err
	}
	draw, err := d.CreateDraw(a.ctx, a.Project, n)
	if err != nil {
		return err
	}
	return a.printDraw(d, draw, false, "", c.CSV)
}

// free refuses a file that is there: it may hold labels.
func free(file string) error {
	if file == "" || file == "-" {
		return nil
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return assay.Errorf(assay.CodeConflict, "%s is there already", file).WithHint("it may hold labels: import it, or name another file")
	}
	return nil
}

type labelDrawsCmd struct {
	Draw  int64  `arg:"" optional:"" help:"Number of a draw: shows what it chose."`
	Open  bool   `help:"Of a draw: only sessions without a label of its criterion."`
	Rater string `placeholder:"NAME" help:"With --open: without one by this rater."`
	CSV   string `name:"csv" placeholder:"FILE" help:"Of a draw: write a file to fill in, for label import; - is standard output."`
	Limit int    `default:"50" help:"Draws at most; 0 is all."`
}

func (labelDrawsCmd) Help() string {
	return "Newest first.\n\nExample:\n\n    assay label draws\n    assay label draws 2 --open --rater ann --csv left.csv"
}

func (c *labelDrawsCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	if c.Draw != 0 {
		if err := free(c.CSV); err != nil {
			return err
		}
		draw, err := d.Draw(a.ctx, a.Project, c.Draw)
		if err != nil {
			return err
		}
		return a.printDraw(d, draw, c.Open, c.Rater, c.CSV)
	}
	t := newTable(a.out, "DRAW", "RUN", "JUDGE", "CRITERION", "METHOD", "SESSIONS", "LABELLED", "OF", "MADE", "BY")
	more, err := each(a.ctx, c.Limit,
		func(ctx context.Context, p store.Page) (api.Page[assay.Draw], error) {
			return d.Draws(ctx, a.Project, p)
		},
		func(w assay.Draw) error {
			if a.JSON {
				return a.printLine(w)
			}
			t.row(strconv.FormatInt(w.ID, 10), w.Run.String(), w.Judge, w.Criterion, string(w.Method), humanize.Comma(w.Members), humanize.Comma(w.Labelled),
				humanize.Comma(w.Frame), moment(&w.CreatedAt, time.UTC), w.By)
			return nil
		})
	if err != nil || a.JSON {
		return err
	}
	return a.endTable(t, more)
}

// drawn is a draw with its members, as JSON.
type drawn struct {
	assay.Draw
	Sessions []assay.DrawMember `json:"sessions"`
}

// printDraw prints a draw, or writes it to a file to be filled in.
func (a *app) printDraw(d *door, w assay.Draw, open bool, rater, file string) error {
	all := drawn{Draw: w, Sessions: []assay.DrawMember{}}
	if err := a.eachMember(d, w.ID, open, rater, 0, func(m assay.DrawMember) error {
		all.Sessions = append(all.Sessions, m)
		return nil
	}); err != nil {
		return err
	}
	if file == "-" {
		return toFill(a.out, terminal(a.out), all)
	}
	if file != "" {
		if err := writeNew(file, all); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.printJSON(all)
	}
	a.print("draw %d: %s of the %s graded in %s, to be labelled with the criterion %s of judge %s (%s)\n",
		w.ID, count(w.Members, "session"), humanize.Comma(w.Frame), w.Run.String(), w.Criterion, w.Judge, string(w.Method))
	if file != "" {
		a.print("fill in the column value of %s, then `assay label import %s`\n", file, file)
		return nil
	}
	t := newTable(a.out, "NO", "SESSION", "DAY", "ARM", "P", "LABELS", "")
	for _, m := range all.Sessions {
		changed := ""
		if !m.Current {
			changed = "changed since: the older content was drawn"
		}
		t.row(strconv.Itoa(m.No), assay.SessionName(m.UserID, m.SessionID), m.Stratum.Day, m.Stratum.Arm, chance(m.Probability), strconv.FormatInt(m.Labels, 10), changed)
	}
	if err := t.end(); err != nil {
		return err
	}
	a.print("`assay label add USER/ID --draw %d --value VALUE --blind` labels one\n", w.ID)
	return nil
}

// eachMember calls f for what a draw chose.
func (a *app) eachMember(d *door, draw int64, open bool, rater string, limit int, f func(assay.DrawMember) error) error {
	_, err := each(a.ctx, limit, func(ctx context.Context, p store.Page) (api.Page[assay.DrawMember], error) {
		return d.DrawMembers(ctx, a.Project, draw, open, rater, p)
	}, f)
	return err
}

// toFill writes a draw as a file of labels whose values are left to be filled in.
func toFill(out io.Writer, terminal bool, w drawn) error {
	rows := csv.NewWriter(out)
	err := rows.Write([]string{"session", "content_hash", "criterion", "value", "rater", "blind", "draw", "note"})
	for _, m := range w.Sessions {
		err = errors.Join(err, rows.Write(safeCells(terminal, []string{assay.SessionName(m.UserID, m.SessionID), string(m.ContentHash), w.Criterion, "", "", "", strconv.FormatInt(w.ID, 10), ""})))
	}
	rows.Flush()
	return errors.Join(err, rows.Error())
}

func writeNew(file string, w drawn) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = toFill(f, false, w)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "write %s: %w", file, plain(err)).WithHint("`assay label draws %d --csv FILE` writes it to another file", w.ID)
	}
	return nil
}
