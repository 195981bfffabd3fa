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
	"github.com/openai/openai-go/v3/shared"
)

const (
	sdkCalls    = 500 // in flight
	promptBytes = 8 << 10
)

// long is what the agent says in a session whose whole prompt has about 8 KB.
var long = strings.Repeat("I looked the booking up and changed the date as you asked; the fare stays the same. ", (promptBytes-1800)/84)

// sdk grades sessions with the whole program, and compares with the provider's own client that sends the
// same requests and does nothing else, each in a process of its own: once where the provider's latency
// bounds both, as a model does, and once where the processors do.
func sdk(ctx context.Context, o options) (out []figure, err error) {
	for _, l := range []time.Duration{300 * time.Millisecond, latency} {
		f, err := besideSDK(ctx, o, l)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func besideSDK(ctx context.Context, o options, latency time.Duration) (f figure, err error) {
	url, stop, err := startModel(latency)
	if err != nil {
		return f, err
	}
	defer stop()
	began := time.Now()
	var shares []float64
	var ours, theirs, rss float64
	for i := range 3 {
		const n = sdkCalls * 30
		data := filepath.Join(o.Dir, latency.String(), fmt.Sprint(i))
		if err := setConcurrency(ctx, o, data, url, sdkCalls); err != nil {
			return f, err
		}
		var peak float64
		if ours, peak, err = gradeRate(ctx, o, data, url, long, n, sdkCalls); err != nil {
			return f, err
		}
		if theirs, err = typedRate(ctx, o, data, url, n); err != nil {
			return f, err
		}
		shares = append(shares, ours/theirs)
		rss = max(rss, peak)
	}
	return figure{
		Work:  fmt.Sprintf("llm judge, prompts of %d KB, %d in flight, %s provider, beside the SDK alone (SQLite)", promptBytes>>10, sdkCalls, latency),
		Reach: "90 % of the SDK", Got: fmt.Sprintf("%.0f %% (median of 3; last %.0f/s of %.0f/s)", 100*median(shares), ours, theirs),
		RSS: rss, Seconds: time.Since(began).Seconds(),
	}, nil
}

// typedRate runs the role typed with the request that the judge sent and returns its calls per second.
func typedRate(ctx context.Context, o options, data, url string, n int) (rate float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	tried, err := assayRun(ctx, o, data, "judge", "try", "bench", "u0/s000000", "--dry-run", "--json")
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "request.json"), tried.out, 0o600); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, "-role", "typed", "-dir", o.Dir, "-url", url, "-items", fmt.Sprint(n))
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

// typed is the hidden role that calls an endpoint with openai-go as its documentation does.
func typed(ctx context.Context, o options) ([]figure, error) {
	params, err := request(filepath.Join(o.Dir, "request.json"))
	if err != nil {
		return nil, err
	}
	client := openai.NewClient(option.WithBaseURL(o.URL), option.WithAPIKey("none"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * sdkCalls}}))
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

// request reads what `assay judge try --dry-run --json` printed as the SDK's own parameters.
func request(file string) (openai.ChatCompletionNewParams, error) {
	var tried struct {
		Prompt struct {
			Request struct {
				Model     string
				MaxTokens int64 `json:"max_tokens"`
				Messages  []struct{ Role, Content string }
				Format    struct {
					Schema struct{ Schema map[string]any } `json:"json_schema"`
				} `json:"response_format"`
			}
		}
	}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &tried)
	}
	if err != nil {
		return openai.ChatCompletionNewParams{}, err
	}
	r := tried.Prompt.Request
	params := openai.ChatCompletionNewParams{Model: r.Model, MaxTokens: openai.Int(r.MaxTokens)}
	for _, m := range r.Messages {
		if m.Role == "system" {
			params.Messages = append(params.Messages, openai.SystemMessage(m.Content))
		} else {
			params.Messages = append(params.Messages, openai.UserMessage(m.Content))
		}
	}
	params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "verdict", Strict: openai.Bool(true), Schema: r.Format.Schema.Schema}}
	return params, nil
}
