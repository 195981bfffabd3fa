package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/harness/shim"
	"assay/internal/logs"
	"assay/internal/store"
	"assay/internal/store/postgres"
	"assay/internal/store/postgres/pgtest"
	"assay/internal/store/sqlite"
)

// TestMain runs the test binary in the roles of the other processes: a shim, an owner, a harness that does
// not want to end.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "shim":
			os.Exit(shim.Main(os.Args[2]))
		case "owner":
			os.Exit(owner(os.Args[2], os.Args[3]))
		case "stubborn":
			stubborn(os.Args[2], len(os.Args) > 3)
		}
	}
	code := pgtest.Stopping(m).Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// open opens a database, or the data folder's where there is none.
func open(ctx context.Context, dir, database string) (store.Store, error) {
	if database != "" {
		return postgres.Open(ctx, database)
	}
	return sqlite.Open(ctx, dir)
}

// owner drives the runs of a data folder until it is killed.
func owner(dir, database string) int {
	s, err := open(context.Background(), dir, database)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = local.New(dispatching(s, dir, nil)).Run(context.Background())
	return 0
}

// stubborn ignores TERM and so does its grandchild, which leads a session of its own. Both hold stdout open
// and write their numbers to a file.
func stubborn(file string, grandchild bool) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if !grandchild {
		cmd := exec.Command(self(), "stubborn", file, "grandchild")
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("here")
	for {
		<-time.After(time.Hour)
	}
}

func dispatching(s store.Store, dir string, change func(*Options)) local.Options {
	o := Options{Store: s, Dir: dir, Self: self(), LookupEnv: os.LookupEnv, Now: now, Where: "here"}
	if change != nil {
		change(&o)
	}
	d := New(o)
	d.limits = quick
	return local.Options{Store: o.Store, Drivers: map[assay.RunKind]engine.Driver{assay.RunSuite: d}, Now: now,
		Poll: 5 * time.Millisecond, ErrorPause: 20 * time.Millisecond}
}

// quick are limits that a test can wait for, on a busy machine too.
var quick = limits{start: 30 * time.Second, silence: 1500 * time.Millisecond, stuck: time.Minute, ends: 10 * time.Second}

// world is a data folder with one suite.
type world struct {
	t       *testing.T
	dir     string // data
	base    string // database; "" is SQLite
	work    string // of the suite
	store   store.Store
	project assay.Project
	engine  *engine.Engine
}

func newWorld(t *testing.T, def assay.SuiteDefinition) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, dir: t.TempDir(), work: t.TempDir()}
	if strings.HasPrefix(t.Name(), onPostgres+"/") {
		w.base = pgtest.Database(t)
	}
	var err error
	if w.store, err = open(t.Context(), w.dir, w.base); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	t.Cleanup(w.end)
	w.engine = engine.New(w.store, nil, Resolver(), func() {}, now)
	if w.project, err = w.store.Projects().Create(t.Context(), "p", assay.DefaultSettings(), now()); err != nil {
		t.Fatal(err)
	}
	w.apply(def)
	return w
}

// script is a suite that is a shell script.
func script(text string) assay.SuiteDefinition {
	return assay.SuiteDefinition{Command: []string{"/bin/sh", "-c", text}}
}

func (w *world) apply(def assay.SuiteDefinition) {
	w.t.Helper()
	def.Dir = w.work
	if def.Grace == 0 {
		def.Grace = assay.Seconds(300 * time.Millisecond)
	}
	if def.OrphanGrace == 0 {
		def.OrphanGrace = assay.Seconds(time.Minute)
	}
	if def.LogBytes == 0 {
		def.LogBytes = 1 << 20
	}
	def.Env.Pass = append(def.Env.Pass, assay.PassEnv{Name: "PATH"})
	version := assay.Hash(strconv.FormatInt(time.Now().UnixNano(), 36))
	if _, err := w.store.Suites().Apply(w.t.Context(), w.project.ID, []assay.Suite{{Name: "s", Version: version, Def: def}}, now()); err != nil {
		w.t.Fatal(err)
	}
}

// capable is an engine of a door that does not know what the driving machine lacks.
func (w *world) capable() *engine.Engine {
	return engine.New(w.store, nil, Resolver("gpu"), func() {}, now)
}

