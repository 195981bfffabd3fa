package define

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/process"
)

func lookupIn(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func write(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// inFolder reads one suite of a file in dir.
func inFolder(t testing.TB, dir, suite string) assay.SuiteDefinition {
	t.Helper()
	suites, _, err := Parse([]byte("suites:\n  s:\n    "+strings.ReplaceAll(strings.TrimSpace(suite), "\n", "\n    ")+"\n"), filepath.Join(dir, "assay.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return suites[0].Def
}

func TestTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "db"), "from-file\r\n", 0o600)
	write(t, filepath.Join(dir, "show"), "#!/bin/sh\necho \"of-$1-${HOME:-nowhere}-${LEAK:-clean}\"\necho noise >&2\n", 0o700)
	def := inFolder(t, dir, `
command: [./x]
params:
  n: {type: int, default: 3, flag: -n, env: N}
  note: {type: string, env: NOTE}
  on: {type: bool, env: "ON", default: true}
env:
  pass:
    - PATH
    - UNSET
    - EMPTY
    - {name: URL, from: LLM_URL, fallback: http://fallback}
    - {name: REGION, from: LLM_REGION, fallback: eu}
    - {name: BLANK, fallback: ''}
    - GITHUB_TOKEN
    - {name: QUIET, from: OTHER_API_KEY}
  set: {B: 2, A: prefix-from-env-suffix}
  secrets:
    S_ENV: {env: LLM_KEY}
    S_FILE: {file: db}
    S_COMMAND: {command: [./show, vault]}
`)
	values, err := Resolve(def, nil, assay.ParamGiven)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"PATH": "/bin:/usr/bin", "EMPTY": "", "LLM_URL": "http://given", "HOME": "home", "LEAK": "leaked", "LLM_KEY": "from-env",
		"GITHUB_TOKEN": "ghp_12345678", "OTHER_API_KEY": "short", "SECRET_OF_THE_SERVER": "x"}
	env, shown, secrets, err := Environ(t.Context(), def, values, lookupIn(vars))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"PATH=/bin:/usr/bin", "EMPTY=", "URL=http://given", "REGION=eu", "BLANK=", "GITHUB_TOKEN=ghp_12345678", "QUIET=short", "A=prefix-from-env-suffix", "B=2",
		"N=3", "ON=true", "S_ENV=from-env", "S_FILE=from-file", "S_COMMAND=of-vault-home-clean"}
	if !slices.Equal(env, want) {
		t.Errorf("%q\n%q", env, want)
	}
	masked := []string{"PATH=/bin:/usr/bin", "EMPTY=", "URL=http://given", "REGION=eu", "BLANK=", "GITHUB_TOKEN=****", "QUIET=****", "A=prefix-****-suffix", "B=2",
		"N=3", "ON=true", "S_ENV=****", "S_FILE=****", "S_COMMAND=****"}
	if !slices.Equal(shown, masked) {
		t.Errorf("%q\n%q", shown, masked)
	}
	if want := []string{"of-vault-home-clean", "ghp_12345678", "from-file", "from-env"}; !slices.Equal(secrets, want) {
		t.Errorf("%q", secrets)
	}
}

// A secret that stands in another variable in base64, in a URL or in JSON is hidden there too, as in output.
func TestSecretsInOtherVariablesInEveryForm(t *testing.T) {
	const key = "k3y/with \"quotes\"+"
	def := inFolder(t, t.TempDir(), "command: [./x]\nenv:\n  secrets: {KEY: {env: THE_KEY}}\n  pass: [BASIC, ADDRESS, CONFIG]")
	vars := map[string]string{"THE_KEY": key, "BASIC": "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+key)),
		"ADDRESS": "https://x/?k=" + url.QueryEscape(key), "CONFIG": `{"k":"k3y/with \"quotes\"+"}`}
	env, shown, _, err := Environ(t.Context(), def, nil, lookupIn(vars))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(shown, "|")
	if !slices.Contains(env, "BASIC="+vars["BASIC"]) || strings.Contains(text, "3kvd2l0aCAicXVvdGVzIi") || !strings.HasPrefix(text, "BASIC=Basic ") ||
		!strings.Contains(text, `****|ADDRESS=https://x/?k=****|CONFIG={"k":"****"}|KEY=****`) {
		t.Errorf("%s", text)
	}
}

