package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
)

type runsItemCmd struct {
	runArg
	Seq  int64 `arg:"" name:"item" help:"Number of the item, as lists and errors name it."`
	Seen bool  `help:"With the transcript as the judge saw it."`
	Raw  bool  `help:"With the request as it was sent and the answer as it came, masked."`
}

func (runsItemCmd) Help() string {
	return `Every call with its class, tokens, cost and the provider's name for it. The request is made anew from the judge's version and shown only when the transcript in it is the one that was sent. Of a suite's run it shows the case: no call was made for it.

Example:

    assay runs item r3 17
    assay runs item r3 17 --raw`
}

func (c *runsItemCmd) Run(a *app) error {
	d, id, err := c.open(a, a.look)
	if err != nil {
		return err
	}
	run, err := d.Run(a.ctx, id)
	if err != nil {
		return err
	}
	if run.Suite != nil {
		return a.printCaseOf(d, id, c.Seq)
	}
	x, err := d.Exchange(a.ctx, id, c.Seq)
	if err != nil {
		return err
	}
	if a.JSON {
		if !c.Seen {
			x.Seen = nil
		}
		return a.printJSON(x)
	}
	return a.printExchange(x, exchangeParts{seen: c.Seen, raw: c.Raw})
}

// printCaseOf shows a case, of which a harness and no judge was asked.
func (a *app) printCaseOf(d *door, id assay.RunID, seq int64) error {
	x, err := d.Case(a.ctx, id, seq)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(x)
	}
	a.print("%s case %d: ", id.String(), seq)
	a.printCase(x)
	return nil
}

// exchangeParts are what is printed beside the calls themselves.
type exchangeParts struct{ seen, raw bool }

func (a *app) printExchange(x api.Exchange, parts exchangeParts) error {
	it := x.Item
	a.print("%s item %d  %s  %s %s  %s", it.Run.String(), it.Seq, assay.SessionName(it.UserID, it.SessionID), x.Judge, shortHash(x.Version), string(it.State))
	if it.Class != assay.ClassNone {
		a.print(": %s", string(it.Class))
	}
	if it.Cut {
		a.print("  (judged on a transcript with a part left out)")
	}
	a.print("\n")
	if it.Origin != nil && it.Origin.Run != it.Run {
		a.print("its verdict is reused: `assay runs item %s %d` shows the calls\n", it.Origin.Run.String(), it.Origin.Seq)
	}
	no := 0
	for _, t := range x.Attempts {
		if t.Class != assay.ClassPrompt {
			no++
		}
		a.printAttempt(t, no)
		if !parts.raw || t.Class == assay.ClassPrompt {
			continue
		}
		if err := a.printSent(t); err != nil {
			return err
		}
	}
	if !parts.seen {
		return nil
	}
	for _, t := range x.Attempts {
		if text, known := x.Seen[t.Seen]; known {
			a.print("\ntranscript %s as the judge saw it:\n", shortHash(t.Seen))
			a.printText(text, "  ")
			delete(x.Seen, t.Seen) // once, however many calls showed it
		}
	}
	return nil
}

func (a *app) printAttempt(t api.ExchangeAttempt, no int) {
	how := string(t.Status)
	switch {
	case t.Class == assay.ClassPrompt:
		a.printPromptOnly(t)
		return
	case t.Status == assay.AttemptDone && t.Class == assay.ClassNone:
		how = "answered"
	case t.Status == assay.AttemptDone:
		how = string(t.Class)
	case t.Status == assay.AttemptUnknown:
		how = "cut by a crash"
	}
	a.print("\ncall %d  %s  %s", no, moment(&t.OpenedAt, time.UTC), how)
	if t.CallAt != nil && t.EndedAt != nil {
		a.print("  in %s", t.EndedAt.Sub(*t.CallAt).Round(time.Millisecond).String())
	}
	if t.Late {
		a.print("  late")
	}
	a.print("\n")
	if t.Error != "" {
		a.print("  %s\n", t.Error)
	}
	a.print("  cost     %s\n", attemptCost(t.Attempt))
	if t.Usage.Known {
		a.print("  tokens   %s\n", tokensText(assay.Spend{Usage: t.Usage}))
	}
	for _, row := range [][2]string{{"model", served(t.Attempt)}, {"request", t.RequestID}, {"status", status(t.Attempt)}} {
		if row[1] != "" {
			a.print("  %-8s %s\n", row[0], row[1])
		}
	}
}

// printPromptOnly tells of an attempt that was opened for the prompt alone.
func (a *app) printPromptOnly(t api.ExchangeAttempt) {
	how := "prompt made, no call"
	if t.Status == assay.AttemptUnknown {
		how = "cut by a crash while the prompt was made, no call"
	}
	a.print("\n%s  %s\n", moment(&t.OpenedAt, time.UTC), how)
}

// attemptCost is unknown where it is not known, with the most that it can be.
func attemptCost(t assay.Attempt) string {
	charge, known := t.Charge()
	switch {
	case !t.MayHaveLeft():
		return "USD 0.0000: no call left"
	case t.Cost != nil:
		return "USD " + t.Cost.Short()
	case known:
		return "USD unknown, at most " + charge.Short()
	}
	return "USD unknown"
}

func served(t assay.Attempt) string {
	if t.Fingerprint != "" {
		return t.Model + " (" + t.Fingerprint + ")"
	}
	return t.Model
}

func status(t assay.Attempt) string {
	if t.HTTPStatus == 0 {
		return ""
	}
	text := fmt.Sprintf("HTTP %d", t.HTTPStatus)
	if t.RetryAfter > 0 {
		text += ", asked to wait " + t.RetryAfter.String()
	}
	return text
}

func (a *app) printSent(t api.ExchangeAttempt) error {
	if t.NotRebuilt != "" {
		a.print("  the request is not shown: %s\n", t.NotRebuilt)
	} else if err := a.printRequest(t.Request); err != nil {
		return err
	}
	if t.Raw != "" {
		a.print("\n--- answer, %s\n", humanize.Bytes(uint64(len(t.Raw))))
		a.printText(strings.TrimSpace(t.Raw), "  ")
	}
	return nil
}
