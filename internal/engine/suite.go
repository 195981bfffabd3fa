package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/store"
)

// SuiteResolver turns what a suite run is started with into its command line, or says what is wrong with
// it. harness implements it.
type SuiteResolver interface {
	Resolve(s assay.Suite, given map[string]json.RawMessage, source assay.ParamSource) (values []assay.ParamValue, argv []string, err error)
}

// SuiteRequest is what a door asks for to start a suite. It is the JSON body of
// POST /api/v1/projects/{project}/suites/{suite}/runs.
type SuiteRequest struct {
	Params   map[string]json.RawMessage `json:"params,omitempty" doc:"values of the suite's parameters by name; the others take their defaults"`
	By       string                     `json:"by,omitempty" maxLength:"200" doc:"who asks"`
	Schedule string                     `json:"-"` // that asks, or for which By does; its parameters say so
}

// StartSuite accepts a run of a defined suite. Of one suite one run is active at a time: another one is
// CodeConflict, which names it. replayed says that the idempotency key was known.
func (e *Engine) StartSuite(ctx context.Context, p assay.Project, name string, q SuiteRequest, idem *store.Idempotency) (run assay.Run, replayed bool, err error) {
	if run, replayed, err = e.replay(ctx, p.ID, idem); err != nil || replayed {
		return run, replayed, err
	}
	if e.suites == nil {
		return run, false, assay.Errorf(assay.CodeUnavailable, "suites cannot be started on this system").
			WithHint("suites run on Linux and macOS; `assay wrap -- COMMAND` reports a harness that runs elsewhere")
	}
	suite, err := e.store.Suites().Get(ctx, p.ID, name)
	if err != nil {
		return run, false, err
	}
	source := assay.ParamGiven
	if q.Schedule != "" {
		source = assay.ParamScheduled
	}
	values, argv, err := e.suites.Resolve(suite, q.Params, source)
	if err != nil {
		return run, false, err
	}
	now := e.now()
	return e.accept(ctx, store.NewRun{
		Project: p.ID, Kind: assay.RunSuite, Concurrency: 1, By: q.By, AsOf: now, Now: now,
		Suite: &assay.SuiteSpec{Name: name, Version: suite.Version, Def: &suite.Def, Params: values, Argv: argv, Schedule: q.Schedule},
		Keys:  []string{assay.KeySuite(name)}, Sentence: "accepted: waits for a driver",
	}, idem)
}

// harnessed says that a run is a harness, which can be started and cancelled and nothing else.
func harnessed(run assay.Run) bool {
	return run.Kind == assay.RunSuite || run.Kind == assay.RunExternal
}

// refuseHarness refuses what only runs that grade can do.
func refuseHarness(run assay.Run, what string) error {
	if !harnessed(run) {
		return nil
	}
	err := assay.Errorf(assay.CodeRefused, "run %s is a harness (%s) and cannot be %s", run.ID, run.Suite.Name, what).
		With("run", run.ID.String()).With("state", string(run.State))
	switch {
	case run.State.Terminal() && what == "retried":
		return err.WithHint("%s", againHint(run))
	case run.State.Terminal():
		return err.WithHint("it has ended: `assay runs show %s` tells how", run.ID)
	}
	return err.WithHint("it runs to its end, or `assay cancel %s` stops it", run.ID)
}

// againHint says how a harness that has ended is started once more.
func againHint(run assay.Run) string {
	if run.Kind == assay.RunExternal {
		return "start the harness again where it ran"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "start it again with the same parameters: `assay suite run %s", run.Suite.Name)
	for _, v := range run.Suite.Params {
		if v.Source != assay.ParamDefault {
			fmt.Fprintf(&b, " --param %s", assay.ShellWord(v.Name+"="+plainValue(v.Value)))
		}
	}
	return b.String() + "`"
}

// plainValue is a parameter's value as a person types it.
func plainValue(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// sortedParams lists given parameters by name.
func sortedParams(given map[string]json.RawMessage, source assay.ParamSource) []assay.ParamValue {
	var values []assay.ParamValue
	for name, value := range given {
		values = append(values, assay.ParamValue{Name: name, Value: value, Source: source})
	}
	slices.SortFunc(values, func(a, b assay.ParamValue) int { return strings.Compare(a.Name, b.Name) })
	return values
}
