package wrap

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/engine"
	"assay/internal/logs"
)

// told is a server in memory that loses answers: the n-th call is done, and says that it was not.
type told struct {
	mu     sync.Mutex
	calls  int
	loses  func(call int) bool
	runs   map[string]assay.RunID // by key
	log    []byte
	points int
	ends   []engine.Finish
	stop   bool
	asked  engine.ExternalRequest
}

func (s *told) call() error {
	s.calls++
	if s.loses != nil && s.loses(s.calls) {
		return errors.New("the answer was lost")
	}
	return nil
}

func (s *told) StartExternal(_ context.Context, _ string, q engine.ExternalRequest, key string) (r api.SuiteRun, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = q
	if s.runs == nil {
		s.runs = map[string]assay.RunID{}
	}
	if s.runs[key] == 0 {
		s.runs[key] = assay.RunID(len(s.runs) + 1)
	}
	r.ID = s.runs[key]
	return r, s.call()
}

func (s *told) SendReport(_ context.Context, _ assay.RunID, r api.ExternalReport) (out api.ExternalReported, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := r.Log; l != nil {
		if l.Offset-l.Gap > int64(len(s.log)) {
			return out, assay.Errorf(assay.CodeInvalid, "a hole").With("log_sent", fmt.Sprint(len(s.log)))
		}
		if known := int64(len(s.log)) - l.Offset; known < int64(len(l.Data)) {
			s.log = append(s.log, l.Data[known:]...)
		}
	}
	s.points += len(r.Metrics)
	out.Sent, out.Stop = int64(len(s.log)), s.stop
	return out, s.call()
}

func (s *told) Finish(_ context.Context, _ assay.RunID, f engine.Finish) (r api.RunView, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, f)
	return r, s.call()
}

func job(t *testing.T, server Server, script string) (Job, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return Job{Argv: []string{"sh", "-c", script}, Project: "default", Spool: t.TempDir(), Out: out, Err: out, Patience: time.Second, Grace: time.Second,
		Say: func(format string, args ...any) { t.Logf(format, args...) }, Connect: func(Start) (Server, error) { return server, nil }}, out
}

// Answers are lost at every moment, and another process goes on: all of the output arrives, once.
func TestNothingIsLostAndNothingIsToldTwice(t *testing.T) {
	for every := 2; every < 6; every++ {
		s := &told{loses: func(n int) bool { return n < 40 && n%every == 0 }}
		j, out := job(t, s, `i=0; while [ $i -lt 20000 ]; do echo "line $i of a long output"; i=$((i+1)); done; exit 3`)
		done, err := Run(t.Context(), j)
		if err != nil || done.Status != 3 {
			t.Fatalf("%+v, %v", done, err)
		}
		for range 20 {
			left := Left(j.Spool)
			if len(left) == 0 {
				break
			}
			_, _ = Send(t.Context(), left[0], j.Connect) // it fails now and then, as it must
		}
		if len(Left(j.Spool)) != 0 {
			t.Errorf("every %d: something is kept still", every)
		}
		if !bytes.Equal(s.log, out.Bytes()) || len(s.runs) != 1 || len(s.ends) == 0 || s.ends[0].Code != 3 {
			t.Errorf("every %d: %d bytes of %d, %d runs, ends %+v", every, len(s.log), out.Len(), len(s.runs), s.ends)
		}
	}
}

// hanging answers nothing until it is given up.
type hanging struct{ told }

func (h *hanging) StartExternal(ctx context.Context, _ string, _ engine.ExternalRequest, _ string) (r api.SuiteRun, err error) {
	<-ctx.Done()
	return r, ctx.Err()
}

// A disk that is full when the command ends, or all the time, keeps nothing from a server that is there.
func TestWhatCannotBeKeptIsToldAllTheSame(t *testing.T) {
	s := &told{}
	j, out := job(t, s, `cd "$(dirname "$ASSAY_REPORT")"; mkdir finish.json.new sent.json.new; echo out; exit 3`)
	done, err := Run(t.Context(), j)
	if err != nil || done.Status != 3 || !done.Told || out.String() != "out\n" {
		t.Errorf("%+v, %v, %q", done, err, out)
	}
	if len(s.ends) != 1 || s.ends[0].Code != 3 || string(s.log) != "out\n" {
		t.Errorf("ends %+v, log %q", s.ends, s.log)
	}
}

