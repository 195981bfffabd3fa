package harness

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

func TestASuiteRunsToItsEnd(t *testing.T) {
	def := script(`echo "hello $NAME $KEY $1" ; echo "progress 1/2"; echo "progress 2/4 half" >&3
		echo "metric acc 0.25" >&3; echo "metric acc 0.5" >&3; echo "link https://x/1 report" > "$ASSAY_REPORT"
		echo "see https://x/e/7"; read x < gate`)
	def.Command = append(def.Command, "sh")
	def.Params = []assay.SuiteParam{{Name: "name", Type: assay.ParamString, Env: "NAME"}, {Name: "n", Type: assay.ParamInt, Flag: "--n="}}
	def.Env.Secrets = []assay.SecretEnv{{Name: "KEY", File: "key"}}
	def.Experiment = &assay.LinkRule{Pattern: `https://x/e/\d+`}
	w := newWorld(t, def)
	w.write("key", "s3cret-value\n")
	def.Env.Secrets[0].File = w.work + "/key"
	w.apply(def)
	open := w.gate("gate")
	run := w.start(`name="ann"`, "n=3")
	w.drive()
	got, facts := w.until(run.ID, func(r assay.Run, f assay.Harness) bool {
		return f.Experiment != "" && f.Progress != nil && len(f.Links) == 1 && f.PID != 0 && f.Metrics[0].Value == 0.5 // the newest of each comes, not every one at once
	})
	if got.State != assay.RunRunning || got.Phase != assay.PhaseExecuting || got.Epoch != 1 {
		t.Errorf("%+v", got)
	}
	if facts.Progress.Done != 2 || facts.Progress.Guessed || facts.Metrics[0].Value != 0.5 || facts.Links[0].Text != "report" ||
		facts.Experiment != "https://x/e/7" || facts.Where != "here" || facts.Launch != 1 || facts.LaunchedAt == nil || !alive(facts.PID) {
		t.Errorf("%+v", facts)
	}
	if !slices.Contains(facts.Env, "NAME=ann") || strings.Contains(strings.Join(facts.Env, " "), "s3cret") {
		t.Errorf("%v", facts.Env)
	}
	open()
	got, facts = w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
	if facts.Exit == nil || facts.Exit.Cause != assay.ExitItself || facts.Exit.Code != 0 || facts.LogLines != 3 || got.ProgressAt == nil || got.Stalls != 0 {
		t.Errorf("%+v %+v", facts, got)
	}
	log := w.log(run.ID)
	if !strings.HasPrefix(log, "hello ann ") || strings.Contains(log, "s3cret") || !strings.Contains(log, "--n=3\n") || facts.LogBytes != int64(len(log)) {
		t.Errorf("%q, %d bytes", log, facts.LogBytes)
	}
	points, err := w.store.Harnesses().Points(t.Context(), run.ID, "acc", 10)
	if err != nil || len(points) != 2 || points[0].Value != 0.25 {
		t.Errorf("%v %v", points, err)
	}
}

func TestHowAHarnessEnds(t *testing.T) {
	for name, c := range map[string]struct {
		def    assay.SuiteDefinition
		state  assay.RunState
		reason assay.Reason
		says   string
	}{
		"exit code":         {script("exit 7"), assay.RunFailed, assay.ReasonExitCode, "exit code 7"},
		"allowed exit code": {assay.SuiteDefinition{Command: []string{"/bin/sh", "-c", "exit 7"}, Success: assay.SuccessRule{ExitCodes: []int{0, 7}}}, assay.RunCompleted, assay.ReasonDone, "exit code 7"},
		"signal":            {script("kill -9 $$"), assay.RunFailed, assay.ReasonSignal, "SIGKILL"},
		"missing program":   {assay.SuiteDefinition{Command: []string{"no-such-program"}}, assay.RunFailed, assay.ReasonLaunchFailed, "on here: "},
		"missing capability": {assay.SuiteDefinition{Command: []string{"true"}, Needs: []string{"gpu"}}, assay.RunFailed, assay.ReasonLaunchFailed,
			"needs gpu"},
		"missing secret": {assay.SuiteDefinition{Command: []string{"true"}, Env: assay.SuiteEnv{Secrets: []assay.SecretEnv{{Name: "K", Env: "NOT_SET_ANYWHERE"}}}},
			assay.RunFailed, assay.ReasonLaunchFailed, "NOT_SET_ANYWHERE"},
		"time limit": {assay.SuiteDefinition{Command: []string{"/bin/sh", "-c", "read x < gate"}, TimeLimit: assay.Seconds(200 * time.Millisecond)},
			assay.RunFailed, assay.ReasonTimeLimit, "200ms"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.def)
			w.gate("gate")
			w.engine = w.capable()
			run := w.start()
			w.drive()
			got, facts := w.ended(run.ID, c.state, c.reason)
			if !strings.Contains(got.Sentence, c.says) || facts.Exit == nil {
				t.Errorf("%q\n%+v", got.Sentence, facts)
			}
			if c.reason == assay.ReasonLaunchFailed && (facts.Exit.Cause != assay.ExitLaunchFailed || facts.Exit.Error == "") {
				t.Errorf("%+v", facts.Exit)
			}
			w.start() // the key is free
		})
	}
}

