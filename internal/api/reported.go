package api

import (
	"encoding/json"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
)

// What a harness elsewhere says has shapes of its own: what the server knows itself, such as run and number
// of a case, cannot be said, and nothing has to be said twice.

// ReportedProgress is how far a harness says that it is.
type ReportedProgress struct {
	Done    float64    `json:"done"`
	Total   float64    `json:"total,omitempty" doc:"absent: not known"`
	Text    string     `json:"text,omitempty"`
	Guessed bool       `json:"guessed,omitempty" doc:"read from a progress bar in its output"`
	At      *time.Time `json:"at,omitempty" doc:"absent: when the report came"`
}

// ReportedMetric is a named number.
type ReportedMetric struct {
	Name  string     `json:"name"`
	Value float64    `json:"value"`
	At    *time.Time `json:"at,omitempty" doc:"absent: when the report came; with it a report that is sent twice makes no second point"`
}

// ExternalFinish is how a harness elsewhere ended.
type ExternalFinish struct {
	Code    int              `json:"exit_code" doc:"-1 where a signal ended it"`
	Signal  string           `json:"signal,omitempty" doc:"that ended it, for instance SIGKILL"`
	Error   string           `json:"error,omitempty" doc:"why it could not be started"`
	Cases   []ReportedCase   `json:"cases,omitempty" doc:"its results"`
	Results []ReportedResult `json:"results,omitempty" maxItems:"200" doc:"the files that the cases were read from, and why one could not be read"`
}

// ReportedResult is a result file.
type ReportedResult struct {
	Path   string             `json:"path" maxLength:"1000"`
	Format assay.ResultFormat `json:"format,omitempty" maxLength:"100"`
	Cases  int64              `json:"cases,omitempty" minimum:"0" doc:"that it held"`
	Error  string             `json:"error,omitempty" maxLength:"2000" doc:"why it could not be read, or not whole"`
}

// Bounds of the results that a client tells of.
const (
	mostResults = 200
	longPath    = 1000
	longError   = 2000
)

// ReportedCase is one result. Its name and a verdict are enough.
type ReportedCase struct {
	Key      string            `json:"case" doc:"names the case, the same in every run"`
	Repeat   int               `json:"repeat,omitempty" minimum:"0" doc:"which try of the case it is; a name that is there already gets the next free one"`
	Pass     *bool             `json:"pass,omitempty" nullable:"true" doc:"what the harness says of the whole; absent or null: nothing"`
	State    assay.ItemState   `json:"state,omitempty" enum:"graded,errored,ungradable" doc:"absent: errored where there is an error, else graded"`
	Class    assay.Class       `json:"class,omitempty" enum:"case_error,case_skipped,case_unscored" doc:"absent: case_error where it errored, case_unscored where it is ungradable; case_skipped is one that was left out"`
	Error    string            `json:"error,omitempty" doc:"why it broke, or why it has no verdict"`
	Findings []ReportedFinding `json:"findings,omitempty" doc:"an answer to each criterion"`
	Input    string            `json:"input,omitempty"`
	Output   string            `json:"output,omitempty"`
	Expected string            `json:"expected,omitempty"`
	Place    string            `json:"place,omitempty" doc:"file:line or the like"`
	Seconds  *float64          `json:"duration_s,omitempty"`
	Cost     *assay.USD        `json:"cost_usd,omitempty"`
	Usage    *ReportedUsage    `json:"usage,omitempty"`
	Model    string            `json:"model,omitempty"`
	Cut      []string          `json:"cut,omitempty" doc:"fields that were too long and lost their end"`
	Extra    json.RawMessage   `json:"extra,omitempty"`
}

// ReportedFinding is an answer to one criterion.
type ReportedFinding struct {
	Criterion string          `json:"criterion"`
	Value     json.RawMessage `json:"value,omitempty"`
	Applies   *bool           `json:"applies,omitempty" doc:"absent: it does"`
	Abstained bool            `json:"abstained,omitempty"`
	Reason    string          `json:"reason,omitempty"`
}

// ReportedUsage counts tokens.
type ReportedUsage struct {
	Input      int64 `json:"input,omitempty"`
	Cached     int64 `json:"cached,omitempty" doc:"part of input: read from the provider's cache"`
	CacheWrite int64 `json:"cache_write,omitempty" doc:"part of input: written to it"`
	Output     int64 `json:"output,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty" doc:"part of output"`
}

