package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"assay/internal/assay"
)

// printRequest prints the body of a request for reading: what is said, by whom, and then the parameters.
// All protocols keep what is said in messages, input, system or instructions.
func (a *app) printRequest(raw json.RawMessage) error {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		return assay.Errorf(assay.CodeInternal, "read the request: %w", err)
	}
	for _, name := range []string{"instructions", "system", "messages", "input"} {
		if said, ok := body[name]; ok {
			a.printSaid(name, said)
			delete(body, name)
		}
	}
	a.print("\n--- parameters\n")
	for _, name := range slices.Sorted(maps.Keys(body)) {
		var one bytes.Buffer
		if json.Compact(&one, body[name]) != nil {
			one.Write(body[name])
		}
		a.print("  %s: %s\n", name, one.String())
	}
	return nil
}

func (a *app) printSaid(name string, raw json.RawMessage) {
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Text    string          `json:"text"` // of a list of blocks
	}
	if json.Unmarshal(raw, &messages) != nil {
		a.print("\n--- %s\n", name)
		a.printText(textOf(raw), "  ")
		return
	}
	for _, m := range messages {
		if m.Role == "" {
			a.print("\n--- %s\n", name)
			a.printText(m.Text, "  ")
			continue
		}
		a.print("\n--- %s\n", m.Role)
		a.printText(textOf(m.Content), "  ")
	}
}

// textOf is a text, or the texts of a list of blocks, or else JSON.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return string(raw)
	}
	for _, b := range blocks {
		text += b.Text
	}
	return text
}
