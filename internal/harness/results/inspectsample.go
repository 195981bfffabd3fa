package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// parts is what is kept of a message's content: no images, no sound.
var (
	parts      = want{"type": nil, "text": nil}
	message    = want{"role": nil, "content": parts}
	wantScore  = want{"value": nil, "answer": nil, "explanation": nil}
	wantSample = want{"id": nil, "epoch": nil, "input": message, "choices": nil, "target": nil,
		"output": want{"model": nil, "completion": nil, "error": nil,
			"choices": want{"message": message, "stop_reason": nil}},
		"scores": want{"*": wantScore}, "score": wantScore,
		"error": wantError, "limit": want{"type": nil, "limit": nil}, "model_usage": nil,
		"total_time": nil, "working_time": nil, "uuid": nil, "metadata": nil}
)

// read makes a case of a sample: its epoch is the repeat, and every score is a finding.
func (e *eval) read(v gjson.Result) assay.Case {
	c := assay.Case{
		State:    assay.ItemGraded,
		Key:      key(e.task + "/" + text(v.Get("id"))),
		Repeat:   int(max(0, min(v.Get("epoch").Int()-1, 1<<20))),
		Input:    messages(v.Get("input"), v.Get("choices")),
		Output:   completion(v.Get("output")),
		Expected: lines(v.Get("target")),
		Seconds:  seconds(v.Get("total_time"), 1),
		Model:    cmp.Or(v.Get("output.model").String(), e.model),
	}
	c.Usage, c.Cost = inspectUsage(v.Get("model_usage"))
	scores, answers := v.Get("scores"), map[string]any{}
	var names criteria
	scores.ForEach(func(name, s gjson.Result) bool {
		c.Findings = append(c.Findings, score(&names, name.String(), s, answers)...)
		return len(c.Findings) <= maxFindings
	})
	if !scores.IsObject() && v.Get("score").IsObject() {
		c.Findings = score(&names, "score", v.Get("score"), answers)
	}
	failure, limit := v.Get("error"), v.Get("limit")
	switch {
	case failure.IsObject() || failure.Type == gjson.String && failure.String() != "":
		c.State, c.Class = assay.ItemErrored, assay.ClassCaseError
		c.Error = cmp.Or(failure.Get("message").String(), text(failure))
		c.Findings = nil // a score of what broke is no verdict; Extra keeps it
	case !said(c.Findings):
		c.State, c.Class = assay.ItemUngradable, assay.ClassCaseUnscored
		c.Error = unscored(v, c.Findings)
		c.Findings = nil
	default:
		c.Pass = e.pass(v, c.Findings)
	}
	members := map[string]any{"uuid": v.Get("uuid").String(), "answers": answers, "limit": raw(limit),
		"metadata": raw(v.Get("metadata")), "working_time": raw(v.Get("working_time")),
		"stop_reason": v.Get("output.choices.0.stop_reason").String(), "traceback": failure.Get("traceback").String()}
	if c.State != assay.ItemGraded {
		members["scores"] = json.RawMessage(cmp.Or(scores.Raw, v.Get("score").Raw))
	}
	extra(&c, members)
	return c
}

// score makes the findings of one scorer: one, or one for each member of a score that is an object or a
// list.
func score(names *criteria, scorer string, s gjson.Result, answers map[string]any) (f []assay.Finding) {
	value := s.Get("value")
	reason := s.Get("explanation").String()
	if a := s.Get("answer"); a.Exists() && a.Type != gjson.Null {
		answers[scorer] = raw(a)
	}
	if !value.IsObject() && !value.IsArray() {
		return []assay.Finding{found(names.name(scorer), value, reason)}
	}
	n := 0
	value.ForEach(func(k, one gjson.Result) bool {
		part := k.String()
		if value.IsArray() {
			part = fmt.Sprint(n)
		}
		n++
		f = append(f, found(names.name(scorer+"."+part), one, reason))
		reason = "" // it is about all of them: once is enough
		return len(f) <= maxFindings
	})
	return f
}

// found is a finding; without a value the scorer abstained.
func found(criterion string, value gjson.Result, reason string) assay.Finding {
	f := assay.Finding{Criterion: criterion, Applies: true, Reason: reason}
	if value.IsObject() || value.IsArray() {
		f.Value = scalar(gjson.Result{Type: gjson.String, Str: value.Raw})
	} else {
		f.Value = scalar(value)
	}
	f.Abstained = f.Value == nil
	return f
}

// said says whether any finding has a value.
func said(findings []assay.Finding) bool {
	for _, f := range findings {
		if !f.Abstained {
			return true
		}
	}
	return false
}

// unscored says why a sample has no verdict.
func unscored(v gjson.Result, findings []assay.Finding) string {
	switch {
	case v.Get("limit.type").Exists():
		return fmt.Sprintf("it was ended at its %s limit of %s and has no score", v.Get("limit.type").String(), v.Get("limit.limit").Raw)
	case v.Get("output.error").String() != "":
		return "it has no score; the model said: " + v.Get("output.error").String()
	case len(findings) > 0:
		return "its scores have no value"
	}
	return "it has no score"
}

// pass is what the scores say of the whole: false where one says so, true where all do, else nothing. A
// scorer speaks by Inspect's letters and words and by bools; by 1 and 0 only where accuracy is its metric.
func (e *eval) pass(v gjson.Result, findings []assay.Finding) *bool {
	all := len(findings) > 0
	for _, f := range findings {
		switch verdict := e.verdict(f); {
		case verdict == nil:
			all = false
		case !*verdict:
			return verdict
		}
	}
	if !all {
		return nil
	}
	return &all
}

func (e *eval) verdict(f assay.Finding) *bool {
	yes, no := true, false
	value := gjson.ParseBytes(f.Value)
	scorer, _, _ := strings.Cut(f.Criterion, ".")
	switch accurate := e.correct[f.Criterion] || e.correct[scorer]; {
	case value.IsBool():
		return truth(value)
	case value.Type == gjson.Number && accurate && value.Num == 1:
		return &yes
	case value.Type == gjson.Number && accurate && value.Num == 0:
		return &no
	case value.Type != gjson.String:
		return nil
	}
	switch s := value.String(); s {
	case "C":
		return &yes
	case "I", "N": // incorrect, no answer
		return &no
	default:
		switch strings.ToLower(s) {
		case "yes", "true":
			return &yes
		case "no", "false":
			return &no
		}
	}
	return nil
}
