package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/alecthomas/kong"

	"assay/internal/assay"
)

// grammar is every flag and command. Kong reads it; help texts live beside the commands.
type grammar struct {
	globals

	Import   importCmd   `cmd:"" group:"sessions" help:"Read recorded sessions from files."`
	Imports  importsCmd  `cmd:"" group:"sessions" help:"List imports and what they rejected."`
	Sessions sessionsCmd `cmd:"" group:"sessions" help:"List sessions, show one."`
	Set      setCmd      `cmd:"" group:"sessions" help:"Save lists of sessions."`
	Judge    judgeCmd    `cmd:"" group:"judges" help:"Apply, list, show, try and check judges."`
	Label    labelCmd    `cmd:"" group:"judges" help:"Label sessions: what people say, to hold judges against."`
	Models   modelsCmd   `cmd:"" group:"judges" help:"List models, set their prices and limits."`
	Provider providerCmd `cmd:"" group:"judges" help:"List providers, check that one works."`

	Suite    suiteCmd    `cmd:"" group:"suites" help:"Apply, list, show and run suites: your own harnesses."`
	Logs     logsCmd     `cmd:"" group:"suites" help:"Print a harness's output, follow it, search it."`
	Schedule scheduleCmd `cmd:"" group:"suites" help:"Start suites and grade runs by the clock."`
	Wrap     wrapCmd     `cmd:"" group:"suites" help:"Run a command here and report it as a run, for instance in CI."`

	Plan     planCmd     `cmd:"" group:"runs" help:"Say what a grade run would do. Writes nothing."`
	Grade    gradeCmd    `cmd:"" group:"runs" help:"Sample sessions and grade them."`
	Watch    watchCmd    `cmd:"" group:"runs" help:"Follow a run to its end, and take it up if nobody drives it."`
	Runs     runsCmd     `cmd:"" group:"runs" help:"List runs, show one, its items, cases and errors, change its concurrency and budget."`
	Cancel   cancelCmd   `cmd:"" group:"runs" help:"Stop a run: no new call starts."`
	Pause    pauseCmd    `cmd:"" group:"runs" help:"Pause a run once its calls in flight have ended."`
	Resume   resumeCmd   `cmd:"" group:"runs" help:"Go on with a paused run and follow it."`
	Retry    retryCmd    `cmd:"" group:"runs" help:"Grade what a run left without a verdict, in a new run."`
	End      endCmd      `cmd:"" group:"runs" help:"Complete a run early with what it has."`
	Verdicts verdictsCmd `cmd:"" group:"runs" help:"Print verdicts of a run or of a session."`
	Report   reportCmd   `cmd:"" group:"runs" help:"Say what a run found, with intervals."`
	Compare  compareCmd  `cmd:"" group:"runs" help:"Say what changed between two runs."`
	Spend    spendCmd    `cmd:"" group:"runs" help:"Sum what calls used and cost, by run, judge, model or day."`

	Serve   serveCmd   `cmd:"" group:"house" help:"Serve the API and the page, and drive runs."`
	Demo    demoCmd    `cmd:"" group:"house" help:"See all of it work on synthetic sessions. No network, no key."`
	Project projectCmd `cmd:"" group:"house" help:"Make projects, show and change their settings."`
	Doctor  doctorCmd  `cmd:"" group:"house" help:"Check the database, the disk, the owner and the judges."`
	Version versionCmd `cmd:"" group:"house" help:"Print the version."`
}

// globals are the flags of every command.
type globals struct {
	Data     string `env:"ASSAY_DATA" placeholder:"DIR" group:"global" help:"Data folder. Default ./assay-data."`
	Database string `env:"ASSAY_DATABASE" placeholder:"URL" group:"global" help:"PostgreSQL URL, in place of a data folder."`
	Server   string `placeholder:"URL" group:"global" help:"Be a client of this server. Its token comes from $ASSAY_TOKEN."`
	Project  string `default:"default" placeholder:"NAME" group:"global" help:"Project. The project default is made at first use."`
	JSON     bool   `name:"json" group:"global" help:"Print JSON: an object, or one object a line for lists. Errors too."`
}

const about = `Assay grades recorded sessions of AI agents, grades them again when the judge changes, and never pays twice for the same answer. It also runs evaluation harnesses.

Start with "assay demo", or with your own sessions:

    assay import sessions.jsonl
    assay grade --judge resolved
    assay report last

Exit status: 0 done, 1 error, 2 usage, 3 gate failed, 4 inconclusive, 5 conflict, 6 input rejected; wrap passes its command's.`

// parse reads the command line. done means that help was printed and nothing is left to do.
func (a *app) parse(args []string, g *grammar) (ctx *kong.Context, done bool, err error) {
	parser, err := newParser(g, a.out, a.err, func(int) { done = true })
	if err != nil {
		return nil, false, assay.Errorf(assay.CodeInternal, "build the command line: %w", err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err = parser.Parse(args)
	if done {
		return nil, true, nil
	}
	if err != nil {
		g.JSON = g.JSON || wantsJSON(args) // it may stand behind what was not understood
		return nil, false, usageError(err)
	}
	return ctx, false, nil
}

// wantsJSON looks for --json in a command line that cannot be parsed.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

func newParser(g *grammar, out, err io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(g,
		kong.Name("assay"),
		kong.Description(about),
		kong.Writers(out, err),
		kong.Exit(exit),
		kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, WrapUpperBound: 100, FlagsLast: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "sessions", Title: "Sessions"}, {Key: "judges", Title: "Judges"},
			{Key: "suites", Title: "Suites"},
			{Key: "runs", Title: "Runs"}, {Key: "house", Title: "The house"},
			{Key: "frame", Title: "Which sessions:"}, {Key: "sample", Title: "How they are graded:"},
			{Key: "global", Title: "Flags of every command:"},
		}),
	)
}

// printHelp shows a command's own flags before those of every command.
func printHelp(o kong.HelpOptions, ctx *kong.Context) error {
	if own, root := ctx.Selected(), ctx.Model.Node; own != nil {
		var first []*kong.Flag // a slice of its own: the parser goes on with the old one
		for _, f := range root.Flags {
			if f.Group == nil {
				first = append(first, f)
			} else {
				own.Flags = append(own.Flags, f)
			}
		}
		root.Flags = first
	}
	return kong.DefaultHelpPrinter(o, ctx)
}

// errUsage marks an error of the command line itself: exit status 2.
var errUsage = errors.New("usage")

func usageError(err error) error {
	e := &assay.Error{Code: assay.CodeInvalid, Message: err.Error(), Cause: errUsage}
	if ours := new(assay.Error); errors.As(err, &ours) && ours.Hint != "" {
		e.Hint = ours.Hint
		return e
	}
	command := "assay"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		command = parse.Context.Selected().FullPath()
	}
	return e.WithHint("`%s --help` shows how it is used", command)
}

// misuse is a usage error that a command finds itself.
func misuse(format string, args ...any) *assay.Error {
	return &assay.Error{Code: assay.CodeInvalid, Message: fmt.Sprintf(format, args...), Cause: errUsage}
}
