package check

import (
	"context"
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/store"
)

// mostShown is how many disagreements a check has.
const mostShown = 20

// Disagreements pages through all of them, in dispatch order.
func Disagreements(ctx context.Context, s store.Store, p assay.Project, judge string, o Options, page store.Page) (list []Disagreement, next string, err error) {
	after := int32(-1)
	if _, err := page.After(&after); err != nil {
		return nil, "", err
	}
	c, err := load(ctx, s, p, judge, o)
	if err != nil {
		return nil, "", err
	}
	var differ []truth
	for _, t := range c.differ() {
		if t.row > after {
			differ = append(differ, t)
		}
	}
	rows := page.Rows()
	differ, next = store.CutPage(differ[:min(len(differ), rows+1)], rows, func(t truth) any { return t.row })
	list, err = c.show(ctx, s, differ)
	return list, next, err
}

// differ are the labelled rows on which the judge and people disagree, whatever the labels may be used for.
func (c *checker) differ() (out []truth) {
	for _, t := range c.truths {
		if c.said(t.row) != t.value {
			out = append(out, t)
		}
	}
	return out
}

func (c *checker) disagreements(ctx context.Context, s store.Store, most int) error {
	differ := c.differ()
	c.out.Disputed = int64(len(differ))
	list, err := c.show(ctx, s, differ[:min(len(differ), most)])
	c.out.Disagree = append(c.out.Disagree, list...)
	return err
}

// show looks up what is told of some.
func (c *checker) show(ctx context.Context, s store.Store, list []truth) ([]Disagreement, error) {
	contents, items := make([]assay.ContentKey, len(list)), make([]assay.Origin, len(list))
	for i, t := range list {
		r := &c.e.Rows[t.row]
		contents[i], items[i] = r.Content, assay.Origin{Run: r.Run, Seq: r.Seq}
	}
	names, err := s.Extracts().Names(ctx, contents)
	if err != nil {
		return nil, err
	}
	said, err := s.Extracts().Said(ctx, items)
	if err != nil {
		return nil, err
	}
	out := make([]Disagreement, len(list))
	for i, t := range list {
		n, h := names[contents[i]], c.stratumOf(t.row)
		out[i] = Disagreement{
			Session: assay.SessionName(n.UserID, n.SessionID), Stratum: h.Day + "/" + h.Arm, Judge: text(c.said(t.row)), Label: text(t.value), Raters: t.raters,
			Reason: reasonOf(said[items[i]], c.column().Criterion.Name, c.said(t.row)), Use: string(t.use), Run: items[i].Run, Seq: items[i].Seq, URL: report.ItemURL(items[i].Run, items[i].Seq),
		}
	}
	return out, nil
}

// text is a JSON value for people.
func text(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) == nil {
		return s
	}
	return raw
}

// reasonOf is the judge's reason; of pass that of the first question that was answered so, else the first there is.
func reasonOf(findings []store.ExtractFinding, criterion, value string) string {
	first := ""
	for _, f := range findings {
		switch {
		case f.Criterion == criterion:
			return f.Reason
		case criterion == assay.CriterionPass && f.Value == value && f.Reason != "":
			return f.Reason
		case first == "":
			first = f.Reason
		}
	}
	if criterion == assay.CriterionPass {
		return first
	}
	return ""
}
