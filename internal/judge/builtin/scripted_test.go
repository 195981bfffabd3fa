package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/kinds"
	"assay/internal/judge/llm/llmtest"
)

// A model that gives the right answers gets exactly the right verdicts, through the real prompt, the
// real schema, the units, the roll-up and the pass rule; of one that gives wrong answers every single one is
// told.
func TestScriptedAnswersThroughTheRealJudge(t *testing.T) {
	for _, name := range models(t) {
		t.Run(name, func(t *testing.T) {
			f, err := formOf(name)
			if err != nil {
				t.Fatal(err)
			}
			w := newScripted(t, name)
			asked, wrong := 0, 0
			for _, e := range set(t, name) {
				for _, m := range e.Marks(w.grade(e, f, truly)) {
					if !m.Right() {
						t.Errorf("a model that is right is marked wrong: %+v", m)
					}
				}
				for _, m := range e.Marks(w.grade(e, f, contrary)) {
					if m.Criterion == assay.CriterionPass || m.Unit == "" && f.unit != assay.UnitSession {
						continue // what wrong answers make may be right by chance
					}
					asked++
					if !m.Right() {
						wrong++
					}
				}
			}
			if asked == 0 || wrong != asked {
				t.Errorf("%d of %d wrong answers are told", wrong, asked)
			}
		})
	}
}

// The judge without a model is right on its whole set.
func TestResolvedOnItsOwnSet(t *testing.T) {
	j, v, err := Get("resolved", kinds.Env{})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := kinds.Build(v, j.Settings, kinds.Env{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range set(t, "resolved") {
		r := asked.Ask(t.Context(), judge.Question{Session: e.Session})
		if r.Class != "" {
			t.Fatalf("%+v", r)
		}
		for _, m := range e.Marks(r.Answers) {
			if !m.Right() {
				t.Errorf("%+v", m)
			}
		}
		if marks := e.Marks(nil); len(marks) != 3 || marks[0].Right() || marks[2].Got != missing {
			t.Errorf("%+v", marks)
		}
	}
}

func truly(_ assay.Criterion, f assay.Finding) assay.Finding { return f }

// contrary is a valid answer that is not the right one.
func contrary(c assay.Criterion, f assay.Finding) assay.Finding {
	out := assay.Finding{Criterion: f.Criterion, Applies: true, Reason: "scripted to be wrong", Evidence: f.Evidence}
	switch {
	case c.Type == assay.Boolean:
		out.Value = json.RawMessage(map[bool]string{true: "false", false: "true"}[string(f.Value) == "true"])
	default:
		i := slices.IndexFunc(c.Values, func(v string) bool { return v == word(f) })
		out.Value, _ = json.Marshal(c.Values[(i+1)%len(c.Values)])
	}
	return out
}

// scripted is a built-in judge that asks a server which is told what to answer.
type scripted struct {
	t      *testing.T
	server *llmtest.Server
	judge  judge.Judge
}

func newScripted(t *testing.T, name string) *scripted {
	w := &scripted{t: t, server: llmtest.New(t, llmtest.Always(llmtest.Empty()))}
	variables := map[string]string{"ASSAY_JUDGE_BASE_URL": w.server.BaseURL, "OPENAI_API_KEY": "x"}
	env := kinds.Env{LookupEnv: func(n string) (string, bool) { v, ok := variables[n]; return v, ok }}
	j, v, err := Get(name, env)
	if err != nil {
		t.Fatal(err)
	}
	if w.judge, err = kinds.Build(v, j.Settings, env); err != nil {
		t.Fatal(err)
	}
	return w
}

// grade asks until nothing is left, as a run does, of a model that answers what say makes of the right answers.
func (w *scripted) grade(e Example, f form, say func(assay.Criterion, assay.Finding) assay.Finding) []assay.Answer {
	w.server.SetScript(func(r *llmtest.Request) llmtest.Step {
		text := written(r, e, f, say)
		if err := fits(r, text); err != nil {
			w.t.Errorf("%s: the answer does not fit the schema that was sent: %v\n%s", e.Session.SessionID, err, text)
		}
		return llmtest.Text(text)
	})
	var q judge.Question
	q.Session = e.Session
	for range 20 {
		r := w.judge.Ask(w.t.Context(), q)
		if r.Class != "" {
			w.t.Fatalf("%s: %s %s", e.Session.SessionID, r.Class, r.Error)
		}
		q.Answered = append(q.Answered, r.Answers...)
		if r.Left == 0 {
			return q.Answered
		}
	}
	w.t.Fatalf("%s: units are left for ever", e.Session.SessionID)
	return nil
}

var unitLine = regexp.MustCompile(`(?m)^- (unit_\d+) is (\w+),`)

// written is what the model writes: for each unit that the prompt names, or for the session.
func written(r *llmtest.Request, e Example, f form, say func(assay.Criterion, assay.Finding) assay.Finding) string {
	object := map[string]any{judge.TokenField: r.Token()}
	add := func(to map[string]any, unit string) {
		a := e.Answers[slices.IndexFunc(e.Answers, func(a assay.Answer) bool { return a.Unit == unit })]
		for i, c := range f.criteria {
			to[c.Name] = asWritten(c, say(c, a.Findings[i]))
		}
	}
	if f.unit == assay.UnitSession {
		add(object, "")
	}
	for _, m := range unitLine.FindAllStringSubmatch(r.Prompt(), -1) {
		about := map[string]any{judge.UnitField: m[2]}
		add(about, m[2])
		object[m[1]] = about
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // of texts and booleans
	}
	return string(raw)
}

func asWritten(c assay.Criterion, f assay.Finding) map[string]any {
	out := map[string]any{"reason": f.Reason, "value": f.Value}
	if judge.Statuses(c) != nil {
		out["status"] = judge.StatusAnswered
		if f.Value == nil {
			out["status"], out["value"] = word(f), nil
		}
	}
	if c.Evidence != assay.EvidenceNone {
		quotes := []map[string]any{}
		for _, q := range f.Evidence {
			quotes = append(quotes, map[string]any{"turn": q.Turn, "message": q.Message, "quote": q.Quote})
		}
		out["evidence"] = quotes
	}
	return out
}

// fits holds an answer to the schema of the request.
func fits(r *llmtest.Request, text string) error {
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(gjson.GetBytes(r.Body, "response_format.json_schema.schema").Raw))
	if err != nil {
		return fmt.Errorf("no schema was sent: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("answer", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("answer")
	if err != nil {
		return err
	}
	answer, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		return err
	}
	return compiled.Validate(answer)
}