// end ends what a failed test left running.
func (w *world) end() {
	launches, _ := filepath.Glob(filepath.Join(w.dir, "runs", "*", "a*"))
	for _, dir := range launches {
		if s, err := shim.Look(dir); err != nil || s != shim.Alive {
			continue
		}
		if conn, err := shim.Dial(context.Background(), dir); err == nil {
			conn.Stop(assay.ExitCancel)
			conn.Close()
			within(10*time.Second, func() bool { s, _ := shim.Look(dir); return s != shim.Alive })
		}
	}
}

func (w *world) start(params ...string) assay.Run {
	w.t.Helper()
	q := engine.SuiteRequest{By: "ann", Params: map[string]json.RawMessage{}}
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		q.Params[name] = json.RawMessage(value)
	}
	run, _, err := w.engine.StartSuite(w.t.Context(), w.project, "s", q, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// drive runs a dispatcher; the function that it returns stops it, and so does the end of the test.
func (w *world) drive(change ...func(*Options)) (stop func()) {
	w.t.Helper()
	d := local.New(dispatching(w.store, w.dir, func(o *Options) {
		for _, c := range change {
			c(o)
		}
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(ctx) }()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	w.t.Cleanup(stop)
	return stop
}

// owned starts a process that drives; the function that it returns kills it with -9.
func (w *world) owned() (kill func()) {
	w.t.Helper()
	cmd := exec.Command(self(), "owner", w.dir, w.base)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	var once sync.Once
	kill = func() { once.Do(func() { cmd.Process.Kill(); cmd.Wait() }) }
	w.t.Cleanup(kill)
	return kill
}

func (w *world) get(id assay.RunID) (assay.Run, assay.Harness) {
	w.t.Helper()
	run, err := w.store.Runs().Get(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	facts, err := w.store.Harnesses().Facts(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run, facts
}

func (w *world) until(id assay.RunID, ok func(assay.Run, assay.Harness) bool) (run assay.Run, facts assay.Harness) {
	w.t.Helper()
	if !within(15*time.Second, func() bool { run, facts = w.get(id); return ok(run, facts) }) {
		w.t.Fatalf("not within 15 s: %+v\n%+v\n%s", run, facts, w.log(id))
	}
	return run, facts
}

// ended waits for a run's end and wants it to be so.
func (w *world) ended(id assay.RunID, state assay.RunState, reason assay.Reason) (assay.Run, assay.Harness) {
	w.t.Helper()
	run, facts := w.until(id, func(r assay.Run, _ assay.Harness) bool { return r.State.Terminal() })
	if run.State != state || run.Reason != reason {
		w.t.Errorf("run %s is %s (%s): %s; want %s (%s)", id, run.State, run.Reason, run.Sentence, state, reason)
	}
	findings, err := w.store.Check(w.t.Context())
	if err != nil || len(findings) > 0 {
		w.t.Errorf("%v %v", findings, err)
	}
	return run, facts
}

// said waits until the log holds text.
func (w *world) said(id assay.RunID, text string) {
	w.t.Helper()
	if !within(15*time.Second, func() bool { return strings.Contains(w.log(id), text) }) {
		run, facts := w.get(id)
		w.t.Fatalf("%q is not in the log within 15 s:\n%s\n%+v\n%+v", text, w.log(id), run, facts)
	}
}

func (w *world) log(id assay.RunID) string {
	var b bytes.Buffer
	if err := logs.Copy(&b, LogDir(w.dir, id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Errorf("%v", err)
	}
	return b.String()
}

// gate is a FIFO in the suite's folder: a script that reads it waits for open.
func (w *world) gate(name string) (open func()) {
	w.t.Helper()
	path := filepath.Join(w.work, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		w.t.Helper()
		// Opened for both ends it does not wait, and a reader that comes later finds what was written.
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { f.Close() })
		if _, err := f.WriteString("go\n"); err != nil {
			w.t.Fatal(err)
		}
	}
}

// write puts a file into the suite's folder.
func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.work, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// numbers reads process numbers, one a line.
func (w *world) numbers(name string) (list []int) {
	raw, _ := os.ReadFile(filepath.Join(w.work, name))
	for _, line := range strings.Fields(string(raw)) {
		if n, err := strconv.Atoi(line); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// alive says whether a process lives; a zombie is dead.
func alive(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); !ok(); <-time.After(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