// What a model prints is log, whatever it looks like.
func TestOutputThatImitatesTheProtocol(t *testing.T) {
	w := newWorld(t, script(`printf 'progress 9/10\nmetric acc 1\nlink https://evil/\n'; printf 'metric acc 1\n' >&2`))
	run := w.start()
	w.drive()
	_, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
	if facts.Metrics != nil || facts.Links != nil || facts.Experiment != "" || facts.Progress != nil && !facts.Progress.Guessed {
		t.Errorf("%+v", facts)
	}
}

// ticks is the processor time that a process has had.
func ticks(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')'):])) // state is the first behind the name
	user, err := strconv.Atoi(fields[12])
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// A harness that works and says nothing is alive and idle: its heartbeat goes on, its progress does not.
func TestABusyAndSilentHarnessIsAliveAndIdle(t *testing.T) {
	def := script(`echo begin; while [ ! -e go ]; do :; done; echo end; while [ ! -e last ]; do :; done`)
	def.IdleAlarm = assay.Seconds(300 * time.Millisecond)
	w := newWorld(t, def)
	run := w.start()
	w.drive()
	idle, facts := w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.Idle })
	if idle.State != assay.RunRunning || facts.ActiveAt == nil {
		t.Errorf("%+v", idle)
	}
	later, _ := w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.HeartbeatAt.After(*idle.HeartbeatAt) })
	if !later.ProgressAt.Equal(*idle.ProgressAt) {
		t.Errorf("it was silent and progress_at went from %s to %s", idle.ProgressAt, later.ProgressAt)
	}
	used := ticks(t, facts.PID)
	if !within(15*time.Second, func() bool { return ticks(t, facts.PID) >= used+10 }) || !alive(facts.PID) {
		t.Error("it is not busy: the test shows less than it should")
	}
	w.write("go", "")
	heard, _ := w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return !f.Idle })
	if !heard.ProgressAt.After(*idle.ProgressAt) {
		t.Error("output is progress")
	}
	w.write("last", "")
	w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
}

func TestACancelEndsTheWholeTree(t *testing.T) {
	def := assay.SuiteDefinition{Command: []string{self(), "stubborn", "numbers"}, Grace: assay.Seconds(500 * time.Millisecond)}
	w := newWorld(t, def)
	run := w.start()
	w.drive()
	if !within(15*time.Second, func() bool { return len(w.numbers("numbers")) == 2 }) {
		t.Fatal("the tree did not grow")
	}
	w.said(run.ID, "here\nhere\n")
	asked := time.Now()
	if _, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil {
		t.Fatal(err)
	}
	w.until(run.ID, func(r assay.Run, _ assay.Harness) bool {
		return r.Phase == assay.PhaseStopping || r.State.Terminal()
	})
	_, facts := w.ended(run.ID, assay.RunCancelled, assay.ReasonAsked)
	if took := time.Since(asked); took > def.Grace.Duration()+2*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, pid := range w.numbers("numbers") {
		if alive(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	if facts.Exit == nil || facts.Exit.Cause != assay.ExitCancel || !facts.Exit.Killed {
		t.Errorf("%+v", facts.Exit)
	}
}

func TestACancelBeforeTheLaunch(t *testing.T) {
	w := newWorld(t, script("echo ran > ran"))
	run := w.start()
	if _, err := w.store.Runs().TakeUp(t.Context(), run.ID, 0, false, now()); err != nil {
		t.Fatal(err)
	}
	if got, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil || got.State != assay.RunRunning {
		t.Fatalf("%+v %v", got, err)
	}
	w.drive()
	w.ended(run.ID, assay.RunCancelled, assay.ReasonAsked)
	if _, err := os.Stat(w.work + "/ran"); err == nil {
		t.Error("it ran")
	}
}
