package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/internal/harness/shim/shimtest"
	"assay/internal/judge/llm/llmtest"
	"assay/internal/store/postgres/pgtest"
)

// TestMain makes this binary the program itself when it is started under its name, so that scripts
// run real processes.
func TestMain(m *testing.M) {
	testscript.Main(pgtest.Stopping(m), map[string]func(){
		"assay": main,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// A short folder: the path of a socket has little room.
			dir, err := os.MkdirTemp("", "assay-")
			if err != nil {
				return err
			}
			env.Defer(func() {
				shimtest.EndAll(env.T().(testing.TB), filepath.Join(dir, "data"))
				os.RemoveAll(dir)
			})
			env.Setenv("ASSAY_DATA", filepath.Join(dir, "data"))
			env.Setenv("TMPDIR", dir)
			shared, err := filepath.Abs("../../../shared/data")
			if err != nil {
				return err
			}
			env.Setenv("SHARED", shared)
			if asksModel.MatchString(env.WorkDir) {
				env.Setenv("MODEL", llmtest.New(env.T().(testing.TB), model).BaseURL)
			}
			if strings.HasSuffix(env.WorkDir, "script-repeat") {
				env.Setenv("MODEL", llmtest.New(env.T().(testing.TB), flips()).BaseURL)
			}
			if strings.HasSuffix(env.WorkDir, "script-database") {
				env.Setenv("DATABASE", pgtest.Database(env.T().(testing.TB)))
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "shared" {
				_, err := os.Stat("../../../shared/data")
				if err != nil && os.Getenv("CI") != "" {
					return false, errors.New("the shared data is missing in CI")
				}
				return err == nil, nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "until": until, "repeat": repeat, "setenv": setenv, "expand": expand, "times": times,
		},
	})
}

// asksModel are the scripts that have the address of a scripted model in $MODEL.
var asksModel = regexp.MustCompile(`script-(budget|margin|models|provider|spend|try)$`)

// model answers that it is ok, but garbles its first answer about a session that says so, and knows no
// model that is called absent.
func model(r *llmtest.Request) llmtest.Step {
	if strings.Contains(string(r.Body), `"m-absent"`) {
		return llmtest.NoModel()
	}
	if strings.Contains(r.Transcript(), "garble") && !r.Repeated() {
		return llmtest.Garbage()
	}
	return llmtest.Verdict(map[string]any{"ok": true})
}

// exits N COMMAND...: the command ends with status N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// patience is how long until waits for what should come within a second.
const patience = 20 * time.Second

// until REGEXP COMMAND...: runs the command again and again until its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP COMMAND...")
	}
	want, err := regexp.Compile(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(patience); ; {
		_ = ts.Exec(args[1], args[2:]...) // it may fail for as long as what it looks for is not there
		out := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if want.MatchString(out) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no %q in\n%s", want, out)
		}
	}
}

// setenv NAME FILE: the first line of a file, or of stdout, becomes a variable.
func setenv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: setenv NAME FILE")
	}
	line, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	ts.Setenv(args[0], line)
}

// expand FILE: variables in a file are put in place.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// repeat N FILE: writes sessions s1 to sN of users u1 to uN in the native format, all dated.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: repeat N FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var b strings.Builder
	for i := range n {
		id := strconv.Itoa(i + 1)
		arm := []string{"a", "b"}[i%2]
		b.WriteString(`{"format":"assay.session/1","user_id":"u` + id + `","session_id":"s` + id + `","turns":[{"started_at":"2026-03-02T10:00:00Z","metadata":{"arm":"` + arm +
			`"},"messages":[{"role":"user","content":"question ` + id + `"},{"role":"assistant","content":"answer"}]}]}` + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}
