package main

import (
	"context"
	"strconv"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type labelCmd struct {
	Add    labelAddCmd    `cmd:"" help:"Say what a session is: a person's answer."`
	Draw   labelDrawCmd   `cmd:"" help:"Choose graded sessions to label, at random, and keep the chance of each."`
	Draws  labelDrawsCmd  `cmd:"" help:"List draws, or what one chose."`
	Import labelImportCmd `cmd:"" help:"Read labels from files."`
	Export labelExportCmd `cmd:"" help:"Write labels as a file that import reads."`
	List   labelListCmd   `cmd:"" default:"withargs" help:"List labels, oldest first."`
	Mark   labelMarkCmd   `cmd:"" help:"Say what labels may be used for."`
	Remove labelRemoveCmd `cmd:"" help:"Remove the labels of a rater, a draw or a session."`
}

// labelFlags select labels.
type labelFlags struct {
	Criterion string `placeholder:"NAME" help:"Only answers to this criterion."`
	Rater     string `placeholder:"NAME" help:"Only labels of this rater."`
	Draw      int64  `placeholder:"N" help:"Only labels of this draw."`
	Session   string `placeholder:"USER/ID" help:"Only labels of this session, on any of its contents."`
}

func (f labelFlags) query() api.LabelQuery {
	return api.LabelQuery{Criterion: f.Criterion, Rater: f.Rater, Draw: f.Draw, Session: f.Session}
}

type labelAddCmd struct {
	Session   string `arg:"" name:"user/id" help:"Session."`
	Value     string `required:"" placeholder:"VALUE" help:"The answer: pass or fail, true or false, a value of the scale, a number."`
	Criterion string `placeholder:"NAME" help:"Which question it answers. Default: the draw's, else pass."`
	Judge     string `placeholder:"NAME" help:"The judge whose question it is: the answer is held to its type and kept with its wording. A draw knows it."`
	Draw      int64  `placeholder:"N" help:"The draw that chose the session: the label has its probability."`
	Rater     string `placeholder:"NAME" help:"Who answers. Default: you."`
	Blind     bool   `help:"You did not see what a judge said."`
	Decided   bool   `help:"You decide between raters who disagree: the label stands before theirs."`
	Use       string `placeholder:"USE" enum:"measure,queue,prompt," default:"" help:"What it may be used for: measure (default), queue (chosen because of what a judge said) or prompt (the judge was written with it)."`
	Note      string `placeholder:"TEXT" help:"Why."`
	Content   string `placeholder:"HASH" help:"Content version that you looked at. Default: the present one."`
}

func (labelAddCmd) Help() string {
	return `A rater's new answer replaces the old one. A label enters estimates only when the chance is known with which its session was chosen: take sessions from a draw and name it.

Example:

    assay label add alice/42 --value fail --draw 2 --blind
    assay label add alice/42 --criterion tone --judge style --value kind --note "see turn 3"`
}

func (c *labelAddCmd) Run(a *app) error {
	user, id, err := assay.ParseSessionName(c.Session)
	if err != nil {
		return err
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	label := api.NewLabel{
		Session: assay.SessionName(user, id), ContentHash: assay.Hash(c.Content), Criterion: c.Criterion, Value: valueOf(c.Value), Rater: rater(c.Rater),
		Blind: c.Blind, Decided: c.Decided, Use: assay.LabelUse(c.Use), Draw: c.Draw, Note: c.Note,
	}
	if label.Value == nil {
		return misuse("--value is empty").WithHint("write pass, fail, or what the criterion takes")
	}
	out, err := d.PutLabels(a.ctx, a.Project, api.NewLabels{Judge: c.Judge, Labels: []api.NewLabel{label}})
	if err != nil {
		return err
	}
	r := out.Results[0]
	if r.Result == api.LabelRefused {
		return assay.Errorf(assay.CodeRejected, "label of %s: %s", c.Session, r.Reason).WithHint("`assay sessions show %s` shows the session, `assay label add --help` what a label may say", c.Session)
	}
	if a.JSON {
		return a.printJSON(r)
	}
	a.print("label of %s by %s: %s\n", label.Session, label.Rater, string(r.Result))
	if c.Draw != 0 {
		return a.printLabelled(d, c.Draw)
	}
	if r.Result == api.LabelNew && unmeasured(label) {
		a.say("no draw is named: with what chance the session was chosen is not known, so no estimate takes the label; `assay label draw` chooses sessions")
	}
	return nil
}

// printLabelled says how far the labelling of a draw is.
func (a *app) printLabelled(d *door, draw int64) error {
	of, err := d.Draw(a.ctx, a.Project, draw)
	if err != nil {
		return err
	}
	a.print("draw %d: %s of %s labelled\n", of.ID, humanize.Comma(of.Labelled), count(of.Members, "session"))
	return nil
}

// rater is who answers where nobody is named.
func rater(given string) string {
	if given != "" {
		return given
	}
	if name := who(); name != "" {
		return name
	}
	return "unknown"
}

type labelListCmd struct {
	labelFlags
	Use   string `placeholder:"USE" enum:"measure,queue,prompt," default:"" help:"Only labels of this use: measure, queue or prompt."`
	Limit int    `default:"50" help:"Rows at most; 0 is all."`
}

func (labelListCmd) Help() string {
	return "P is the chance with which the session was chosen to be labelled; a dash is not known.\n\nExample:\n\n    assay label list --rater ann --criterion pass"
}

func (c *labelListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	q := c.query()
	q.Use = assay.LabelUse(c.Use)
	t := newTable(a.out, "LABEL", "SESSION", "CRITERION", "VALUE", "RATER", "USE", "DRAW", "P", "MARKS", "NOTE")
	more, err := a.eachLabel(d, q, c.Limit, func(l assay.Label) error {
		if a.JSON {
			return a.printLine(l)
		}
		t.row(strconv.FormatInt(l.ID, 10), assay.SessionName(l.UserID, l.SessionID), l.Criterion, short(cellOf(l.Value), 40), l.Rater, string(l.Use),
			numberOrDash(l.Draw), chance(l.Probability), marksOf(l), short(l.Note, 60))
		return nil
	})
	if err != nil || a.JSON {
		return err
	}
	return a.endTable(t, more)
}

func (a *app) eachLabel(d *door, q api.LabelQuery, limit int, f func(assay.Label) error) (more bool, err error) {
	return each(a.ctx, limit, func(ctx context.Context, p store.Page) (api.Page[assay.Label], error) {
		return d.Labels(ctx, a.Project, q, p)
	}, f)
}

// marksOf is what else is to be known of a label.
func marksOf(l assay.Label) string {
	marks := ""
	for _, m := range []struct {
		is   bool
		text string
	}{{l.Blind, "blind"}, {l.Decided, "decided"}, {!l.Current, "older content"}} {
		if m.is && marks != "" {
			marks += ", "
		}
		if m.is {
			marks += m.text
		}
	}
	return marks
}

func numberOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// chance is a probability; 0 is not known.
func chance(p float64) string {
	if p == 0 {
		return "-"
	}
	return strconv.FormatFloat(p, 'g', 3, 64)
}

type labelMarkCmd struct {
	labelFlags
	Use string `required:"" placeholder:"USE" enum:"measure,queue,prompt" help:"What they may be used for from now on: measure, queue or prompt."`
}

func (labelMarkCmd) Help() string {
	return `Labels that were looked at while a judge was written enter no estimate of it: mark them prompt. Imports and new answers do not take the mark away.

Example:

    assay label mark --draw 1 --use prompt`
}

func (c *labelMarkCmd) Run(a *app) error {
	if c.labelFlags == (labelFlags{}) {
		return misuse("no labels are named").WithHint("choose them with --criterion, --rater, --draw or --session")
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	changed, err := d.MarkLabels(a.ctx, a.Project, api.LabelMark{Labels: c.query(), Use: assay.LabelUse(c.Use)})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(changed)
	}
	a.print("%s marked %s\n", count(changed.Labels, "label"), c.Use)
	return nil
}

type labelRemoveCmd struct {
	labelFlags
	Use string `placeholder:"USE" enum:"measure,queue,prompt," default:"" help:"Only labels of this use: measure, queue or prompt."`
}

func (labelRemoveCmd) Help() string {
	return "A rater, a draw or a session must be named. `assay label list` with the same flags shows what would go.\n\nExample:\n\n    assay label remove --rater ann --session alice/42"
}

func (c *labelRemoveCmd) Run(a *app) error {
	if c.Rater == "" && c.Draw == 0 && c.Session == "" {
		return misuse("labels are removed by rater, by draw or by session, and none is named").WithHint("name one with --rater, --draw or --session")
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	q := c.query()
	q.Use = assay.LabelUse(c.Use)
	changed, err := d.RemoveLabels(a.ctx, a.Project, q)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(changed)
	}
	a.print("%s removed\n", count(changed.Labels, "label"))
	return nil
}