// stranger answers everything, and is no Assay server.
type stranger struct{ calls int }

func (s *stranger) StartExternal(context.Context, string, engine.ExternalRequest, string) (r api.SuiteRun, err error) {
	s.calls++
	return r, nil
}
func (s *stranger) SendReport(context.Context, assay.RunID, api.ExternalReport) (r api.ExternalReported, err error) {
	return r, nil
}
func (s *stranger) Finish(context.Context, assay.RunID, engine.Finish) (r api.RunView, err error) {
	return r, nil
}

func TestAServerOfAnotherKindIsAskedNoMoreThanOneThatFails(t *testing.T) {
	s := &stranger{}
	j, _ := job(t, s, "exit 4")
	if done, err := Run(t.Context(), j); err != nil || done.Status != 4 || done.Told || s.calls > 5 || len(Left(j.Spool)) != 1 {
		t.Errorf("%+v, %v: asked %d times, kept %v", done, err, s.calls, Left(j.Spool))
	}
}

func TestAServerThatHangsHoldsNothingUp(t *testing.T) {
	j, out := job(t, &hanging{}, `echo done; exit 4`)
	j.Patience = 100 * time.Millisecond
	begun := time.Now()
	done, err := Run(t.Context(), j)
	if took := time.Since(begun); err != nil || done.Status != 4 || done.Told || out.String() != "done\n" || took > 5*time.Second {
		t.Errorf("%+v, %v, %q after %s", done, err, out, took)
	}
	if len(Left(j.Spool)) != 1 {
		t.Error("nothing is kept")
	}
}

