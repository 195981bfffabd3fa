package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const (
	sdkCalls    = 500 // in flight
	promptBytes = 8 << 10
)

// long is what the agent says in a session whose prompt has about 8 KB.
var long = strings.Repeat("I looked the booking up and changed the date as you asked; the fare stays the same. ", promptBytes/84)

// sdk grades sessions of 8 KB with the whole program, and compares with the provider's own client that
// sends prompts of that size and does nothing else, each in a process of its own.
func sdk(ctx context.Context, o options) ([]figure, error) {
	url, stop, err := startModel()
	if err != nil {
		return nil, err
	}
	defer stop()
	began := time.Now()
	var shares []float64
	var ours, theirs, rss float64
	for i := range 3 {
		const n = sdkCalls * 30
		if theirs, err = typedRate(ctx, o, url, n); err != nil {
			return nil, err
		}
		var peak float64
		if ours, peak, err = gradeRate(ctx, o, filepath.Join(o.Dir, fmt.Sprint(i)), url, long, n, sdkCalls); err != nil {
			return nil, err
		}
		shares = append(shares, ours/theirs)
		rss = max(rss, peak)
	}
	return []figure{{
		Work:  fmt.Sprintf("llm judge, prompts of %d KB, %d in flight, beside the SDK alone (SQLite)", promptBytes>>10, sdkCalls),
		Reach: "90 % of the SDK", Got: fmt.Sprintf("%.0f %% (median of 3; last %.0f/s of %.0f/s)", 100*median(shares), ours, theirs),
		RSS: rss, Seconds: time.Since(began).Seconds(),
	}}, nil
}

// typedRate runs the role typed and returns its calls per second.
func typedRate(ctx context.Context, o options, url string, n int) (rate float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, "-role", "typed", "-dir", url, "-items", fmt.Sprint(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	var f figure
	if err := json.Unmarshal(out, &f); err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(f.Got, &rate)
	return rate, err
}

// typed is the hidden role that calls the endpoint in o.Dir with openai-go as its documentation does.
func typed(ctx context.Context, o options) ([]figure, error) {
	client := openai.NewClient(option.WithBaseURL(o.Dir), option.WithAPIKey("none"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * sdkCalls}}))
	params := openai.ChatCompletionNewParams{Model: "bench-2026-01-01", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(long)}}
	var left atomic.Int64
	left.Store(int64(o.Items))
	var failed atomic.Pointer[error]
	began := time.Now()
	var wg sync.WaitGroup
	for range sdkCalls {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := client.Chat.Completions.New(ctx, params); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return []figure{{Work: "typed", Got: fmt.Sprint(float64(o.Items) / time.Since(began).Seconds())}}, nil
}
