package judge

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/assay"
)

// recordedAnswer is an answer that a real model gave and the winner that was recorded of it: 0 or 1 as
// the model saw them, -1 where none was.
type recordedAnswer struct {
	name, text string
	winner     int
}

// llmbar reads the recorded answers of pairwise judges. Ratings are no choices and are left out.
func llmbar(t *testing.T) []recordedAnswer {
	const folder = "../../../shared/data/llmbar/Dataset/LLMBar"
	if _, err := os.Stat(folder); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("the shared data is not there:", err)
	}
	var all []recordedAnswer
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "result.json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var items []struct {
			Results []map[string]json.RawMessage `json:"results"`
		}
		if err := json.Unmarshal(raw, &items); err != nil {
			return err
		}
		place, _ := filepath.Rel(folder, filepath.Dir(path))
		place = strings.Replace(strings.TrimPrefix(place, "Adversarial/"), "/evaluators", "", 1)
		for i, item := range items {
			for round, result := range item.Results {
				for _, swap := range []bool{false, true} {
					a, ok := readRecorded(result[fmt.Sprintf("swap = %s", map[bool]string{false: "False", true: "True"}[swap])], swap)
					if ok {
						a.name = fmt.Sprintf("%s %d.%d swap %v", place, i, round, swap)
						all = append(all, a)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readRecorded(raw json.RawMessage, swapped bool) (a recordedAnswer, ok bool) {
	var r struct {
		Completion []*string
		Winner     *string
	}
	if json.Unmarshal(raw, &r) != nil || len(r.Completion) == 0 {
		return a, false
	}
	if r.Completion[0] != nil {
		a.text = *r.Completion[0]
	}
	a.winner = -1
	if r.Winner != nil {
		a.winner = map[string]int{"1": 0, "2": 1}[*r.Winner]
		if swapped { // it was mapped back
			a.winner = 1 - a.winner
		}
	}
	return a, true
}

// differ are the answers of which the rule and the record say something else: each decides for both
// outputs, and the record takes one of them.
var differ = map[string]string{
	"GPTInst/Falcon/CoT 26.0 swap true":          "recorded Output (a), read: it decides for Output (a) and for Output (b)",
	"Manual/ChatGPT-0301/Swap_CoT 2.1 swap true": "recorded Output (a), read: it decides for Output (b) and for Output (a)",
	"Neighbor/Falcon/CoT 23.0 swap true":         "recorded Output (a), read: it decides for Output (a) and for Output (b)",
	"Neighbor/Falcon/CoT 102.0 swap true":        "recorded Output (a), read: it decides for Output (a) and for Output (b)",
	"Natural/Falcon/CoT 7.0 swap false":          "recorded Output (a), read: it decides for Output (a) and for Output (b)",
	"Natural/Falcon/CoT 74.0 swap false":         "recorded Output (a), read: it decides for Output (a) and for Output (b)",
	"Natural/Falcon/CoT 74.0 swap true":          "recorded Output (a), read: it decides for Output (a) and for Output (b)",
}

func TestRecordedAnswersAreReadAsTheirWinnerOrNotAtAll(t *testing.T) {
	outputs := []string{"Output (a)", "Output (b)"}
	rule, err := newChoiceRule(outputs, "{} is better", "{} is the better", "{} is a better", "{} the better")
	if err != nil {
		t.Fatal(err)
	}
	answers := llmbar(t)
	read, unreadable := 0, 0
	found := map[string]string{}
	for _, a := range answers {
		got, err := rule.read(a.text)
		switch {
		case got == a.winner && got >= 0:
			read++
		case got == a.winner:
			unreadable++
		case got >= 0:
			t.Errorf("%s: recorded %d, read %d: %s", a.name, a.winner, got, a.text)
		default:
			found[a.name] = fmt.Sprintf("recorded %s, read: %v", outputs[a.winner], err)
			t.Logf("%s: %s\n%s", a.name, found[a.name], a.text)
		}
	}
	t.Logf("%d answers: %d read as the recorded winner, %d read by neither, %d by the record alone", len(answers), read, unreadable, len(found))
	if len(answers) != 8002 || read != 7976 || unreadable != 19 || !maps.Equal(found, differ) {
		t.Errorf("they differ on %q", found)
	}
}

func TestChoiceRule(t *testing.T) {
	rule, err := newChoiceRule([]string{"A", "A+", "both (a) and (b)"}, "{} is better", "my choice: {}", "i prefer {} .")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"A": 0, " **A+** \n": 1, "a.": 0, "BOTH (a)  and\n(b)": 2,
		"I think that A is\nbetter.": 0, "A+ is better": 1, "Both (a) and (b) is better, so both (a) and (b) is better": 2, "My choice:A+!": 1, "I prefer A .": 0,
		"": -1, " . ": -1, "A is better. No: A+ is better.": -1, "A is betterment": -1, "C is better": -1, "A, then A+": -1, "My choices: A": -1, "GA is better": -1,
	} {
		got, err := rule.read(text)
		if got != want || (err == nil) != (want >= 0) {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
	for name, make := range map[string]func() (*choiceRule, error){
		"one choice": func() (*choiceRule, error) { return newChoiceRule([]string{"a"}) },
		"twice":      func() (*choiceRule, error) { return newChoiceRule([]string{"a", " A"}) },
		"empty":      func() (*choiceRule, error) { return newChoiceRule([]string{"a", "."}) },
		"no place":   func() (*choiceRule, error) { return newChoiceRule([]string{"a", "b"}, "is better") },
		"two places": func() (*choiceRule, error) { return newChoiceRule([]string{"a", "b"}, "{} beats {}") },
	} {
		if r, err := make(); r != nil || assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
