package results

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// messages is a sample's input for people: its text, or its messages with who says them, and the choices
// that it gives.
func messages(input, choices gjson.Result) string {
	var said []string
	if list := input.Array(); input.IsArray() {
		for _, m := range list {
			t := content(m.Get("content"))
			if role := m.Get("role").String(); role != "" && len(list) > 1 {
				t = role + ": " + t
			}
			said = append(said, t)
		}
	} else {
		said = append(said, text(input))
	}
	var options strings.Builder
	for i, choice := range choices.Array() {
		if i < 26 {
			options.WriteString(string(rune('A'+i)) + ") ")
		}
		options.WriteString(text(choice) + "\n")
	}
	return paragraphs(append(said, strings.TrimSuffix(options.String(), "\n"))...)
}

// content is the text of a message. What is no text is named.
func content(v gjson.Result) string {
	if !v.IsArray() {
		return text(v)
	}
	var b strings.Builder
	for _, part := range v.Array() {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		if t := part.Get("text"); t.Type == gjson.String {
			b.WriteString(t.String())
		} else {
			b.WriteString("[" + cmp.Or(part.Get("type").String(), "part") + "]")
		}
	}
	return b.String()
}

// completion is what the model answered.
func completion(output gjson.Result) string {
	if t := content(output.Get("choices.0.message.content")); t != "" {
		return t
	}
	return cmp.Or(output.Get("completion").String(), output.Get("error").String())
}

// lines is a text, or the texts of a list.
func lines(v gjson.Result) string {
	if !v.IsArray() {
		return text(v)
	}
	var all []string
	for _, one := range v.Array() {
		all = append(all, text(one))
	}
	return strings.Join(all, "\n")
}

// inspectUsage sums the models of a sample, its graders among them. Whether input_tokens holds what a
// cache served differs by provider; total_tokens always does, so the input is the rest of it.
func inspectUsage(models gjson.Result) (u assay.Usage, cost *assay.USD) {
	priced := true
	var sum assay.USD
	models.ForEach(func(_, m gjson.Result) bool {
		out := count(m.Get("output_tokens"))
		u.Known = true
		u.Output += out
		if total := count(m.Get("total_tokens")); total >= out && total > 0 {
			u.Input += total - out
		} else {
			u.Input += count(m.Get("input_tokens"))
		}
		u.Cached += count(m.Get("input_tokens_cache_read"))
		u.CacheWrite += count(m.Get("input_tokens_cache_write"))
		u.Reasoning += count(m.Get("reasoning_tokens"))
		if c := dollars(m.Get("total_cost")); c != nil {
			sum += *c
		} else {
			priced = false
		}
		return true
	})
	if u.Known && priced {
		cost = &sum
	}
	return u, cost
}
