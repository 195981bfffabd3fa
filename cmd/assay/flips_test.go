package main

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/internal/judge/llm/llmtest"
)

// flips is a model whose answer depends on how often it was asked about a session: it passes the first
// and fails the fourth; about the second and the third it says no at the second time, and about the
// third it garbles that twice before. Gradings are told apart by their tokens.
func flips() func(*llmtest.Request) llmtest.Step {
	var mu sync.Mutex
	gradings, garbled := map[string][]string{}, 0
	return func(r *llmtest.Request) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		_, about, _ := strings.Cut(r.Transcript(), "question ")
		about = about[:1]
		nth := -1
		for i, token := range gradings[about] {
			if token == r.Token() {
				nth = i
			}
		}
		if nth < 0 {
			nth = len(gradings[about])
			gradings[about] = append(gradings[about], r.Token())
		}
		second := nth == 1
		if about == "3" && second && garbled < 2 {
			garbled++
			return llmtest.Garbage()
		}
		return llmtest.Verdict(map[string]any{"ok": about == "1" || (about == "2" || about == "3") && !second})
	}
}

// times K ONE MANY PATH...: each number at a path of the JSON file MANY is K times that of ONE.
func times(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: times K ONE MANY PATH...")
	}
	k, err := strconv.ParseFloat(args[0], 64)
	ts.Check(err)
	var files [2]any
	for i := range files {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1+i])), &files[i]))
	}
	for _, path := range args[3:] {
		one, many := numberAt(ts, files[0], path), numberAt(ts, files[1], path)
		if one == 0 || math.Abs(many-k*one) > 1e-9*many {
			ts.Fatalf("%s is %v, want %v times %v", path, many, k, one)
		}
	}
}

func numberAt(ts *testscript.TestScript, in any, path string) float64 {
	for key := range strings.SplitSeq(path, ".") {
		switch v := in.(type) {
		case map[string]any:
			in = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			ts.Check(err)
			in = v[i]
		}
	}
	x, ok := in.(float64)
	if !ok {
		ts.Fatalf("%s is %v, not a number", path, in)
	}
	return x
}
