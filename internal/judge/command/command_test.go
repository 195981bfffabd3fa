package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
)

func session() *assay.Session {
	return &assay.Session{UserID: "u1", SessionID: "s-treatment", SourceURL: "http://x", Turns: []assay.Turn{{
		AgentVersion: "v7", Source: "chat",
		Metadata: map[string]json.RawMessage{"arm": json.RawMessage(`"treatment"`), "tier": json.RawMessage(`"gold"`)},
		Messages: []assay.Message{{Role: assay.RoleUser, Content: "cancel my booking"}, {Role: assay.RoleAssistant, Content: "It is done."}},
	}}}
}

var criteria = []assay.Criterion{{Name: "resolved", Type: assay.Boolean, Evidence: assay.EvidenceOptional, MayAbstain: true}}

func lookup(name string) (string, bool) {
	if name == "JUDGE_KEY" {
		return "key-0123456789", true
	}
	return os.LookupEnv(name)
}

// script writes a program and makes a judge of it.
func script(t testing.TB, text string, settings Settings, fields ...string) *Judge {
	t.Helper()
	settings.Folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(settings.Folder, "grade.sh"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	spec, err := NewSpec([]string{"./grade.sh", "--strict"}, []string{"JUDGE_KEY"}, settings.Folder, Env{lookup})
	if err != nil {
		t.Fatal(err)
	}
	j, err := New(judge.Definition{Criteria: criteria, Fields: fields}, spec, settings, Env{lookup})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestAnswersAndClasses(t *testing.T) {
	const ok = `echo '{"resolved":{"value":true,"reason":"done","evidence":[{"quote":"It is done."},"nowhere"]}}'`
	for name, tc := range map[string]struct {
		script string
		class  assay.Class
		says   string
	}{
		"a verdict":            {"cat >/dev/null; " + ok, "", ""},
		"without reading":      {ok, "", ""},
		"abstained":            {`echo '{"resolved":{"status":"cannot_tell"}}'`, "", ""},
		"exit code":            {ok + "; echo the model is away >&2; exit 4", assay.ClassJudgeError, "exited with 4: the model is away"},
		"signal":               {"kill -9 $$", assay.ClassJudgeError, "signal"},
		"nothing":              {"exit 0", assay.ClassMalformed, "printed nothing"},
		"no JSON":              {"echo yes", assay.ClassMalformed, "not one JSON object"},
		"two objects":          {ok + ";" + ok, assay.ClassMalformed, "not one JSON object"},
		"a list":               {"echo '[1]'", assay.ClassMalformed, "not a JSON object"},
		"missing criterion":    {"echo '{}'", assay.ClassMalformed, "resolved is missing"},
		"unknown criterion":    {`echo '{"resolved":{"value":true},"solved":{"value":true}}'`, assay.ClassMalformed, `"solved" is not a criterion`},
		"wrong type":           {`echo '{"resolved":{"value":"true"}}'`, assay.ClassMalformed, "true or false"},
		"twice":                {`echo '{"resolved":{"value":true},"resolved":{"value":false}}'`, assay.ClassMalformed, "given twice"},
		"too much":             {"head -c 3000000 /dev/zero", assay.ClassMalformed, "more than"},
		"secret on stderr":     {`echo "bad key $JUDGE_KEY" >&2; exit 1`, assay.ClassJudgeError, "bad key [masked]"},
		"secret in the answer": {`printf '%s' "$JUDGE_KEY"`, assay.ClassMalformed, "not one JSON object"},
		"secret in the reason": {`printf '{"resolved":{"value":true,"reason":"%s"}}' "$JUDGE_KEY"`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := script(t, tc.script, Settings{}).Ask(t.Context(), judge.Question{Session: session()})
			if r.Class != tc.class || !strings.Contains(r.Error, tc.says) || (r.Class == "") != (len(r.Answers) == 1) {
				t.Fatalf("%+v", r)
			}
			if strings.Contains(fmt.Sprint(r.Error, r.Raw, r.Answers), "0123456789") {
				t.Errorf("the key is in the reply: %+v", r)
			}
		})
	}
	r := script(t, ok, Settings{}).Ask(t.Context(), judge.Question{Session: session()})
	f := r.Answers[0].Findings[0]
	if !*r.Answers[0].Pass || f.Reason != "done" || len(f.Evidence) != 2 || !f.Evidence[0].Verified || f.Evidence[0].Message != 1 || f.Evidence[1].Verified {
		t.Errorf("%+v", f)
	}
	if r := (&Judge{}).Ask(t.Context(), judge.Question{}); r.Class != assay.ClassSessionMissing {
		t.Errorf("%+v", r)
	}
}

func TestWhatTheProgramSees(t *testing.T) {
	seen := func(fields ...string) string {
		r := script(t, "cat; env", Settings{}, fields...).Ask(t.Context(), judge.Question{Session: session(), Repeat: 2})
		return r.Raw
	}
	blind := seen()
	for _, hidden := range []string{"treatment", "v7", "gold", "u1", "http://x", "chat"} {
		if strings.Contains(blind, hidden) {
			t.Errorf("%q is shown: %s", hidden, blind)
		}
	}
	for _, shown := range []string{"cancel my booking", "ASSAY_REPEAT=2", "ASSAY_CRITERIA=resolved", "JUDGE_KEY=[masked]"} {
		if !strings.Contains(blind, shown) {
			t.Errorf("%q is missing: %s", shown, blind)
		}
	}
	if all := seen("metadata.tier", "session_id", "agent_version"); !strings.Contains(all, "gold") || !strings.Contains(all, "s-treatment") || !strings.Contains(all, "v7") || strings.Contains(all, `"arm"`) {
		t.Errorf("%s", all)
	}
}

// A program that ignores TERM and forks a child that does so too: at the limit both are gone.
func TestTheLimitEndsTheWholeGroup(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "pids")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	j := script(t, fmt.Sprintf(`trap '' TERM; (trap '' TERM; while :; do sleep 60; done) & echo $$ $! > %s; while :; do sleep 60; done`, fifo), Settings{Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	pids := make(chan []string, 1)
	go func() {
		raw, _ := os.ReadFile(fifo)
		pids <- strings.Fields(string(raw))
		cancel()
	}()
	r := j.Ask(ctx, judge.Question{Session: session()})
	if r.Class != assay.ClassAborted {
		t.Fatalf("%+v", r)
	}
	for _, pid := range <-pids {
		n, _ := strconv.Atoi(pid)
		deadline := time.Now().Add(5 * time.Second)
		for alive(n) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d outlived its question", n)
			}
		}
	}
	j = script(t, "sleep 60", Settings{Timeout: 50 * time.Millisecond})
	if r := j.Ask(t.Context(), judge.Question{Session: session()}); r.Class != assay.ClassTimeout || !strings.Contains(r.Error, "longer than 50ms") {
		t.Fatalf("%+v", r)
	}
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestTheProgramIsTheOneOfTheVersion(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "grade.sh")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\necho '{\"resolved\":{\"value\":true}}'\n")
	spec, err := NewSpec([]string{"sh", "grade.sh"}, nil, dir, Env{lookup})
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Files) != 2 {
		t.Fatalf("the interpreter and the script are the program: %+v", spec)
	}
	d := judge.Definition{Criteria: criteria}
	j, err := New(d, spec, Settings{Folder: dir}, Env{lookup})
	if err != nil {
		t.Fatal(err)
	}
	if r := j.Ask(t.Context(), judge.Question{Session: session()}); r.Class != "" {
		t.Fatalf("%+v", r)
	}
	write("#!/bin/sh\necho '{\"resolved\":{\"value\":false}}' # other\n")
	if r := j.Ask(t.Context(), judge.Question{Session: session()}); r.Class != assay.ClassJudgeError || !strings.Contains(r.Error, "changed since") || !r.CallAt.IsZero() {
		t.Errorf("%+v", r)
	}
	if _, err := New(d, spec, Settings{Folder: dir}, Env{lookup}); err == nil {
		t.Error("another program was taken for the version's")
	}
	if _, err := NewSpec([]string{"no-such-program-anywhere"}, nil, dir, Env{lookup}); err == nil {
		t.Error("a missing program was accepted")
	}
}

func BenchmarkAsk(b *testing.B) {
	j := script(b, `echo '{"resolved":{"value":true}}'`, Settings{})
	s := session()
	for b.Loop() {
		if r := j.Ask(b.Context(), judge.Question{Session: s}); r.Class != "" {
			b.Fatal(r)
		}
	}
}
