package provider

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

func withoutKey(s *Settings, _ *Params) { s.KeyEnv = "" }

func fromFile(path string) change {
	return func(s *Settings, _ *Params) { s.KeyEnv, s.KeyFile = "", path }
}

func fromCommand(argv ...string) change {
	return func(s *Settings, _ *Params) { s.KeyEnv, s.KeyCommand = "", argv }
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// keyed is a server that takes one key, and remembers the keys that it was shown.
type keyed struct {
	*llmtest.Server
	mu    sync.Mutex
	takes string
	shown []string
}

func newKeyed(t *testing.T, takes string) *keyed {
	k := &keyed{takes: takes}
	k.Server = llmtest.New(t, func(r *llmtest.Request) llmtest.Step {
		k.mu.Lock()
		defer k.mu.Unlock()
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		k.shown = append(k.shown, key)
		if key != k.takes {
			return llmtest.BadKey(key)
		}
		return llmtest.Verdict(yes)
	})
	return k
}

func (k *keyed) change(takes string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.takes = takes
}

func TestAKeyThatIsNotThereMakesNoCall(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty")
	write(t, empty, " \n")
	two := filepath.Join(folder, "two")
	write(t, two, "first-key\nsecond-key\n")
	script := filepath.Join(folder, "fails")
	write(t, script, "#!/bin/sh\necho "+secret+" >&2\necho half-a-key\nexit 3\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	server := llmtest.New(t, llmtest.Always(llmtest.Verdict(yes)))
	for name, tc := range map[string]struct {
		change change
		says   string
	}{
		"variable":           {func(s *Settings, _ *Params) { s.KeyEnv = "NOT_SET" }, "NOT_SET"},
		"file missing":       {fromFile(filepath.Join(folder, "none")), "api_key_file"},
		"file empty":         {fromFile(empty), "is empty"},
		"file with more":     {fromFile(two), "more than one line"},
		"folder":             {fromFile(folder), "no file of a key"},
		"command missing":    {fromCommand("/no/such/program"), "api_key_command"},
		"command fails":      {fromCommand(script), "ended with 3"},
		"command is silent":  {fromCommand("true"), "printed nothing"},
		"command is no line": {fromCommand("printf", "\\nkey-on-the-second-line"), "printed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, server.BaseURL, tc.change)
			content, r := c.Send(t.Context(), ask(c))
			if r.Class != assay.ClassBadCredentials || content != "" || !strings.Contains(r.Error, tc.says) || !r.CallAt.IsZero() || r.EndedAt.IsZero() {
				t.Errorf("%+v", r)
			}
			if strings.Contains(r.Error, secret) || strings.Contains(r.Error, "half-a-key") {
				t.Errorf("what the command wrote is shown: %s", r.Error)
			}
		})
	}
	if n := server.Count(); n != 0 {
		t.Errorf("%d calls", n)
	}
}

func TestNoKeyIsSentWhereNoneIsNamed(t *testing.T) {
	var header http.Header
	server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { header = r.Header; return llmtest.Verdict(yes) })
	c := newClient(t, server.BaseURL, withoutKey)
	if _, r := c.Send(t.Context(), ask(c)); r.Class != "" || header.Get("Authorization") != "" || header.Get("X-Api-Key") != "" || header.Get("Api-Key") != "" {
		t.Errorf("%+v %v", r, header)
	}
}

func TestAKeyFileIsReadAgainWhenItChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write(t, path, "\n first-key-of-file \r\n")
	server := newKeyed(t, "first-key-of-file")
	c := newClient(t, server.BaseURL, fromFile(path))
	if _, r := c.Send(t.Context(), ask(c)); r.Class != "" {
		t.Fatalf("%+v", r)
	}
	write(t, path, "another-key-of-file")
	server.change("another-key-of-file")
	if _, r := c.Send(t.Context(), ask(c)); r.Class != "" {
		t.Fatalf("%+v", r)
	}
	// As long, within the resolution of the file's time: the 401 tells.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "anotHER-key-of-file")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	server.change("anotHER-key-of-file")
	if _, r := c.Send(t.Context(), ask(c)); r.Class != "" {
		t.Fatalf("%+v", r)
	}
	if want := "first-key-of-file another-key-of-file another-key-of-file anotHER-key-of-file"; strings.Join(server.shown, " ") != want {
		t.Errorf("shown %q", server.shown)
	}
}

