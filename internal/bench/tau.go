package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/store/sqlite"
)

// fill makes a database of many small sessions: the hidden role behind plan.
func fill(ctx context.Context, o options) ([]figure, error) {
	s, err := sqlite.Open(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p, err := s.Projects().Create(ctx, "default", assay.DefaultSettings(), time.Now())
	if err != nil {
		return nil, err
	}
	return nil, fillSessions(ctx, s, p, o.Sessions)
}

// writeTau writes one JSON array in the shape of tau-bench results, of at least the given size: about
// 18 KB a session, 26 messages, tool calls with arguments as JSON in a string.
func writeTau(file string, least int64) (size int64, err error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for task := 0; size < least; task++ {
		raw, err := json.Marshal(tauSession(random, task))
		if err != nil {
			return 0, err
		}
		sep := ",\n"
		if task == 0 {
			sep = "["
		}
		n, err := w.WriteString(sep + string(raw))
		if err != nil {
			return 0, err
		}
		size += int64(n)
	}
	if _, err := w.WriteString("]\n"); err != nil {
		return 0, err
	}
	return size + 2, w.Flush()
}

func tauSession(random *rand.Rand, task int) map[string]any {
	messages := []map[string]any{{"role": "system", "content": prose(random, 900)}}
	for i := range 9 {
		id := fmt.Sprintf("call_%d_%d", task, i)
		messages = append(messages,
			map[string]any{"role": "user", "content": prose(random, 30)},
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
				"id": id, "type": "function", "function": map[string]any{"name": "get_reservation_details", "arguments": fmt.Sprintf(`{"reservation_id":"R%06d"}`, random.IntN(1e6))},
			}}},
			map[string]any{"role": "tool", "tool_call_id": id, "name": "get_reservation_details", "content": prose(random, 120)})
	}
	return map[string]any{
		"task_id": task, "trial": 0, "reward": float64(task % 2), "traj": messages,
		"info": map[string]any{"task": map[string]any{"user_id": fmt.Sprintf("user_%d", task%5000), "instruction": prose(random, 60)}, "user_cost": 0.0035},
	}
}

var words = strings.Fields("flight reservation passenger refund Zürich cabin economy certificate baggage policy cancel change upgrade insurance 2024-05-20 payment gold member \"quoted\" please confirm total")

func prose(random *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(words[random.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

func answers(url string) bool {
	resp, err := http.Get(url + "/healthz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