// The error names the secret and where it should be, and never holds a part of it.
func TestSecretsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "short"), "abc\n", 0o600)
	write(t, filepath.Join(dir, "long"), strings.Repeat("hush", maxSecret), 0o600)
	write(t, filepath.Join(dir, "nul"), "hush\x00hush", 0o600)
	write(t, filepath.Join(dir, "fails"), "#!/bin/sh\necho hush-out; echo hush-err >&2; exit 3\n", 0o700)
	write(t, filepath.Join(dir, "silent"), "#!/bin/sh\n", 0o700)
	write(t, filepath.Join(dir, "killed"), "#!/bin/sh\necho hush; kill -9 $$\n", 0o700)
	write(t, filepath.Join(dir, "endless"), "#!/bin/sh\nyes hush\n", 0o700)
	write(t, filepath.Join(dir, "plain"), "hush", 0o600)
	for name, c := range map[string]struct{ from, says string }{
		"unset":           {"{env: NOT_THERE}", "the variable NOT_THERE is not set or empty"},
		"empty variable":  {"{env: EMPTY}", "the variable EMPTY is not set or empty"},
		"short":           {"{file: short}", "shorter than 4 bytes"},
		"missing file":    {"{file: none}", filepath.Join(dir, "none") + " cannot be read: no such file"},
		"a folder":        {"{file: .}", "is not a regular file"},
		"long":            {"{file: long}", "longer than 65536 bytes"},
		"NUL":             {"{file: nul}", "holds a NUL"},
		"fails":           {"{command: [./fails]}", "its command failed"},
		"silent":          {"{command: [./silent]}", "shorter than 4 bytes"},
		"killed":          {"{command: [./killed]}", "ended by the signal killed"},
		"endless":         {"{command: [sh, -c, './endless | head -c 100000']}", "longer than 65536 bytes"},
		"missing program": {"{command: [no-such-vault]}", "no-such-vault"},
		"no program":      {"{command: [./plain]}", "plain may not be executed"},
	} {
		def := inFolder(t, dir, "command: [./x]\nenv:\n  secrets:\n    FINE: {env: FINE}\n    THE_KEY: "+c.from)
		env, shown, secrets, err := Environ(t.Context(), def, nil, lookupIn(map[string]string{"PATH": "/bin:/usr/bin", "EMPTY": "", "FINE": "hush-fine"}))
		var e *assay.Error
		if !errors.As(err, &e) || e.Code != assay.CodeInvalid || !strings.HasPrefix(e.Message, "secret THE_KEY: ") || !strings.Contains(e.Message, c.says) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(e.Message+e.Hint, "hush") || env != nil || shown != nil || secrets != nil {
			t.Errorf("%s: something leaks: %v %q", name, err, env)
		}
	}
}

func TestASecretsCommandIsEnded(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	def := inFolder(t, dir, "command: [./x]\nenv:\n  secrets:\n    THE_KEY: {command: [sh, -c, 'echo $$ >started; exec sleep 1000']}")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, _, err := Environ(ctx, def, nil, lookupIn(map[string]string{"PATH": "/bin:/usr/bin"}))
		done <- err
	}()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(started); err == nil && strings.HasSuffix(string(text), "\n") {
			break
		}
		select {
		case err := <-done:
			t.Fatalf("ended too early: %v", err)
		case <-deadline:
			t.Fatal("the command was not started")
		case <-tick.C:
		}
	}
	cancel()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "THE_KEY") || !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-deadline:
		t.Fatal("the command outlived its caller")
	}
}

// A real process gets each value as one argument and one variable: no shell has read them.
func TestAHarnessGetsItsParametersAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "show"), "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done\nprintf '%s\\0' \"$NOTE\"\n", 0o700)
	def := inFolder(t, dir, `
command: [./show, "a b;c"]
params:
  note: {type: string, flag: --note, env: NOTE}
  path: {type: string, flag: --path=}
`)
	for _, text := range []string{"$(touch pwned); `touch pwned` && touch pwned | touch pwned > pwned", "line one\nline two\r\n", "--note", "-rf /", "'\"\\ * ? ~ $HOME ${IFS}", "é 世界 \x1b[31m"} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		values, err := Resolve(def, map[string]json.RawMessage{"note": raw, "path": raw}, assay.ParamGiven)
		if err != nil {
			t.Fatal(err)
		}
		env, _, _, err := Environ(t.Context(), def, values, nil)
		if err != nil {
			t.Fatal(err)
		}
		argv := Argv(def, values)
		program, err := process.Find(argv[0], def.Dir, env)
		if err != nil {
			t.Fatal(err)
		}
		r, err := process.Run(t.Context(), process.Spec{Argv: append([]string{program}, argv[1:]...), Dir: def.Dir, Env: env, MaxStdout: 1 << 20, Limit: time.Minute})
		if err != nil || r.Code != 0 {
			t.Fatalf("%v %+v", err, r)
		}
		want := strings.Join(append(argv[1:], text), "\x00") + "\x00"
		if string(r.Stdout) != want {
			t.Errorf("%q, not %q", r.Stdout, want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("something was run: %v %v", files, err)
	}
}
