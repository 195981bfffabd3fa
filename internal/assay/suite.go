package assay

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Suite is a named harness command. Version is the hash of everything in its definition that can
// change what a run of it does or how its cases are read.
type Suite struct {
	Name      string          `json:"name"`
	Version   Hash            `json:"version"`
	Def       SuiteDefinition `json:"definition"`
	Source    string          `json:"-"` // the YAML as applied
	UpdatedAt time.Time       `json:"updated_at"`
}

// SuiteDefinition says how a harness is run. It holds no secret: secrets are named, not told.
type SuiteDefinition struct {
	Description string       `json:"description,omitempty"`
	Command     []string     `json:"command"` // argv, never given to a shell
	Dir         string       `json:"dir"`     // absolute
	Params      []SuiteParam `json:"params,omitempty"`
	Env         SuiteEnv     `json:"env"`
	TimeLimit   Seconds      `json:"time_limit_s,omitempty"` // 0: none
	IdleAlarm   Seconds      `json:"idle_alarm_s"`           // silence after which a run is shown as idle; 0: never
	Grace       Seconds      `json:"grace_s"`                // between TERM and KILL
	OrphanGrace Seconds      `json:"orphan_grace_s"`         // how long a harness goes on without a server
	Success     SuccessRule  `json:"success"`
	Experiment  *LinkRule    `json:"experiment,omitempty"`
	Results     []ResultFile `json:"results,omitempty"`
	Needs       []string     `json:"needs,omitempty"` // capabilities of the worker
	LostRetries int          `json:"lost_retries,omitempty"`
	LogBytes    int64        `json:"log_bytes"` // kept of the output
}

// ParamType is the type of a suite's parameter.
type ParamType string

const (
	ParamString ParamType = "string"
	ParamInt    ParamType = "int"
	ParamNumber ParamType = "number"
	ParamBool   ParamType = "bool"
)

