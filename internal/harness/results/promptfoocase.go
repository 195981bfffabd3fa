package results

import (
	"cmp"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// failureError is promptfoo's failureReason of a result that broke; 1 is a failed assertion.
const failureError = 2

// read makes a case of a result: pass is what promptfoo says of the whole, and every assertion keeps its
// own verdict, whatever the whole is.
func (p *promptfoo) read(v gjson.Result) assay.Case {
	c := assay.Case{
		State:   assay.ItemGraded,
		Input:   v.Get("prompt.raw").String(),
		Output:  text(v.Get("response.output")),
		Seconds: seconds(v.Get("latencyMs"), 1000),
		Model:   cmp.Or(v.Get("provider.id").String(), text(v.Get("provider"))),
		Usage:   promptfooUsage(v.Get("response.tokenUsage")),
		Cost:    dollars(v.Get("response.cost")),
	}
	if v.Get("provider").IsObject() && v.Get("provider.id").String() == "" {
		c.Model = v.Get("provider.label").String()
	}
	if cost := v.Get("cost"); c.Cost == nil && cost.Num > 0 { // 0 is written where nobody knows
		c.Cost = dollars(cost)
	}
	if prompt := v.Get("prompt"); c.Input == "" && prompt.Type == gjson.String {
		c.Input = prompt.String()
	}
	c.Key, c.Repeat = p.name(v)
	grading := v.Get("gradingResult")
	scores := map[string]any{}
	switch {
	case broke(v):
		c.State, c.Class = assay.ItemErrored, assay.ClassCaseError
		c.Error = cmp.Or(v.Get("error").String(), v.Get("response.error").String(), "promptfoo gave no reason")
	case truth(v.Get("success")) == nil:
		c.State, c.Class, c.Error = assay.ItemUngradable, assay.ClassCaseUnscored, "the result does not say whether it is a success"
	default:
		c.Pass = truth(v.Get("success"))
		var names criteria
		c.Findings = assertions(&names, "", grading.Get("componentResults"), scores, 0)
		if len(c.Findings) == 0 {
			c.Findings = []assay.Finding{{Criterion: "pass", Value: boolean(*c.Pass), Applies: true,
				Reason: cmp.Or(grading.Get("reason").String(), v.Get("error").String())}}
		}
	}
	extra(&c, map[string]any{
		"id": v.Get("id").String(), "test": raw(v.Get("testIdx")), "prompt": raw(v.Get("promptIdx")),
		"score": raw(v.Get("score")), "scores": scores, "named_scores": raw(v.Get("namedScores")),
		"reason": grading.Get("reason").String(), "provider": v.Get("provider.label").String(),
		"description": v.Get("testCase.description").String(), "vars": raw(v.Get("vars")),
		"metadata": raw(v.Get("metadata")), "cached": raw(v.Get("response.cached")),
		"finish_reason": v.Get("response.finishReason").String(),
	})
	return c
}

// broke says whether a result is an error. Before failureReason was written, an error without a grading
// was one; error also holds the reason of a failed assertion.
func broke(v gjson.Result) bool {
	if why := v.Get("failureReason"); why.Type == gjson.Number {
		return why.Int() == failureError
	}
	return v.Get("error").String() != "" && !v.Get("gradingResult").IsObject() && !v.Get("success").Bool()
}

// assertions are the verdicts of components, those inside assert-sets too. promptfoo writes what is in a
// set once more after it, without saying of what it is: these are passed over.
func assertions(names *criteria, within string, components gjson.Result, scores map[string]any, depth int) (f []assay.Finding) {
	if !components.IsArray() || depth > 10 {
		return nil
	}
	var again []gjson.Result
	components.ForEach(func(_, r gjson.Result) bool {
		if !r.IsObject() {
			return true
		}
		if len(again) > 0 && same(again[0], r) {
			again = again[1:]
			return true
		}
		name := names.name(within + assertion(r))
		finding := assay.Finding{Criterion: name, Applies: true, Reason: r.Get("reason").String()}
		if pass := truth(r.Get("pass")); pass != nil {
			finding.Value = boolean(*pass)
		} else {
			finding.Abstained = true
		}
		if score := r.Get("score"); score.Type == gjson.Number {
			scores[name] = raw(score)
		}
		f = append(f, finding)
		again = r.Get("componentResults").Array()
		f = append(f, assertions(names, name+" / ", r.Get("componentResults"), scores, depth+1)...)
		return len(f) <= maxFindings
	})
	return f
}

// same says whether copy is set's component once more.
func same(component, copy gjson.Result) bool {
	return !copy.Get("assertion").IsObject() && copy.Get("pass").Raw == component.Get("pass").Raw &&
		copy.Get("score").Raw == component.Get("score").Raw && copy.Get("reason").String() == component.Get("reason").String()
}

// assertion names a component by what it asks, so that the same question has the same name in every case:
// its metric, or its type with what it compares to.
func assertion(r gjson.Result) string {
	a := r.Get("assertion")
	if metric := a.Get("metric").String(); metric != "" {
		return metric
	}
	name := a.Get("type").String()
	if name == "" {
		name = "assertion"
		if r.Get("componentResults").IsArray() {
			name = "assert-set"
		}
	}
	switch value := a.Get("value"); value.Type {
	case gjson.String, gjson.Number:
		name += ": " + short(oneLine(value.String()), 80)
	case gjson.JSON:
		name += ": " + short(canonical(value), 80)
	}
	return name
}

// promptfooUsage reads tokens. Of an answer from its cache promptfoo knows no parts.
func promptfooUsage(v gjson.Result) assay.Usage {
	if !v.Get("prompt").Exists() && !v.Get("completion").Exists() {
		return assay.Usage{}
	}
	return assay.Usage{Known: true, Input: count(v.Get("prompt")), Output: count(v.Get("completion")),
		Cached: min(count(v.Get("cached")), count(v.Get("prompt"))), Reasoning: count(v.Get("completionDetails.reasoning"))}
}