// A spool on which another process works is left alone, and one whose wrap was killed tells its output and
// no end.
func TestASpoolWhoseWrapWasKilled(t *testing.T) {
	root, s := t.TempDir(), &told{}
	sp, err := newSpool(root, Start{Project: "default", Key: "k", At: time.Now()}, durable.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := logs.OpenWriter(sp.path(logDir), logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("half a li"))
	connect := func(Start) (Server, error) { return s, nil }
	if _, err := Send(t.Context(), sp.dir, connect); assay.CodeOf(err) != assay.CodeUnavailable {
		t.Errorf("a spool in use: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sp.close() // as the kernel does for a dead process
	if _, err := Send(t.Context(), sp.dir, connect); err != nil || string(s.log) != "half a li" || len(s.ends) != 0 {
		t.Errorf("%v, log %q, ends %+v", err, s.log, s.ends)
	}
	if len(Left(root)) != 0 {
		t.Error("it is kept")
	}
}

func TestAFolderThatIsNoSpoolIsLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	if _, err := Send(t.Context(), dir, nil); assay.CodeOf(err) != assay.CodeNotFound {
		t.Error(err)
	}
	everyFile(t, os.DirFS(dir), func(name, _ string) { t.Errorf("%s was made", name) })
}

func TestASecretIsNowhereInTheSpool(t *testing.T) {
	t.Setenv("MY_SECRET", "correct-horse-battery")
	j, _ := job(t, &hanging{}, `printf correct-horse-; sleep 0; echo battery; echo "metric correct-horse-battery 1" >&3; exit 0`)
	j.Argv = append(j.Argv, "correct-horse-battery")
	j.Secrets, j.Env, j.Patience = []string{"MY_SECRET"}, []string{"MY_SECRET"}, 10*time.Millisecond
	if done, err := Run(t.Context(), j); err != nil || done.Status != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if found := Left(j.Spool); len(found) != 1 {
		t.Fatalf("spools %v", found)
	}
	everyFile(t, os.DirFS(j.Spool), func(name, text string) {
		if strings.Contains(text, "correct-horse-battery") {
			t.Errorf("%s holds the secret:\n%s", name, text)
		}
	})
	j.Secrets = []string{"SHORT"}
	t.Setenv("SHORT", "abc")
	if _, err := Run(t.Context(), j); assay.CodeOf(err) != assay.CodeInvalid || strings.Contains(err.Error(), "abc") {
		t.Errorf("a secret that cannot be masked: %v", err)
	}
}

// held is a reader that takes its time: nothing is written before it is opened.
type held struct {
	bytes.Buffer
	open chan struct{}
}

func (h *held) Write(p []byte) (int, error) {
	<-h.open
	return h.Buffer.Write(p)
}

// Whoever reads the output may be slower than the command, and gets all of it.
func TestASlowReaderGetsAllOutput(t *testing.T) {
	const size = 120_000 // more than one read, and less than what blocks the command
	out := &held{open: make(chan struct{})}
	j, _ := job(t, &told{}, fmt.Sprintf("head -c %d /dev/zero; for n in 1 2 3; do echo metric a $n >&3; done", size))
	j.Out = out
	time.AfterFunc(drainLimit+time.Second, func() { close(out.open) })
	if done, err := Run(t.Context(), j); err != nil || done.Status != 0 || out.Len() != size {
		t.Errorf("%+v, %v: %d bytes of %d", done, err, out.Len(), size)
	}
}

// What a command leaves behind may hold its output open, and write on and on.
func TestABackgroundWriterHoldsNothingUp(t *testing.T) {
	for _, script := range []string{"sleep 600 & echo $! >&2", "(trap '' PIPE; while :; do echo on; done) & echo $! >&2"} {
		j, _ := job(t, &told{}, script)
		var left bytes.Buffer
		j.Out, j.Err = io.Discard, &left
		begun := time.Now()
		done, err := Run(t.Context(), j)
		if took := time.Since(begun); err != nil || done.Status != 0 || took > 10*time.Second {
			t.Errorf("%s: %+v, %v after %s", script, done, err, took)
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(left.String())); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A server is told often enough that it does not take the run for lost.
func TestAShortStaleTimeIsKept(t *testing.T) {
	s := &sender{spool: &spool{start: Start{Ask: engine.ExternalRequest{Stale: assay.Seconds(3 * time.Second)}}}}
	if got := s.beat(); got > time.Second {
		t.Errorf("a report every %s", got)
	}
	s.spool.start.Ask.Stale = 0
	if got := s.beat(); got != beatEvery {
		t.Errorf("a report every %s", got)
	}
}

// What a server would refuse for ever is said before the command runs; what the command's own line brings
// is told as far as it goes.
func TestAStartThatAServerRefusesIsNotKept(t *testing.T) {
	for name, spoil := range map[string]func(*Job){
		"long name":     func(j *Job) { j.Name = strings.Repeat("x", 200) },
		"unprintable":   func(j *Job) { j.Name = "a\nb" },
		"stale too big": func(j *Job) { j.Stale = 48 * time.Hour },
		"stale below 0": func(j *Job) { j.Stale = -time.Second },
	} {
		j, out := job(t, &told{}, "echo ran")
		spoil(&j)
		if _, err := Run(t.Context(), j); assay.CodeOf(err) != assay.CodeInvalid || out.Len() != 0 || len(Left(j.Spool)) != 0 {
			t.Errorf("%s: %v, %q, kept %v", name, err, out, Left(j.Spool))
		}
	}
	s := &told{}
	j, _ := job(t, s, "exit 0")
	for range 12 {
		j.Argv = append(j.Argv, strings.Repeat("x", 100_000))
	}
	t.Setenv("LARGE", strings.Repeat("\x01", 120_000))
	j.Env = []string{"LARGE"}
	if done, err := Run(t.Context(), j); err != nil || done.Status != 0 || !done.Told {
		t.Fatalf("%+v, %v", done, err)
	}
	raw, err := json.Marshal(s.asked)
	if err != nil || len(raw) > 900_000 || len(s.asked.Argv) < 3 || s.asked.Argv[0] != "sh" {
		t.Errorf("%d bytes, %d arguments, %v", len(raw), len(s.asked.Argv), err)
	}
	j, _ = job(t, s, "")
	long := filepath.Join(t.TempDir(), strings.Repeat("ä", 100))
	if err := os.WriteFile(long, []byte("#!/bin/sh\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	j.Argv = []string{long}
	if done, err := Run(t.Context(), j); err != nil || done.Status != 7 || s.asked.Name != strings.Repeat("ä", 50) {
		t.Errorf("%+v, %v, name %q", done, err, s.asked.Name)
	}
}

// A file that two patterns mean is read once; one that nobody writes to is not waited for.
func TestResultFilesAreReadOnce(t *testing.T) {
	s := &told{}
	dir := t.TempDir()
	j, out := job(t, s, `cd "$DIR"; printf '<testsuite><testcase name="a"/><testcase name="b"/></testsuite>' > out.xml; mkfifo pipe.xml`)
	t.Setenv("DIR", dir)
	for _, path := range []string{"*.xml", "out.xml", "./out.xml"} {
		j.Results = append(j.Results, assay.ResultFile{Format: assay.ResultJUnit, Path: filepath.Join(dir, ".") + "/" + path})
	}
	var said []string
	j.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	done, err := Run(t.Context(), j)
	if err != nil || done.Status != 0 || len(s.ends) != 1 || len(s.ends[0].Cases) != 2 {
		t.Errorf("%+v, %v, %+v, %q", done, err, s.ends, out)
	}
	if len(said) != 1 || !strings.Contains(said[0], "pipe.xml is not a regular file") {
		t.Errorf("said %q", said)
	}
	read, broken := int64(0), 0
	for _, sum := range s.ends[0].Results {
		read += sum.Cases
		if sum.Error != "" {
			broken++
		}
	}
	if read != 2 || broken != 1 {
		t.Errorf("told of %+v", s.ends[0].Results)
	}
}

// A secret shows itself in the forms in which output is searched for it, in a command line and a variable too.
func TestSecretsInACommandLine(t *testing.T) {
	const secret = "hunter2-hunter2?"
	t.Setenv("WRAP_SECRET", secret)
	t.Setenv("WRAP_SHOWN", "https://x.example/?key="+url.QueryEscape(secret))
	s := &told{}
	j, _ := job(t, s, "true")
	j.Argv = append(j.Argv, secret, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("me:"+secret)))
	j.Secrets, j.Env = []string{"WRAP_SECRET"}, []string{"WRAP_SHOWN"}
	if _, err := Run(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%+v", s.asked)
	for _, form := range []string{"hunter2", "aHVudGVyMi1odW50ZXIyP", "1bnRlcjItaHVudGVyMj"} {
		if strings.Contains(text, form) {
			t.Errorf("%q is in %s", form, text)
		}
	}
	if !strings.Contains(text, "WRAP_SHOWN=https://x.example/?key=****") || !strings.Contains(text, "WRAP_SECRET=****") {
		t.Errorf("%s", text)
	}
}

// What is kept outlives a power cut: the start before the command, its output and reports before its end.
func TestTheOrderOfWhatIsKept(t *testing.T) {
	j, _ := job(t, &hanging{}, `echo out; echo "metric a 1" >&$ASSAY_REPORT_FD`)
	j.Patience = time.Millisecond
	var mu sync.Mutex
	var steps []string
	j.disk.Sync = func(f *os.File) error {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, filepath.Base(f.Name()))
		return f.Sync()
	}
	if done, err := Run(t.Context(), j); err != nil || done.Told {
		t.Fatal(done, err)
	}
	left := Left(j.Spool)
	if len(left) != 1 {
		t.Fatal(left)
	}
	kept := filepath.Base(left[0])
	want := []string{filepath.Base(j.Spool), "wrap.json.new", kept, kept, "00000000000000000000-000000000000", "log", "events", "finish.json.new", kept}
	if !slices.Equal(steps, want) {
		t.Errorf("%q, want %q", steps, want)
	}
}
