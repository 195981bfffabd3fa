package define

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
)

// success is the rule on its way from YAML.
type success struct {
	codes               []int
	failed, errored     *int64
	rate                *float64
	results             string
	resultsAt, countsAt *yaml.Node
}

func (s *success) read(n *yaml.Node) error {
	p := places{}
	err := definition.Mapping(n, "success", p.of(definition.Fields{
		"exit_codes": func(n *yaml.Node) error {
			return definition.Each(n, "exit_codes", "for instance [0]", s.code)
		},
		"max_failed":    count(&s.failed, "max_failed"),
		"max_errored":   count(&s.errored, "max_errored"),
		"min_pass_rate": definition.Number(&s.rate, "min_pass_rate"),
		"results":       definition.Text(&s.results, "results"),
	}), nil)
	if err != nil {
		return err
	}
	if s.rate != nil && (*s.rate < 0 || *s.rate > 1) {
		return definition.At(p["min_pass_rate"], "min_pass_rate is out of range").WithHint("use a share from 0 to 1, for instance 0.95")
	}
	choices := []string{"required", "optional"}
	if s.results != "" && !slices.Contains(choices, s.results) {
		return definition.At(p["results"], "results %.40q of success is not known%s", s.results, definition.Nearest(s.results, choices)).
			WithHint("use required or optional; the files themselves stand under `results` of the suite")
	}
	if n := p["exit_codes"]; n != nil && len(s.codes) == 0 {
		return definition.At(n, "exit_codes is empty, so no run could succeed").WithHint("write [0]")
	}
	s.resultsAt, s.countsAt = p["results"], p.at(nil, "max_failed", "max_errored", "min_pass_rate")
	return nil
}

func (s *success) code(n *yaml.Node) error {
	var code *int64
	if err := definition.Int(&code, "an exit code")(n); err != nil {
		return err
	}
	if *code < 0 || *code > 255 {
		return definition.At(n, "the exit code %d is out of range", *code).WithHint("use 0 to 255")
	}
	s.codes = append(s.codes, int(*code))
	return nil
}

func count(to **int64, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := definition.Int(to, name)(n); err != nil {
			return err
		}
		if **to < 0 {
			return definition.At(n, "%s is below 0", name).WithHint("it counts cases")
		}
		return nil
	}
}

// rule completes the rule. A rule over counts needs results, unless it says that it can do without.
func (s *success) rule(n *yaml.Node, parsed bool) (assay.SuccessRule, error) {
	r := assay.SuccessRule{ExitCodes: []int{0}, MaxFailed: s.failed, MaxErrored: s.errored, MinPassRate: s.rate}
	counts := s.failed != nil || s.errored != nil || s.rate != nil
	r.NeedResults = s.results == "required" || counts && s.results == ""
	if len(s.codes) > 0 {
		r.ExitCodes = s.codes
		slices.Sort(r.ExitCodes)
		r.ExitCodes = slices.Compact(r.ExitCodes)
	}
	if (counts || r.NeedResults) && !parsed {
		if s.resultsAt != nil {
			n = s.resultsAt
		}
		if s.countsAt != nil {
			n = s.countsAt
		}
		return r, definition.At(n, "success counts cases, and the suite names no result file").WithHint("write `results: [{format: junit, path: out/*.xml}]` in the suite, or drop the count")
	}
	return r, nil
}

func experiment(to *assay.LinkRule, n *yaml.Node) error {
	var match string
	p := places{}
	err := definition.Mapping(n, "experiment", p.of(definition.Fields{
		"pattern": definition.Text(&to.Pattern, "pattern"),
		"match":   definition.Text(&match, "match"),
	}), nil)
	if err != nil {
		return err
	}
	choices := []string{"last", "first"}
	if match != "" && !slices.Contains(choices, match) {
		return definition.At(p["match"], "match %.40q is not known%s", match, definition.Nearest(match, choices)).WithHint("use last or first")
	}
	to.First = match == "first"
	return within(n, p, checkExperiment(*to))
}

func checkExperiment(r assay.LinkRule) error {
	if r.Pattern == "" {
		return bad("pattern", "the experiment has no pattern").WithHint("write one that finds its address in the output, for instance 'https://\\S+/experiments/\\S+'")
	}
	if _, err := regexp.Compile(r.Pattern); err != nil {
		return badPattern("pattern", err)
	}
	return nil
}

func badPattern(field string, err error) error {
	return bad(field, "%s: %s", field, strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
		WithHint("patterns are RE2, without look-around and back-references; in YAML quote one with single quotes")
}

var formats = []string{string(assay.ResultPromptfoo), string(assay.ResultInspect), string(assay.ResultJUnit), string(assay.ResultAssay)}

func results(to *[]assay.ResultFile, n *yaml.Node) error {
	const hint = "for instance [{format: junit, path: out/*.xml}]"
	return definition.Each(n, "results", hint, func(n *yaml.Node) error {
		var format, path string
		p := places{}
		err := definition.Mapping(n, "a result file", p.of(definition.Fields{"format": definition.Text(&format, "format"), "path": definition.Text(&path, "path")}), nil)
		switch {
		case err != nil:
			return err
		case !slices.Contains(formats, format):
			return definition.At(p.at(n, "format"), "format %.40q of a result file is not known%s", format, definition.Nearest(format, formats)).WithHint("use %s", strings.Join(formats, ", "))
		case path == "":
			return definition.At(p.at(n, "path"), "the result file has no path").WithHint("%s", hint)
		case filepath.IsAbs(path):
			return definition.At(p["path"], "the path of a result file must be relative").WithHint("it begins in `dir`")
		}
		if err := noTilde(p["path"], "path", path); err != nil {
			return err
		}
		if _, err := filepath.Match(path, ""); err != nil {
			return definition.At(p["path"], "path %.60q cannot be matched: %w", path, err).WithHint("it may hold * and ?; put a backslash before a [ that is meant")
		}
		*to = append(*to, assay.ResultFile{Format: assay.ResultFormat(format), Path: path})
		return nil
	})
}
