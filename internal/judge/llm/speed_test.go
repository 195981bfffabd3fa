package llm

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/llmtest"
	"assay/internal/judge/llm/provider"
)

// BenchmarkAsk is one question after the other: the cost of ours beside the wire's.
func BenchmarkAsk(b *testing.B) {
	server := llmtest.New(b, llmtest.Fixed(map[string]any{"resolved": true}))
	j := newJudge(b, server.BaseURL)
	s := session("please cancel my booking")
	b.ReportAllocs()
	for b.Loop() {
		if r := j.Ask(b.Context(), judge.Question{Session: s}); r.Class != "" {
			b.Fatal(r)
		}
	}
}

// BenchmarkDraft is our part of a question with a session of 8 KB: what comes before the call and after
// it.
func BenchmarkDraft(b *testing.B) {
	j := newJudge(b, "http://localhost/v1")
	s := session(strings.Repeat("please cancel my booking, and tell me when it is done. ", 150))
	b.Run("before", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if d := j.Draft(judge.Question{Session: s}); d.Ended != nil {
				b.Fatal(d.Ended)
			}
		}
	})
	b.Run("after", func(b *testing.B) {
		q, _ := j.question(judge.Question{Session: s})
		q.token = tok
		content := llmtest.Answer(tok, map[string]any{"resolved": llmtest.Finding{Value: true, Reason: "The agent cancelled the booking and said so.", Quotes: []string{"please cancel my booking"}}})
		b.ReportAllocs()
		for b.Loop() {
			var r judge.Reply
			if j.answered(q, content, &r); r.Class != "" {
				b.Fatal(r.Error)
			}
		}
	})
}

// BenchmarkInFlight compares a judge with a bare Go client that sends the same body to the same
// server in the same run, at 50 ms latency. The server is a process of its own.
func BenchmarkInFlight(b *testing.B) {
	base := serverProcess(b, 50*time.Millisecond)
	s := session("please cancel my booking")
	for _, n := range []int{200, 500} {
		var bare, ours float64
		b.Run(fmt.Sprintf("bare/%d", n), func(b *testing.B) {
			client := &http.Client{Transport: provider.NewTransport()}
			defer client.CloseIdleConnections()
			body := sentBody(b, s)
			bare = inFlight(b, n, func() error { return post(client, base, body) })
		})
		b.Run(fmt.Sprintf("judge/%d", n), func(b *testing.B) {
			j := newJudge(b, base)
			ours = inFlight(b, n, func() error {
				if r := j.Ask(b.Context(), judge.Question{Session: s}); r.Class != "" {
					return fmt.Errorf("%s: %s", r.Class, r.Error)
				}
				return nil
			})
			if bare > 0 {
				b.ReportMetric(100*ours/bare, "%ofbare")
			}
		})
	}
}

func inFlight(b *testing.B, n int, call func() error) (perSecond float64) {
	round := func(calls int) {
		var wg sync.WaitGroup
		var left atomic.Int64
		left.Store(int64(calls))
		for range n {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if err := call(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	round(2 * n) // opens the connections
	b.ResetTimer()
	began, used := time.Now(), processorTime()
	round(b.N)
	b.ReportMetric(float64((processorTime()-used).Microseconds())/float64(b.N), "cpu-us/call")
	perSecond = float64(b.N) / time.Since(began).Seconds()
	b.ReportMetric(perSecond, "calls/s")
	return perSecond
}

// processorTime is what this process used so far: it tells the cost of a call on a busy machine too.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func post(client *http.Client, base string, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// sentBody is what the judge sends.
func sentBody(t testing.TB, s *assay.Session) (body []byte) {
	server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { body = r.Body; return llmtest.Garbage() })
	newJudge(t, server.BaseURL).Ask(t.Context(), judge.Question{Session: s})
	return body
}

// serverProcess runs this test binary again as the server, so that it does not share our garbage
// collector.
func serverProcess(t testing.TB, latency time.Duration) (base string) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "LLM_TEST_SERVER="+latency.String())
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	line := make([]byte, 256)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

// serve is the other process: it ends with its stdin.
func serve(latency string) {
	d, err := time.ParseDuration(latency)
	if err != nil {
		panic(err)
	}
	server, err := llmtest.Start(llmtest.Fixed(map[string]any{"resolved": true}))
	if err != nil {
		panic(err)
	}
	server.SetLatency(d)
	fmt.Println(server.BaseURL)
	io.Copy(io.Discard, os.Stdin)
	server.Close()
}
