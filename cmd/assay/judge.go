package main

import (
	"io"
	"slices"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge/builtin"
)

type judgeCmd struct {
	Apply judgeApplyCmd `cmd:"" help:"Store a judge's definition under its name."`
	List  judgeListCmd  `cmd:"" help:"List applied judges."`
	Show  judgeShowCmd  `cmd:"" help:"Show a judge: definition, version, history."`
	Try   judgeTryCmd   `cmd:"" help:"Ask a judge about one session and show the whole exchange."`
	Check judgeCheckCmd `cmd:"" help:"Hold a judge against people's labels: how far it can be trusted."`
	Set   judgeSetCmd   `cmd:"" help:"Write a built-in judge's labelled sessions."`
}

type judgeApplyCmd struct {
	Files []string `arg:"" name:"file" help:"YAML files; - is standard input."`
}

func (judgeApplyCmd) Help() string {
	return `A judge's version is a hash of everything that can change an answer: whitespace in a prompt counts, its name and description do not. Applying the same definition again changes nothing; verdicts of older versions stay.

Example:

    assay judge apply my-judge.yaml`
}

func (c *judgeApplyCmd) Run(a *app) error {
	sources := make([]api.JudgeSource, len(c.Files))
	for i, name := range c.Files {
		var err error
		if sources[i], err = readDefinition(a, name); err != nil {
			return err
		}
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	for i, name := range c.Files {
		v, err := d.ApplyJudgeIn(a.ctx, a.Project, sources[i])
		if err != nil {
			return assay.About(name, err)
		}
		if err := a.printApplied(v); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printApplied(v api.JudgeView) error {
	if a.JSON {
		return a.printLine(v)
	}
	what := "unchanged, version"
	if v.Changed != nil && *v.Changed {
		what = "now version"
	}
	a.print("judge %s is %s %s (%s, %s)\n", v.Name, what, shortHash(v.Version), string(v.Definition.Kind), criteriaText(v.Definition.Criteria))
	return nil
}

func criteriaText(criteria []assay.Criterion) string {
	names := make([]string, len(criteria))
	for i, c := range criteria {
		names[i] = c.Name
	}
	return "criteria " + strings.Join(names, ", ")
}

type judgeListCmd struct{}

func (judgeListCmd) Help() string {
	return "Built-in judges can be used by name without being applied; `assay judge show NAME` prints one.\n\nExample:\n\n    assay judge list"
}

func (c *judgeListCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	judges, err := d.Judges(a.ctx, a.Project)
	if err != nil {
		return err
	}
	t := newTable(a.out, "JUDGE", "VERSION", "APPLIED", "DESCRIPTION")
	for _, j := range withBuiltins(judges) {
		if a.JSON {
			if err := a.printLine(j); err != nil {
				return err
			}
			continue
		}
		applied := "built in"
		if !j.UpdatedAt.IsZero() {
			applied = moment(&j.UpdatedAt, time.UTC)
		}
		t.row(j.Name, orDash(shortHash(j.Version)), applied, short(j.Description, 80))
	}
	if a.JSON {
		return nil
	}
	return t.end()
}

// withBuiltins adds the built-in judges that no applied one stands before. Their version depends on
// the environment of the process that grades, so it is not told here.
func withBuiltins(judges []assay.Judge) []assay.Judge {
	for _, name := range builtin.Names() {
		if !slices.ContainsFunc(judges, func(j assay.Judge) bool { return j.Name == name }) {
			judges = append(judges, assay.Judge{Name: name, Description: describedAs(name)})
		}
	}
	return judges
}

// describedAs is the description in a built-in judge's own text.
func describedAs(name string) string {
	source, err := builtin.Source(name)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(source)) {
		if text, ok := strings.CutPrefix(line, "description: "); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

type judgeSetCmd struct {
	Name string `arg:"" help:"Name of a built-in judge."`
}

func (judgeSetCmd) Help() string {
	return `Writes the sessions with right answers that come with a built-in judge, as a file to import. The user of its sessions is the judge's name. They show whether a model understands the judge, not how good the judge is on your sessions.

Example:

    assay judge set resolved > set.jsonl
    assay import set.jsonl
    assay grade --judge resolved --labelled --filter 'user == "resolved"'`
}

func (c *judgeSetCmd) Run(a *app) error {
	set, err := builtin.Export(c.Name)
	if err != nil {
		return err
	}
	_, err = a.out.Write(set)
	return err
}

type judgeShowCmd struct {
	Name string `arg:"" help:"Name of the judge."`
}

func (judgeShowCmd) Help() string {
	return `Prints the definition as YAML with the version and its history as comments: a start for a judge of your own.

Example:

    assay judge show resolved > mine.yaml`
}

func (c *judgeShowCmd) Run(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	v, err := d.Judge(a.ctx, a.Project, c.Name)
	if assay.CodeOf(err) == assay.CodeNotFound {
		if source, notBuilt := builtin.Source(c.Name); notBuilt == nil {
			return a.printBuiltin(c.Name, string(source))
		}
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(v)
	}
	a.print("# version %s", string(v.Version))
	if v.Definition.Alias {
		a.print(" (the model has no date in its name: verdicts are reused for %s only)", assay.AliasReuse.String())
	}
	a.print("\n")
	for _, h := range v.History {
		a.print("# %s applied %s\n", shortHash(h.Version), moment(&h.AppliedAt, time.UTC))
	}
	_, err = io.WriteString(a.out, v.Source)
	return err
}

func (a *app) printBuiltin(name, source string) error {
	if a.JSON {
		return a.printJSON(map[string]string{"name": name, "source": source})
	}
	_, err := io.WriteString(a.out, source)
	return err
}

func readAll(r io.Reader) (string, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return "", assay.Errorf(assay.CodeInternal, "read standard input: %w", err)
	}
	return string(raw), nil
}
