package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/judge/llm/llmtest"
	"assay/internal/store/sqlite"
)

// latency is how long the provider of most parts takes for an answer.
const latency = 50 * time.Millisecond

// model is the hidden role that plays the provider, in a process of its own.
func model(ctx context.Context, o options) ([]figure, error) {
	s, err := llmtest.Start(llmtest.Fixed(map[string]any{"ok": true}))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.SetLatency(o.Latency)
	fmt.Println(s.BaseURL)
	_, err = io.Copy(io.Discard, os.Stdin) // until the parent goes
	return nil, err
}

// llm grades with an llm judge and compares with a bare HTTP client against the same server.
func llm(ctx context.Context, o options) ([]figure, error) {
	url, stop, err := startModel(latency)
	if err != nil {
		return nil, err
	}
	defer stop()
	var out []figure
	for _, c := range []struct {
		limit int
		bar   float64
	}{{200, 0.92}, {500, 0.75}} {
		began := time.Now()
		var shares []float64
		var ours, bare, rss float64
		for i := range 3 {
			n := c.limit * 100
			if bare, err = bareRate(url, n, c.limit); err != nil {
				return nil, err
			}
			var peak float64
			data := filepath.Join(o.Dir, fmt.Sprintf("%d-%d", c.limit, i))
			if err = setConcurrency(ctx, o, data, url, c.limit); err != nil {
				return nil, err
			}
			if ours, peak, err = gradeRate(ctx, o, data, url, small, n, c.limit); err != nil {
				return nil, err
			}
			shares = append(shares, ours/bare)
			rss = max(rss, peak)
		}
		out = append(out, figure{
			Work:  fmt.Sprintf("llm judge over HTTP, 50 ms provider, %d in flight (SQLite)", c.limit),
			Reach: fmt.Sprintf("%.0f %% of a bare Go client", 100*c.bar),
			Got:   fmt.Sprintf("%.0f %% (median of 3; last %.0f/s of %.0f/s)", 100*median(shares), ours, bare),
			RSS:   rss, Seconds: time.Since(began).Seconds(),
		})
	}
	return out, nil
}

func startModel(latency time.Duration) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, "-role", "model", "-latency", latency.String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line := make([]byte, 256)
	n, err := out.Read(line)
	if err != nil {
		return "", nil, err
	}
	return strings.TrimSpace(string(line[:n])), func() { in.Close(); _ = cmd.Wait() }, nil
}

// setConcurrency says how many calls the model takes: a limit that is known need not be found out, and the
// window of calls does not open slowly.
func setConcurrency(ctx context.Context, o options, data, url string, n int) error {
	_, err := assayRun(ctx, o, data, "models", "set", url, benchModel, "--concurrency", fmt.Sprint(n))
	return err
}

// bareRate posts n small requests with a plain client, limit at a time.
func bareRate(url string, n, limit int) (float64, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: 2 * limit, MaxIdleConnsPerHost: 2 * limit}}
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 2000) + `"}]}`)
	var left atomic.Int64
	left.Store(int64(n))
	var failed atomic.Pointer[error]
	began := time.Now()
	var wg sync.WaitGroup
	for range limit {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				resp, err := client.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
				if err != nil {
					failed.Store(&err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// benchModel is what the judges of these parts ask.
const benchModel = "bench-2026-01-01"

// small is what the agent says in a session of a few words.
const small = "done, is there anything else?"

// gradeRate grades n sessions with the real program; said is what the agent says in each.
func gradeRate(ctx context.Context, o options, data, url, said string, n, limit int) (rate, rss float64, err error) {
	judge := filepath.Join(o.Dir, "judge.yaml")
	yaml := fmt.Sprintf("name: bench\nkind: llm\ncriteria:\n  - name: ok\n    type: boolean\n    question: Did it go well?\nllm:\n  base_url: %s\n  model: "+benchModel+"\n", url)
	if err := os.WriteFile(judge, []byte(yaml), 0o600); err != nil {
		return 0, 0, err
	}
	sessions := filepath.Join(o.Dir, "sessions.jsonl")
	// Written through: what this process holds in memory would count as its child's peak.
	f, err := os.Create(sessions)
	if err != nil {
		return 0, 0, err
	}
	b := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(b, `{"format":"assay.session/1","user_id":"u%d","session_id":"s%06d","turns":[{"started_at":"2026-03-%02dT10:00:00Z","messages":[{"role":"user","content":"please help"},{"role":"assistant","content":%q}]}]}`+"\n", i%500, i, 1+i%14, said)
	}
	if err := errors.Join(b.Flush(), f.Close()); err != nil {
		return 0, 0, err
	}
	if _, err := assayRun(ctx, o, data, "import", sessions); err != nil {
		return 0, 0, err
	}
	e, err := assayRun(ctx, o, data, "grade", "--judge", judge, "--per-stratum", fmt.Sprint(n), "--concurrency", fmt.Sprint(limit), "--json")
	if err != nil {
		return 0, 0, err
	}
	rate, err = gradingRate(ctx, data, n)
	return rate, e.rss, err
}

// gradingRate is items per second from the first attempt to the end of the run.
func gradingRate(ctx context.Context, data string, n int) (float64, error) {
	s, err := sqlite.Open(ctx, data)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	run, err := s.Runs().Get(ctx, 1)
	if err != nil {
		return 0, err
	}
	counts, err := s.Items().Counts(ctx, run.ID, time.Now())
	if err != nil {
		return 0, err
	}
	if counts.Graded != int64(n) {
		return 0, fmt.Errorf("%d of %d items were graded", counts.Graded, n)
	}
	first, err := s.Items().Attempts(ctx, run.ID, 1)
	if err != nil {
		return 0, err
	}
	return float64(n) / run.EndedAt.Sub(first[0].OpenedAt).Seconds(), nil
}
