package main

import (
	"path/filepath"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
)

// frameFlags say which sessions; plan, grade, sessions and set share them.
type frameFlags struct {
	From     string `placeholder:"TIME" group:"frame" help:"Sessions that began at or after: YYYY-MM-DD in the project's zone, or RFC 3339."`
	To       string `placeholder:"TIME" group:"frame" help:"Sessions that began before; a day is excluded whole."`
	Filter   string `placeholder:"CEL" group:"frame" help:"Sessions for which this holds, e.g. \"arm == 'treatment' && turns > 2\"."`
	Set      string `placeholder:"NAME" group:"frame" help:"Only members of this set."`
	Labelled bool   `group:"frame" help:"Only sessions that have a label."`
	Undated  bool   `group:"frame" help:"With a window: sessions without any time too."`
}

// sampleFlags say how many of them, by whom.
type sampleFlags struct {
	Judge      []string `short:"j" required:"" placeholder:"NAME" sep:"none" group:"sample" help:"Judge: a built-in name, an applied name, or a YAML file to apply first. May be repeated: all grade one sample."`
	PerStratum *int     `short:"n" placeholder:"N" group:"sample" help:"Sessions to grade per day and arm. Default: the project's, 200."`
	Seed       *string  `placeholder:"TEXT" group:"sample" help:"The same seed draws the same sessions; raising -n keeps them. Default: assay."`
	Repeat     int      `placeholder:"K" default:"1" group:"sample" help:"Grade each session K times, to see how often the judge contradicts itself; costs K times as much. More than 1 turns reuse off."`
	Since      string   `placeholder:"TIME" group:"frame" help:"Only sessions that were not eligible yet at that moment: those that settled, arrived or changed after it. Give the \"as of\" of an earlier run to grade what it could not."`
	Force      bool     `group:"sample" help:"Grade again what has a verdict of this judge version already."`
}

// window reads --from and --to. A day is one in the project's zone, asked for only when needed.
func (f frameFlags) window(a *app, d *door) (from, to *time.Time, err error) {
	if from, err = readTime(a, d, "--from", f.From); err != nil {
		return nil, nil, err
	}
	if to, err = readTime(a, d, "--to", f.To); err != nil {
		return nil, nil, err
	}
	if from != nil && to != nil && !from.Before(*to) {
		return nil, nil, misuse("the window is empty: --from %s is not before --to %s", f.From, f.To).
			WithHint("--to is exclusive: one whole day is --from 2026-03-01 --to 2026-03-02")
	}
	return from, to, nil
}

func readTime(a *app, d *door, flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return &t, nil
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return nil, misuse("%s %q is not a time", flag, text).WithHint("write a day as 2026-03-01 or a moment as 2026-03-01T09:00:00Z")
	}
	zone, err := a.zone(d)
	if err != nil {
		return nil, err
	}
	t, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		return nil, misuse("%s %q: %s", flag, text, err)
	}
	return &t, nil
}

// zone is the project's.
func (a *app) zone(d *door) (*time.Location, error) {
	p, err := d.Project(a.ctx, a.Project)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(p.Settings.Zone)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "zone %s of project %s: %w", p.Settings.Zone, p.Name, err)
	}
	return zone, nil
}

// request turns flags into what the API takes.
func (a *app) request(d *door, f frameFlags, s sampleFlags) (engine.GradeRequest, error) {
	from, to, err := f.window(a, d)
	if err != nil {
		return engine.GradeRequest{}, err
	}
	since, err := readTime(a, d, "--since", s.Since)
	if err != nil {
		return engine.GradeRequest{}, err
	}
	if s.Repeat < 1 {
		return engine.GradeRequest{}, misuse("--repeat %d is less than 1", s.Repeat)
	}
	return engine.GradeRequest{
		Judges: s.Judge, From: from, To: to, Filter: f.Filter, Set: f.Set, Labelled: f.Labelled, Undated: f.Undated, Since: since,
		PerStratum: s.PerStratum, Seed: s.Seed, Repeats: s.Repeat, Force: s.Force, By: who(),
	}, nil
}

// isFile says whether a --judge means a file to apply.
func isFile(judge string) bool {
	ext := filepath.Ext(judge)
	return ext == ".yaml" || ext == ".yml"
}

// applyFiles applies the judges that are named by file and returns all by name.
func (a *app) applyFiles(d *door, judges []string) ([]string, error) {
	names := make([]string, 0, len(judges))
	for _, j := range judges {
		if !isFile(j) {
			names = append(names, j)
			continue
		}
		source, err := readDefinition(a, j)
		if err != nil {
			return nil, err
		}
		view, err := d.ApplyJudgeIn(a.ctx, a.Project, source)
		if err != nil {
			return nil, assay.About(j, err)
		}
		if view.Changed != nil && *view.Changed {
			a.say("applied %s: judge %s is now version %s", j, view.Name, shortHash(view.Version))
		}
		names = append(names, view.Name)
	}
	return names, nil
}

// shortHash is enough of a hash for people.
func shortHash(h assay.Hash) string {
	s := strings.TrimPrefix(string(h), "sha256:")
	return s[:min(12, len(s))]
}
