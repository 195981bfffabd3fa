package wrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
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
}

func (s *told) call() error {
	s.calls++
	if s.loses != nil && s.loses(s.calls) {
		return errors.New("the answer was lost")
	}
	return nil
}

func (s *told) StartExternal(_ context.Context, _ string, _ engine.ExternalRequest, key string) (r api.SuiteRun, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	sp, err := newSpool(root, Start{Project: "default", Key: "k", At: time.Now()})
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