// SuiteParam is a typed parameter. It becomes a flag, a variable, or both; unset or empty it leaves
// both out. A bool becomes its flag alone when true, and FlagFalse when false.
type SuiteParam struct {
	Name        string          `json:"name"`
	Type        ParamType       `json:"type"`
	Description string          `json:"description,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Flag        string          `json:"flag,omitempty"` // "--limit" makes two arguments (one, joined, where the value begins with a dash), "--limit=" one
	FlagFalse   string          `json:"flag_false,omitempty"`
	Env         string          `json:"env,omitempty"`
	Min         *float64        `json:"min,omitempty"`
	Max         *float64        `json:"max,omitempty"`
	Values      []string        `json:"values,omitempty"`  // of a string: the only ones
	Pattern     string          `json:"pattern,omitempty"` // of a string: matches the whole
	MaxLength   int             `json:"max_length,omitempty"`
}

// SuiteEnv is the environment of a harness: nothing else is inherited.
type SuiteEnv struct {
	Pass    []PassEnv         `json:"pass,omitempty"`
	Set     map[string]string `json:"set,omitempty"`
	Secrets []SecretEnv       `json:"secrets,omitempty"`
}

// PassEnv takes a variable from the environment of the process that launches: From, or Name where
// From is empty, else Fallback; where all are unset it is left out.
type PassEnv struct {
	Name     string  `json:"name"`
	From     string  `json:"from,omitempty"`
	Fallback *string `json:"fallback,omitempty"`
}

// SecretEnv is a variable whose value is masked everywhere. It is read when a run is launched, from
// one of the three.
type SecretEnv struct {
	Name    string   `json:"name"`
	Env     string   `json:"env,omitempty"`
	File    string   `json:"file,omitempty"` // its text without the last line's end
	Command []string `json:"command,omitempty"`
}

// SuccessRule says when an ended harness counts as completed.
type SuccessRule struct {
	ExitCodes   []int    `json:"exit_codes"`
	NeedResults bool     `json:"need_results,omitempty"`  // failed when no result file could be read whole
	MaxFailed   *int64   `json:"max_failed,omitempty"`    // cases
	MaxErrored  *int64   `json:"max_errored,omitempty"`   // cases
	MinPassRate *float64 `json:"min_pass_rate,omitempty"` // passed / (passed + failed)
}

// LinkRule finds the address of the experiment in the output. The first group of Pattern, or all of
// it, is the address.
type LinkRule struct {
	Pattern string `json:"pattern"` // RE2
	First   bool   `json:"first,omitempty"`
}

// ResultFormat is a kind of result file.
type ResultFormat string

const (
	ResultPromptfoo ResultFormat = "promptfoo" // output of `promptfoo eval -o FILE.json`
	ResultInspect   ResultFormat = "inspect"   // Inspect's .eval or .json log
	ResultJUnit     ResultFormat = "junit"     // JUnit XML, as pytest writes it
	ResultAssay     ResultFormat = "assay"     // docs/formats/results.md
)

// ResultFile names what is read when the harness has ended. Path may hold * and ?; where several
// files match, each is read. A file that is older than the run is not its result.
type ResultFile struct {
	Format ResultFormat `json:"format"`
	Path   string       `json:"path"` // relative to Dir
}

// Seconds is a duration that is whole seconds or parts of them in JSON.
type Seconds time.Duration

func (s Seconds) Duration() time.Duration      { return time.Duration(s) }
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

func (s *Seconds) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("read seconds: %w", err)
	}
	*s = Seconds(f * float64(time.Second))
	return nil
}

// ParamValue is what a run was started with. A parameter without a value is not in the list.
type ParamValue struct {
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
	Source ParamSource     `json:"source"`
}

// ParamSource says who chose a value.
type ParamSource string

const (
	ParamGiven     ParamSource = "given"    // by who started the run
	ParamDefault   ParamSource = "default"  // of the definition
	ParamScheduled ParamSource = "schedule" // of the schedule that started it
)

// SuiteSpec is what was asked of a suite run, with everything resolved that is known when it is
// accepted: a run keeps the definition that it was started with. Of an external run it is what the
// harness said of itself, and Def is nil.
type SuiteSpec struct {
	Name     string           `json:"name"`
	Version  Hash             `json:"version"`
	Def      *SuiteDefinition `json:"definition,omitempty" doc:"only when one run is asked for"`
	Params   []ParamValue     `json:"params,omitempty" doc:"in a list only where all of them together are short"`
	Argv     []string         `json:"argv,omitempty" doc:"only when one run is asked for"`
	Schedule string           `json:"schedule,omitempty"` // that started it
	Stale    Seconds          `json:"stale_s,omitempty"`  // of an external run: silence after which it is lost
}

// shortParams is how many bytes of parameters a list shows.
const shortParams = 2000

// Head is what lists have of s.
func (s SuiteSpec) Head() SuiteSpec {
	s.Def, s.Argv = nil, nil
	n := 0
	for _, p := range s.Params {
		n += len(p.Name) + len(p.Value)
	}
	if n > shortParams {
		s.Params = nil
	}
	return s
}

// Harness is what is known of the harness of a suite or external run. One writer at a time: the
// run's driver under its fence, or the reports of an external run.
type Harness struct {
	Launch     int         `json:"launch,omitempty"` // of a suite: from 1; more where a lost run was started again
	Where      string      `json:"where,omitempty"`  // host
	PID        int         `json:"pid,omitempty"`
	Env        []string    `json:"env,omitempty" doc:"only when one run is asked for"` // NAME=value, secrets masked
	LaunchedAt *time.Time  `json:"launched_at,omitempty"`
	ActiveAt   *time.Time  `json:"active_at,omitempty"` // last output, progress, metric or link
	Idle       bool        `json:"idle,omitempty"`      // alive, but silent for longer than the idle alarm
	Progress   *Progress   `json:"progress,omitempty"`
	Metrics    []Metric    `json:"metrics,omitempty" doc:"only when one run is asked for"` // the newest value of each
	Points     int64       `json:"points,omitempty" doc:"of an external run: values of metrics that were reported"`
	Links      []Link      `json:"links,omitempty" doc:"only when one run is asked for"`
	Experiment string      `json:"experiment_url,omitempty"`
	LogBytes   int64       `json:"log_bytes"`
	LogLines   int64       `json:"log_lines"`
	LogDropped int64       `json:"log_dropped,omitempty"` // bytes left out between head and tail
	Exit       *Exit       `json:"exit,omitempty"`
	Results    []ResultSum `json:"results,omitempty" doc:"only when one run is asked for"`
	LateAt     *time.Time  `json:"late_at,omitempty"`                                   // a report came after the run had ended
	Late       string      `json:"late,omitempty" doc:"only when one run is asked for"` // what it said
}

// Head is what lists have of h.
func (h Harness) Head() Harness {
	h.Env, h.Metrics, h.Links, h.Results, h.Late = nil, nil, nil, nil, ""
	if h.Exit != nil && len(h.Exit.Error) > shortError {
		x := *h.Exit
		x.Error = strings.ToValidUTF8(x.Error[:shortError], "") + "…"
		h.Exit = &x
	}
	return h
}

// shortError is how many bytes of an error a list shows.
const shortError = 500

// Progress is how far a harness says that it is. Total 0 is not known.
type Progress struct {
	Done    float64   `json:"done"`
	Total   float64   `json:"total,omitempty"`
	Text    string    `json:"text,omitempty"`
	Guessed bool      `json:"guessed,omitempty"` // read from a progress bar in the output
	At      time.Time `json:"at"`
}

// Metric is a named number that a harness reported.
type Metric struct {
	Name  string    `json:"name"`
	Value float64   `json:"value"`
	At    time.Time `json:"at"`
}

// Link is an address that a harness reported.
type Link struct {
	URL  string `json:"url"`
	Text string `json:"text,omitempty"`
}

// ExitCause says what ended a harness.
type ExitCause string

const (
	ExitItself       ExitCause = "itself"
	ExitTimeLimit    ExitCause = "time_limit"
	ExitCancel       ExitCause = "cancel"
	ExitOrphaned     ExitCause = "orphaned" // no server came for the orphan grace
	ExitLaunchFailed ExitCause = "launch_failed"
)

// Exit is how a harness ended. Code is -1 where a signal ended it.
type Exit struct {
	Cause  ExitCause `json:"cause"`
	Code   int       `json:"code"`
	Signal string    `json:"signal,omitempty"`
	Killed bool      `json:"killed,omitempty"` // TERM was not enough
	Error  string    `json:"error,omitempty"`  // why it could not be launched
	At     time.Time `json:"at"`
}

// ResultSum is what a result file held, or why it could not be read.
type ResultSum struct {
	Path   string       `json:"path"`
	Format ResultFormat `json:"format"`
	Cases  int64        `json:"cases"`
	Error  string       `json:"error,omitempty"`
}

// Unread says which result files were not read whole; "" where all were. cases is how many were read.
func Unread(sums []ResultSum, cases int64) string {
	var bad []string
	for _, s := range sums {
		if s.Error != "" {
			bad = append(bad, s.Path)
		}
	}
	if len(bad) == 0 {
		return ""
	}
	names := bad[0]
	if more := len(bad) - 1; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if cases == 0 && len(bad) == len(sums) {
		return "no results were read: " + names
	}
	return "not read whole: " + names
}

// Case is one result of a harness: an item whose judge is the suite. Key with Repeat names it within
// a run, and Key pairs the cases of two runs.
type Case struct {
	Run      RunID           `json:"run"`
	Seq      int64           `json:"seq"`
	Key      string          `json:"case"`
	Repeat   int             `json:"repeat"`
	State    ItemState       `json:"state"` // graded, errored or ungradable
	Class    Class           `json:"class,omitempty"`
	Error    string          `json:"error,omitempty"`
	Pass     *bool           `json:"pass"` // what the harness said of the whole; nil where it said nothing
	Findings []Finding       `json:"findings,omitempty"`
	Input    string          `json:"input,omitempty"`
	Output   string          `json:"output,omitempty"`
	Expected string          `json:"expected,omitempty"`
	Place    string          `json:"place,omitempty"` // file:line or the like
	Seconds  *float64        `json:"duration_s,omitempty"`
	Cost     *USD            `json:"cost_usd,omitempty"`
	Usage    Usage           `json:"usage,omitzero"`
	Model    string          `json:"model,omitempty"`
	Cut      []string        `json:"cut,omitempty"` // fields that were too long and lost their end
	Extra    json.RawMessage `json:"extra,omitempty"`
}

// KeySuite is the key of which one active run may hold each.
func KeySuite(name string) string { return "suite:" + name }
