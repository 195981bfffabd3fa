package node

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/clock"
	"assay/internal/harness"
	"assay/internal/harness/define"
	"assay/internal/store"
)

// self is the program that is started again as a shim. On Linux it is this very program, also when its file
// was replaced meanwhile.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", assay.Errorf(assay.CodeInternal, "find this program's file: %w", err)
	}
	return path, nil
}

func (n *Node) newHarness() *harness.Driver {
	program, err := self()
	if err != nil {
		n.cfg.Log.Error("suites cannot be started", "error", err)
	}
	where, err := os.Hostname()
	if err != nil {
		where = "unknown"
	}
	return harness.New(harness.Options{Store: n.store, Dir: n.folder(), Self: program, LookupEnv: os.LookupEnv,
		Capabilities: n.cfg.Capabilities, Where: where, Now: now, Log: n.cfg.Log})
}

// folder is the data folder by a name that holds wherever a process stands.
func (n *Node) folder() string {
	if dir, err := filepath.Abs(n.cfg.Dir); err == nil {
		return dir
	}
	return n.cfg.Dir
}

// suites is what the API asks about suites, schedules and output.
type suites struct{ n *Node }

func (s suites) Read(f api.DefinitionFile) (d api.Definitions, err error) {
	d.Suites, d.Schedules, err = define.Parse([]byte(f.Source), f.File, clock.Validate)
	return d, err
}

func (s suites) Launchable(list []assay.Suite) error {
	var wrong []error
	for _, suite := range list {
		if err := define.Check(suite.Def, os.LookupEnv); err != nil {
			wrong = append(wrong, assay.About("suite "+suite.Name, err))
		}
	}
	return assay.Together(wrong)
}

func (s suites) Check(suite assay.Suite, params map[string]json.RawMessage, source assay.ParamSource) error {
	_, _, err := harness.Resolver(s.n.cfg.Capabilities...).Resolve(suite, params, source)
	return err
}

func (s suites) Next(def assay.ScheduleDef, after time.Time) (*time.Time, error) {
	next, err := clock.Next(def, after)
	if err != nil {
		return nil, err
	}
	return &next, nil
}

func (s suites) RunNow(ctx context.Context, sched assay.Schedule, by string, once *store.Idempotency) (run assay.Run, replayed bool, err error) {
	return s.n.newTicker().RunNow(ctx, sched, by, once)
}

func (s suites) LogDir(run assay.RunID) string { return harness.LogDir(s.n.folder(), run) }
func (s suites) RunDir(run assay.RunID) string { return harness.RunDir(s.n.folder(), run) }

func (s suites) Leaving(ctx context.Context, project assay.ProjectID) error {
	return s.n.harness.Leaving(ctx, project)
}
func (s suites) RemoveLeft(ctx context.Context) { s.n.harness.RemoveLeft(ctx) }

func (n *Node) newTicker() *clock.Ticker {
	return clock.New(clock.Options{Store: n.store, Engine: n.engine, Now: now, Log: n.cfg.Log})
}

// tick starts what schedules owe, in a process that is there to stay: what a passing command started would
// be without a server when that command ends.
func (n *Node) tick(ctx context.Context) {
	if n.cfg.Serve {
		_ = n.newTicker().Run(ctx) // nil, when ctx ends
	}
}