// report is what the engine is told; its output was stored before.
func (r ExternalReport) report() engine.Report {
	out := engine.Report{Links: r.Links, Experiment: r.Experiment}
	if p := r.Progress; p != nil {
		out.Progress = &assay.Progress{Done: p.Done, Total: p.Total, Text: p.Text, Guessed: p.Guessed, At: orZero(p.At)}
	}
	for _, m := range r.Metrics {
		out.Metrics = append(out.Metrics, assay.Metric{Name: m.Name, Value: m.Value, At: orZero(m.At)})
	}
	return out
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// finish is what the engine is told.
func (f ExternalFinish) finish() (engine.Finish, error) {
	out := engine.Finish{Code: f.Code, Signal: f.Signal, Error: f.Error}
	for _, r := range f.Results {
		out.Results = append(out.Results, assay.ResultSum(r))
	}
	for i, c := range f.Cases {
		one, ok := c.given()
		if !ok {
			return out, assay.Errorf(assay.CodeInvalid, "case %d (%.60q) says nothing of how it ended", i+1, c.Key).WithHint("give pass, findings, error or state")
		}
		out.Cases = append(out.Cases, one)
	}
	return out, nil
}

// given is false where nothing is said of the case.
func (c ReportedCase) given() (assay.Case, bool) {
	out := assay.Case{Key: c.Key, Repeat: c.Repeat, Pass: c.Pass, State: c.State, Class: c.Class, Error: c.Error, Input: c.Input, Output: c.Output,
		Expected: c.Expected, Place: c.Place, Seconds: c.Seconds, Cost: c.Cost, Model: c.Model, Cut: c.Cut, Extra: c.Extra}
	for _, f := range c.Findings {
		out.Findings = append(out.Findings, assay.Finding{Criterion: f.Criterion, Value: f.Value, Applies: f.Applies == nil || *f.Applies,
			Abstained: f.Abstained, Reason: f.Reason})
	}
	if u := c.Usage; u != nil {
		out.Usage = assay.Usage{Known: true, Input: u.Input, Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
	}
	if out.State == "" {
		switch {
		case c.Class != "" && c.Pass == nil && len(c.Findings) == 0:
			out.State = assay.Policies[c.Class].Ends
		case c.Error != "":
			out.State = assay.ItemErrored
		case c.Pass != nil || len(c.Findings) > 0:
			out.State = assay.ItemGraded
		default:
			return out, false
		}
	}
	switch {
	case out.Class != "":
	case out.State == assay.ItemErrored:
		out.Class = assay.ClassCaseError
	case out.State == assay.ItemUngradable:
		out.Class = assay.ClassCaseUnscored
	}
	return out, true
}

// FinishOf is how a client tells of an end, with cases as result files hold them.
func FinishOf(f engine.Finish) ExternalFinish {
	out := ExternalFinish{Code: f.Code, Signal: f.Signal, Error: f.Error}
	for _, r := range f.Results[:min(len(f.Results), mostResults)] {
		r.Path, r.Error = head(r.Path, longPath), head(r.Error, longError)
		out.Results = append(out.Results, ReportedResult(r))
	}
	for _, c := range f.Cases {
		one := ReportedCase{Key: c.Key, Repeat: c.Repeat, Pass: c.Pass, State: c.State, Class: c.Class, Error: c.Error, Input: c.Input, Output: c.Output,
			Expected: c.Expected, Place: c.Place, Seconds: c.Seconds, Cost: c.Cost, Model: c.Model, Cut: c.Cut, Extra: c.Extra}
		for _, f := range c.Findings {
			one.Findings = append(one.Findings, ReportedFinding{Criterion: f.Criterion, Value: f.Value, Applies: &f.Applies, Abstained: f.Abstained, Reason: f.Reason})
		}
		if u := c.Usage; u.Known {
			one.Usage = &ReportedUsage{Input: u.Input, Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
		}
		out.Cases = append(out.Cases, one)
	}
	return out
}

// head is the beginning of a text, at most n characters.
func head(s string, n int) string {
	r := []rune(s)
	return string(r[:min(len(r), n)])
}