// counter is a command that prints a new key each time and counts how often it ran.
func counter(t *testing.T) (argv []string, runs func() int) {
	folder := t.TempDir()
	path := filepath.Join(folder, "runs")
	script := "echo x >> '" + path + "'; echo key-number-$(wc -l < '" + path + "' | tr -d ' ')-of-command; echo further output"
	return []string{"sh", "-c", script}, func() int {
		raw, err := os.ReadFile(path)
		if err != nil {
			return 0
		}
		return strings.Count(string(raw), "x")
	}
}

func TestASecretCommandIsAskedEveryFiveMinutesAndAfterA401(t *testing.T) {
	argv, runs := counter(t)
	server := newKeyed(t, "key-number-1-of-command")
	c := newClient(t, server.BaseURL, fromCommand(argv...))
	now := time.Now()
	c.keys.source.(*keyCommand).now = func() time.Time { return now }
	send := func(class assay.Class, ran int) {
		t.Helper()
		if _, r := c.Send(t.Context(), ask(c)); r.Class != class || runs() != ran {
			t.Fatalf("class %q %s after %d runs", r.Class, r.Error, runs())
		}
	}
	send("", 1)
	now = now.Add(commandFresh - time.Second)
	send("", 1)
	now = now.Add(2 * time.Second)
	server.change("key-number-2-of-command")
	send("", 2)
	server.change("key-number-3-of-command") // the call is made again with the new key
	send("", 3)
	server.change("another")
	send(assay.ClassBadCredentials, 4)
	if want := 7; server.Count() != want {
		t.Errorf("%d calls, want %d: %q", server.Count(), want, server.shown)
	}
}

func TestASecretCommandRunsOnceForAllWhoWait(t *testing.T) {
	argv, runs := counter(t)
	server := newKeyed(t, "key-number-1-of-command")
	c := newClient(t, server.BaseURL, fromCommand(argv...))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, r := c.Send(t.Context(), ask(c)); r.Class != "" {
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
	if runs() != 1 {
		t.Errorf("%d runs", runs())
	}
}

func TestASecretCommandThatHangs(t *testing.T) {
	server := llmtest.New(t, llmtest.Always(llmtest.Verdict(yes)))
	c := newClient(t, server.BaseURL, fromCommand("sleep", "60"), func(s *Settings, _ *Params) { s.Timeout = 30 * time.Millisecond })
	source := c.keys.source.(*keyCommand)
	source.most = 300 * time.Millisecond
	if _, r := c.Send(t.Context(), ask(c)); r.Class != assay.ClassTimeout || !r.CallAt.IsZero() {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, r := c.Send(ctx, ask(c)); r.Class != assay.ClassAborted {
		t.Errorf("%+v", r)
	}
	if _, err := source.key(t.Context()); err == nil || !strings.Contains(err.Error(), "did not end within 300ms") {
		t.Error(err)
	}
}

// Whatever a server says, no key that was ever sent stays in what leaves.
func TestKeysAreMaskedEverywhere(t *testing.T) {
	odd := `quote"and\slash-in-a-key`
	path := filepath.Join(t.TempDir(), "key")
	write(t, path, secret)
	rotated := false
	server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step {
		quoted := `"quote\"and\\slash-in-a-key ` + secret + `"`
		if rotated {
			return llmtest.Status(200, `{"model":"m `+secret+`","choices":[{"message":{"content":`+quoted+`}}]}`, "X-Request-Id", "id-"+secret)
		}
		return llmtest.Status(400, `{"error":{"message":`+quoted+`}}`, "X-Request-Id", "id-"+secret)
	})
	c := newClient(t, server.BaseURL, fromFile(path), as("", ChatCompletions, FormatNone))
	c.Send(t.Context(), ask(c))
	write(t, path, odd)
	for _, rotated = range []bool{false, true} {
		content, r := c.Send(t.Context(), ask(c))
		all := strings.Join([]string{content, r.Error, r.Raw, r.Model, r.RequestID, c.Content(r.Raw)}, "\n")
		if strings.Contains(all, secret) || strings.Contains(all, "slash-in-a-key") || !strings.Contains(all, "[key]") || r.RequestID != "id-[key]" {
			t.Errorf("%s", all)
		}
	}
}

func TestAShortKeyIsNoSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write(t, path, "ollama")
	server := llmtest.New(t, llmtest.Always(llmtest.Text("ollama says hello")))
	c := newClient(t, server.BaseURL, fromFile(path))
	if content, _ := c.Send(t.Context(), ask(c)); content != "ollama says hello" {
		t.Errorf("%q", content)
	}
}
